// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/robust.h"

#include <cmath>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/infinite.h"
#include "plugins/planners/common/dispatch_order.h"

namespace skippipe::planners::joint {

PlanCandidate most_robust(const Problem& problem, const std::vector<PlanCandidate>& candidates,
                          const PlanRequest& request, std::string& note) {
    const auto p95_s = [&](const Plan& plan) {
        const auto& [jitter, samples] = *request.robust;
        return distribution(problem, plan, jitter, samples, request.seed, request.threads).p95_s;
    };
    double best_s = infinite, first_s = infinite;
    const PlanCandidate* best = &candidates.front();
    PlanCandidate bound_best;
    for (const auto& candidate : candidates) {
        const Plan plan = make_plan(problem, candidate, {}, request, 0, {});
        const double seconds = p95_s(plan);
        if (&candidate == &candidates.front()) first_s = seconds;
        if (seconds < best_s) {
            best_s = seconds;
            best = &candidate;
        }
        if (!plan.order.empty()) continue;
        PlanCandidate in_order = candidate;
        in_order.schedule.order = dispatch_order(problem, candidate);
        if (in_order.schedule.order.empty()) continue;
        if (const double bound_s = p95_s(make_plan(problem, in_order, {}, request, 0, {})); bound_s < best_s) {
            best_s = bound_s;
            bound_best = std::move(in_order);
            best = &bound_best;
        }
    }
    const auto text = [](double seconds) {
        return std::isfinite(seconds) ? fmt::format("{:.2f} s", seconds) : std::string("deadlock");
    };
    const auto& jitter = request.robust->jitter;
    if (best != &candidates.front() && best != &bound_best) note.clear();
    note += fmt::format(
        "{}robust: 95th percentile {} under jitter of {} in compute and {} in links; {} for the plan without --robust",
        note.empty() ? "" : "; ", text(best_s), format_percent(jitter.compute), format_percent(jitter.links),
        text(first_s));
    if (best == &bound_best) note += "; every node's order is bound";
    return *best;
}

}  // namespace skippipe::planners::joint
