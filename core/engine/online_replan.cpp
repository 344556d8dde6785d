// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/online_replan.h"

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/plan/validator.h"

namespace skippipe {

namespace {

constexpr double drift_threshold = 0.10, worth_it = 0.02;

bool can_run(const Problem& problem, const RankSchedule& schedule) {
    return check_structure(problem, schedule.plan).empty() && evaluate(problem, schedule.plan).complete &&
           !find_deadlock(problem, schedule);
}

}  // namespace

std::optional<BetterPlan> plan_again(const CostEstimator& costs, const RankSchedule& schedule,
                                     const Machines& machines) {
    const auto drift = costs.drift(drift_threshold);
    if (drift.changes.empty()) return std::nullopt;
    const auto& now = costs.now();
    try {
        const auto start =
            progress_from_steps(drift.planned_for, schedule.plan, PerRelease<int>(schedule.plan.paths.size(), 0), 0);
        const auto replanned = replan(drift.planned_for, schedule.plan, {.progress = start, .changes = drift.changes});
        auto plan = replanned.plan;
        plan.planner = schedule.plan.planner;
        BetterPlan better{make_schedule(now, plan, schedule), predict(now, schedule, machines).iteration_s, 0, {}};
        if (better.schedule.plan.stages != schedule.plan.stages || !can_run(now, better.schedule)) return std::nullopt;
        better.predicted_s = predict(now, better.schedule, machines).iteration_s;
        if (better.predicted_s > (1 - worth_it) * better.unchanged_s) return std::nullopt;
        const int moved = replanned.forced_paths + replanned.improved_paths;
        better.why =
            fmt::format("{}: {} microbatch{} moved, {} -> {} an iteration predicted", drift.text, moved,
                        moved == 1 ? "" : "es", format_seconds(better.unchanged_s), format_seconds(better.predicted_s));
        return better;
    } catch (const InputError&) {
        return std::nullopt;  // the network of now admits no plan that can be told from the present one
    }
}

}  // namespace skippipe
