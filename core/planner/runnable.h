// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/fault.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// What is to be said before a plan is run, whoever made it. Errors: it cannot be executed to its end (structure,
/// deadlock). Warnings, one a rule with its first case: it breaks what the experiment asks for (CC1, CC2, CC3, TC1,
/// skip ratio), or was made for another experiment, so that it trains something else than asked for or takes another
/// time.
Faults check_runnable(const Problem& problem, const Plan& plan);

}  // namespace skippipe
