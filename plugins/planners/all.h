// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/planner/planner.h"

namespace skippipe {

/// Adds every planner of this folder, in the order in which they are listed to people.
void register_planners(PlannerRegistry& registry);

}  // namespace skippipe
