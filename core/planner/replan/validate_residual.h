// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/plan/validator.h"
#include "core/planner/replan/progress.h"

namespace skippipe {

/// What check_plan is for a whole iteration, of a plan for the rest of an iteration (core/planner/replan/replan.h) and
/// its timeline: what had finished or run on living nodes is as it was in `before`, nothing is left to lost nodes,
/// every step left runs once and after its input, what was lost runs again; CC1-CC3 (CC2 over the stages that have a
/// node left; the balance of data nodes only where they are the same), TC1 with what was held, TC2. `network`: with its
/// changes.
std::vector<Violation> check_residual(const Problem& network, const Plan& before, const IterationProgress& progress,
                                      const std::vector<NodeIndex>& down, const Plan& after, const Timeline& rest);

}  // namespace skippipe
