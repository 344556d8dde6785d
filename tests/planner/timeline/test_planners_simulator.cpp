// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/rng.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/simulator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/dispatch_order.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/authors.h"
#include "tests/planner/random_problems.h"

using namespace skippipe;
using namespace skippipe::planners;

/// What planners ask (times) and what is shown (the recorded timeline) are computed apart; they agree to the last bit.
class TestPlannersSimulator : public QObject {
    Q_OBJECT

    static void compare(const Problem& problem, const Plan& plan, const std::string& where) {
        const auto timeline = evaluate(problem, plan);
        const auto schedule = flatten(problem, plan);
        const PlannedProblem planned(problem, plan.blocks);
        Simulator simulator(planned.get());
        for (int repeat = 0; repeat < 2; ++repeat) {
            const auto times = simulator.times(schedule, plan.stages);
            if (!timeline.complete) {
                QVERIFY2(std::isinf(times.makespan_s), where.c_str());
                continue;
            }
            QVERIFY2(times.makespan_s == timeline.makespan_s, where.c_str());
            QVERIFY2(times.iteration_s == timeline.iteration_s, where.c_str());
            const double above = std::nextafter(timeline.makespan_s, INFINITY);
            QVERIFY2(simulator.times(schedule, plan.stages, above).makespan_s == timeline.makespan_s, where.c_str());
            QVERIFY2(std::isinf(simulator.times(schedule, plan.stages, timeline.makespan_s).makespan_s), where.c_str());
        }
    }

private Q_SLOTS:
    void random_plans() {
        PlannerRegistry registry;
        register_planners(registry);
        for (std::uint64_t seed = 1; seed <= 200; ++seed) {
            const auto problem = examples::random_problem(seed, {.most_nodes = seed % 10 == 0 ? 90 : 24});
            PlanRequest request;
            request.seed = seed;
            request.steps = 100;
            auto plan = registry.find("dtfm-skip")->plan(problem, request);
            compare(problem, plan, "seed " + std::to_string(seed));
            plan.order.clear();
            plan.split_backward = !plan.split_backward;
            compare(problem, plan, "dispatch, seed " + std::to_string(seed));
        }
    }

    /// Activations that are smaller than gradients, and the other way round, on hops of all kinds.
    void messages_of_two_sizes() {
        for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
            const auto [problem, plan] = seed % 3 == 0 ? examples::uneven_plan(seed) : examples::random_plan(seed);
            compare(problem, plan, "seed " + std::to_string(seed));
        }
    }

    /// Planned blocks, microbatches of several sizes.
    void uneven_plans() {
        PlannerRegistry registry;
        register_planners(registry);
        for (std::uint64_t seed = 1; seed <= 300; ++seed) {
            const auto problem =
                examples::uneven(examples::random_problem(seed, {.most_nodes = seed % 10 == 0 ? 90 : 24}), seed);
            PlanRequest request;
            request.seed = seed;
            request.steps = 100;
            auto plan = registry.find("dtfm-skip")->plan(problem, request);
            Rng rng(seed, 3);
            if (problem.plan_blocks) plan.blocks = examples::divided_blocks(problem, rng);
            rng.shuffle(plan.paths);
            compare(problem, plan, "seed " + std::to_string(seed));
            plan.order.clear();
            plan.split_backward = !plan.split_backward;
            compare(problem, plan, "dispatch, seed " + std::to_string(seed));
        }
    }

    /// Times from a coarse grid, so that most instants hold several events, whose order decides.
    void ties() {
        PlannerRegistry registry;
        register_planners(registry);
        int with_ties = 0;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            auto problem = examples::random_problem(seed, {.most_nodes = seed % 10 == 0 ? 60 : 12});
            Rng rng(seed);
            const auto grid = [&](int most) {
                return 0.5 * static_cast<double>(rng.below(static_cast<std::uint64_t>(most)));
            };
            const double samples = problem.samples;
            for (auto& seconds : problem.seconds_per_sample_per_block) seconds = (rng.below(4) == 0 ? 2 : 1) / samples;
            for (auto& blocks : problem.blocks) blocks = 1;
            problem.backward_factor = 1;
            problem.loss_factor = 0.5;
            problem.overhead_s = seed % 3 == 0 ? 0 : 0.5;
            problem.shared_links = seed % 2 == 0;
            for (auto& hop : problem.hops) {
                hop.latency_s = grid(3);
                hop.seconds_per_forward = hop.seconds_per_backward = grid(3);
            }
            PlanRequest request;
            request.seed = seed;
            request.steps = 20;
            for (const char* name : {"dtfm-skip", "skippipe-joint"}) {
                auto plan = registry.find(name)->plan(problem, request);
                plan.order.clear();
                plan.split_backward = false;
                compare(problem, plan, std::string(name) + ", seed " + std::to_string(seed));
                auto ends = evaluate(problem, plan).spans;
                std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.end_s < b.end_s; });
                const auto equal = [](const auto& a, const auto& b) { return a.end_s == b.end_s; };
                with_ties += std::adjacent_find(ends.begin(), ends.end(), equal) != ends.end() ? 1 : 0;
            }
        }
        QVERIFY2(with_ties > 200, std::to_string(with_ties).c_str());
    }

    /// Orders that dispatch makes, and such as somebody may have written: with operations exchanged, so that some wait
    /// for each other, for memory or for their own input. Lines unlimited, shared, and shared with one sender each.
    void bound_orders() {
        PlannerRegistry registry;
        register_planners(registry);
        int complete = 0, stuck = 0, apart = 0, shared = 0;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            auto problem = examples::random_problem(seed, {.most_nodes = 14});
            if (seed % 5 == 0) problem = examples::uneven(problem, seed / 5);
            if (seed % 3 == 0) {
                problem.shared_links = true;
                for (std::size_t pair = 0; pair < problem.hops.size(); ++pair)
                    problem.hops[pair].line = static_cast<int>(pair);
                problem.line_names.resize(problem.hops.size(), "one sender");
            }
            PlanRequest request;
            request.seed = seed;
            request.steps = 20;
            auto candidate = candidate_of(problem, registry.find("dtfm-skip")->plan(problem, request));
            candidate.schedule.order = dispatch_order(problem, candidate);
            Rng rng(seed, 5);
            for (int exchanges = 0; exchanges < 4; ++exchanges) {
                const auto plan = make_plan(problem, candidate, "orders", request, 0, "");
                compare(problem, plan, "seed " + std::to_string(seed));
                ++(evaluate(problem, plan).complete ? complete : stuck);
                auto& order = candidate.schedule.order[rng.below(candidate.schedule.order.size())];
                if (order.size() > 1) std::swap(order[rng.below(order.size())], order[rng.below(order.size())]);
            }
            if (problem.shared_links) ++(has_dedicated_lines(problem) ? apart : shared);
        }
        const auto say = std::to_string(complete) + " complete, " + std::to_string(stuck) + " stuck, " +
                         std::to_string(apart) + " with a line a sender, " + std::to_string(shared) + " shared";
        QVERIFY2(complete > 600 && stuck > 300 && apart > 100 && shared > 50, say.c_str());
        qInfo("%s", say.c_str());
    }

    void authors_plans() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        for (const auto& [name, seconds] : {std::pair{"skippipe", 76.44979}, std::pair{"skippipe-no-tc2", 79.94643}}) {
            const auto plan = authors.plan(name);
            compare(authors.problem, plan, name);
            QVERIFY(std::abs(evaluate(authors.problem, plan).makespan_s - seconds) < 5e-6);
        }
    }
};

QTEST_APPLESS_MAIN(TestPlannersSimulator)
#include "test_planners_simulator.moc"
