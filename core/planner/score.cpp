// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/planner.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

Score score(const Problem& problem, const Plan& plan, Bounding bounding) {
    Score row{.planner = plan.planner, .note = plan.note};
    const auto add = [&](const std::vector<Violation>& found) {
        for (const auto& violation : found) row.violations.push_back(violation.rule + ": " + violation.what);
    };
    if (const auto faults = check_structure(problem, plan); !faults.empty()) {
        add(faults);  // no timeline without structure
        return row;
    }
    if (bounding == Bounding::worked_out) {
        const auto bound = lower_bound(problem, static_cast<int>(plan.paths.front().nodes.size()));
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
