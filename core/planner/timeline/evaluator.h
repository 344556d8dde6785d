// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <limits>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// The exact timeline of a plan, with every span. The plan must have passed `check_structure`.
Timeline evaluate(const Problem& problem, const Plan& plan);

}  // namespace skippipe
