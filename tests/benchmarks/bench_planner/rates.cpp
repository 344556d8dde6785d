// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "core/base/rng.h"
#include "core/planner/explain/explain.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/simulator.h"
#include "plugins/planners/common/dispatch_order.h"
#include "plugins/planners/joint/orders/order_annealer.h"
#include "tests/benchmarks/bench_planner/figures.h"

namespace skippipe::bench {

using namespace planners;
using namespace planners::joint;

namespace {

enum class Spans { none, recorded };

/// Times of plans that each differ from the one before by an exchange of two paths, with every operation simulated.
void timelines(const authors::Authors& authors, Spans spans) {
    const bool recorded = spans == Spans::recorded;
    const auto plan = authors.plan("skippipe");
    auto schedule = flatten(authors.problem, plan);
    Simulator simulator(authors.problem);
    Rng rng(1);
    double best_s = 1e300, sum_s = 0;
    const int count = recorded ? 2'000 : 20'000;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        const double begin_s = cpu_s();
        for (int k = 0; k < count; ++k) {
            const ReleaseIndex i(rng.below(30)), j(rng.below(30));
            std::swap_ranges(schedule.path(i), schedule.path(i) + schedule.length, schedule.path(j));
            sum_s += recorded ? simulator.timeline(schedule, plan).makespan_s
                              : simulator.times(schedule, plan.stages).makespan_s;
        }
        best_s = std::min(best_s, (cpu_s() - begin_s) / count);
    }
    if (sum_s <= 0) return;
    print({recorded ? "timelines with every span, 20 nodes x 30 microbatches" : "timelines, 20 nodes x 30 microbatches",
           "1/s of a core", 1 / best_s, "goal", recorded ? 0.0 : 200'000.0, 1,
           "about 60,000 instructions a timeline (callgrind), in chains of dependent loads", repeats});
}

/// The same plans with the orders that they run in bound, as those of skippipe-joint are.
void ordered_timelines(const authors::Authors& authors) {
    PlanCandidate candidate = candidate_of(authors.problem, authors.plan("skippipe"));
    Rng rng(1);
    std::vector<PlanCandidate> candidates;
    for (int k = 0; k < 1'000; ++k) {
        const ReleaseIndex i(rng.below(30)), j(rng.below(30));
        auto& schedule = candidate.schedule;
        std::swap_ranges(schedule.path(i), schedule.path(i) + schedule.length, schedule.path(j));
        candidates.push_back(candidate);
        candidates.back().schedule.order = dispatch_order(authors.problem, candidate);
    }
    Simulator simulator(authors.problem);
    double best_s = 1e300, sum_s = 0;
    for (int repeat = 0; repeat < 4 * repeats; ++repeat) {
        const double begin_s = cpu_s();
        for (const auto& each : candidates) sum_s += simulator.times(each.schedule, each.stages).makespan_s;
        best_s = std::min(best_s, (cpu_s() - begin_s) / static_cast<double>(candidates.size()));
    }
    if (sum_s <= 0) return;
    print({"timelines of bound orders, 20 nodes x 30 microbatches", "1/s of a core", 1 / best_s, "goal", 200'000, 1,
           "dependent maxima along the graph", 4 * repeats});
}

/// What the search asks for: timelines of candidates, stopped as soon as they are sure to be rejected. Moves and
/// bookkeeping included.
void candidates(const authors::Authors& authors, const PlannerRegistry& registry) {
    PlanRequest request;
    request.steps = 100'000;
    const double begin_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    registry.find("skippipe-joint")->plan(authors.problem, request);
    const double used_s = static_cast<double>(std::clock()) / CLOCKS_PER_SEC - begin_s;
    print({"candidates of skippipe-joint, 20 nodes x 30 microbatches", "1/s of a core",
           static_cast<double>(request.steps) / used_s, "goal for timelines", 200'000, 1,
           "timelines, stopped once rejected", 1});
}

/// Orders that the search over orders tries on one core, from those of first come, first served.
void order_candidates(const authors::Authors& authors) {
    PlanCandidate candidate = candidate_of(authors.problem, authors.plan("skippipe"));
    candidate.schedule.order = dispatch_order(authors.problem, candidate);
    const double start_s = iteration_s(authors.problem, candidate);
    double best_s = 1e300;
    constexpr std::int64_t steps = 300'000;
    for (int repeat = 0; repeat < repeats; ++repeat) {
        OrderAnnealer chain(authors.problem, candidate, 1, 1);
        const double begin_s = cpu_s();
        chain.run(steps, TemperatureSchedule::between(start_s * 0.004, start_s * 0.0002), {},
                  [](double) { return true; });
        best_s = std::min(best_s, (cpu_s() - begin_s) / steps);
    }
    print({"candidates of the order search, 20 nodes x 30 microbatches", "1/s of a core", 1 / best_s, "", 0, 1,
           "dependent maxima along the graph", repeats});
}

/// Chain, waits, what-ifs and the bound of the placement.
void explanations(const authors::Authors& authors) {
    const auto plan = authors.plan("skippipe");
    const auto timeline = evaluate(authors.problem, plan);
    double best_s = 1e300;
    std::size_t asked = 0;
    for (int repeat = 0; repeat < 4 * repeats; ++repeat) {
        const double begin_s = cpu_s();
        asked = explain(authors.problem, plan, timeline).what_ifs.size();
        best_s = std::min(best_s, cpu_s() - begin_s);
    }
    print({fmt::format("explanation of a plan, 20 nodes x 30 microbatches, {} what-ifs", asked), "s of a core", best_s,
           "", 0, 1, "re-evaluated timelines and a bound", 4 * repeats});
}

}  // namespace

void rates(const authors::Authors& authors, const PlannerRegistry& registry) {
    timelines(authors, Spans::none);
    timelines(authors, Spans::recorded);
    ordered_timelines(authors);
    candidates(authors, registry);
    order_candidates(authors);
    explanations(authors);
}

}  // namespace skippipe::bench
