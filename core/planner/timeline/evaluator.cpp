// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/evaluator.h"

#include "core/planner/timeline/simulator.h"

namespace skippipe {

Timeline evaluate(const Problem& problem, const Plan& plan) {
    const PlannedProblem planned(problem, plan.blocks);
    Simulator simulator(planned.get());
    return simulator.timeline(flatten(problem, plan), plan);
}

}  // namespace skippipe
