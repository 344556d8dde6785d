// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/planner.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {
namespace {

std::vector<Violation> misplaced(const Problem& problem, const Plan& plan) {
    std::vector<Violation> found;
    const auto names = [&](std::vector<NodeIndex> nodes) {
        std::sort(nodes.begin(), nodes.end());
        std::string text;
        for (const NodeIndex n : nodes) text += (text.empty() ? "" : ", ") + problem.node_ids[n];
        return text;
    };
    for (StageIndex s = 0; s < problem.stages; ++s) {
        const auto& nodes = plan.stages[s];
        if (!problem.placement.empty() && names(nodes) != names(problem.placement[s]))
            found.push_back({"placement", fmt::format("stage {} has {}, the experiment gives it {}", s, names(nodes),
                                                      names(problem.placement[s]))});
        else if (!problem.stage_sizes.empty() && std::ssize(nodes) != problem.stage_sizes[s])
            found.push_back({"placement", fmt::format("stage {} has {} nodes, the experiment gives it {}", s,
                                                      nodes.size(), problem.stage_sizes[s])});
    }
    return found;
}

/// What bounds the plan: of a problem that it keeps to, with its backward.
LowerBound bound_of(const Problem& problem, const Plan& plan, bool keeps_placement) {
    const int length = static_cast<int>(plan.paths.front().nodes.size());
    if (keeps_placement && plan.split_backward == problem.split_backward) return lower_bound(problem, length);
    Problem own = problem;
    own.split_backward = plan.split_backward;
    if (!keeps_placement) own.placement.clear(), own.stage_sizes.clear();
    return lower_bound(own, length);
}

}  // namespace

Score score(const Problem& problem, const Plan& plan, Bounding bounding) {
    Score row{.planner = plan.planner, .note = plan.note};
    const auto add = [&](const std::vector<Violation>& found) {
        for (const auto& violation : found) row.violations.push_back(violation.rule + ": " + violation.what);
    };
    if (const auto faults = check_structure(problem, plan); !faults.empty()) {
        add(faults);  // no timeline without structure
        return row;
    }
    const auto strays = misplaced(problem, plan);
    add(strays);
    if (bounding == Bounding::worked_out) {
        const auto bound = bound_of(problem, plan, strays.empty());
        row.lower_bound_seconds = bound.seconds;
        row.bound = bound.which;
    }
    const auto timeline = evaluate(problem, plan);
    add(check_plan(problem, plan, timeline));
    if (!timeline.complete) return row;  // a deadlock has no time
    row.makespan_seconds = timeline.makespan_s;
    row.iteration_seconds = timeline.iteration_s;
    row.gap = row.lower_bound_seconds > 0 ? timeline.iteration_s / row.lower_bound_seconds - 1 : 0;
    row.idle_fraction = timeline.idle_fraction();
    row.bytes = timeline.bytes;
    return row;
}

}  // namespace skippipe
