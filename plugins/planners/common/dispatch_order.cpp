// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/dispatch_order.h"

#include "core/planner/timeline/executed_order.h"

#include "core/base/index.h"

namespace skippipe::planners {

PerNode<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const PlanCandidate& candidate) {
    const FlatPlan& schedule = candidate.schedule;
    Plan plan;
    plan.stages = candidate.stages;
    const auto timeline = Simulator(PlannedProblem(problem, candidate.blocks).get()).timeline(schedule, plan);
    if (!timeline.complete) return {};
    return packed_order(schedule, executed_order(timeline, problem.nodes()));
}

}  // namespace skippipe::planners
