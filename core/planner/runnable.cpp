// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/runnable.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

Fault cannot_run(const std::string& what) {
    return {"PLAN", what, "the plan cannot be executed", "Mend the plan, or make one with `skippipe plan`"};
}

Fault breaks_rule(const Violation& first, int count) {
    const auto more = count > 1 ? fmt::format(" (and {} more)", count - 1) : std::string{};
    return {"PLAN", fmt::format("{}: {}{}", first.rule, first.what, more),
            "the experiment asks for other paths or less",
            "`skippipe score` lists every case; change the plan, or switch the rule off in the experiment",
            Fault::Severity::warning};
}

}  // namespace

Faults check_runnable(const Problem& problem, const Plan& plan) {
    Faults faults;
    for (const auto& violation : check_structure(problem, plan))
        faults.push_back(cannot_run(violation.rule + ": " + violation.what));
    if (!faults.empty()) return faults;
    const auto timeline = evaluate(problem, plan);
    if (!timeline.complete)
        return {{"PLAN", "deadlock: not every operation can run", "see `skippipe score`",
                 "Raise the nodes' memory or change the order"}};
    if (!plan.experiment_hash.empty() && plan.experiment_hash != problem.experiment_hash)
        faults.push_back({"PLAN", fmt::format("it was made for another experiment ({})", plan.experiment_hash),
                          fmt::format("this one is {}: the plan may be far from its best", problem.experiment_hash),
                          "Plan again with `skippipe plan` where that was not meant", Fault::Severity::warning});
    std::vector<std::pair<Violation, int>> by_rule;
    for (const auto& violation : check_plan(problem, plan, timeline)) {
        const auto same = std::find_if(by_rule.begin(), by_rule.end(),
                                       [&](const auto& entry) { return entry.first.rule == violation.rule; });
        if (same != by_rule.end())
            ++same->second;
        else
            by_rule.emplace_back(violation, 1);
    }
    for (const auto& [first, count] : by_rule) faults.push_back(breaks_rule(first, count));
    return faults;
}

}  // namespace skippipe
