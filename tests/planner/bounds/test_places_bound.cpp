// SPDX-License-Identifier: GPL-3.0-or-later
// What the nodes can serve of each stage: by hand, and never too much.
#include <QTest>

#include <cmath>

#include "core/base/fault.h"
#include "core/planner/bounds/approaches.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/authors.h"
#include "tests/planner/examples.h"
#include "tests/planner/region_networks.h"

using namespace skippipe;

namespace {

constexpr const char* visits = "visits that the nodes can serve";

/// D, A and B in a row, a stage each, D with memory for all; F = 1, B = 2, L = 0.5 s, a hop 1 s.
Problem row(int microbatches) {
    auto problem = examples::toy({"D", "A", "B"}, 3, 3, microbatches);
    problem.constraints.max_swaps = 0;
    problem.memory = {microbatches, 3, 3};
    problem.placement = {{0}, {1}, {2}};
    return problem;
}

/// Whether the bound is this many seconds, to a thousandth, proved by what the nodes can serve.
void check(const Problem& problem, double seconds) {
    const auto bound = lower_bound(problem, problem.path_length);
    const auto told = std::to_string(bound.seconds) + " by " + bound.which;
    QVERIFY2(std::abs(bound.seconds - seconds) < 1e-3, told.c_str());
    QVERIFY2(bound.which.starts_with(visits), told.c_str());
}

}  // namespace

class TestPlacesBound : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A runs three F from 2 s on, and the first B when it comes back from B: 2 + 1 + (1 + 1 + 1 + 0.5 + 1 + 2 + 1) s =
    /// 10.5 s, so it idles for 5.5 s. As long after its last F until that one's B, 7.5 s later, with two other B of 4
    /// s: 3.5 s. Six visits are 18 s, and the last B is followed by a hop and D's B.
    void idle_before_the_first_and_after_the_last() { check(row(6), 2 + 5.5 + 18 + 3.5 + 3); }

    /// With A's memory of one: six times 10.5 s.
    void one_place() {
        auto problem = row(6);
        problem.memory[NodeIndex(1)] = 1;
        check(problem, 2 + 6 * 10.5 + 3);
    }

    /// Stages 1 and 2 are visited by half of the twelve microbatches each. With two data nodes, whose work is 21 s, one
    /// of the stages has one of the three nodes left: six visits, between an F and a hop and a hop and a B.
    void each_node_serves_one_stage() {
        auto problem = examples::toy({"A", "B", "C", "D", "E"}, 3, 2, 12);
        problem.memory.assign(5, 12);
        check(problem, 2 + 18 + 3);
    }

    /// Of five stages the last is reached in two hops at the earliest where a hop passes over three, the fourth in one;
    /// of paths of three others than stage 0, the first is followed by another one.
    void hops_to_a_stage() {
        const auto problem = examples::toy({"A", "B", "C", "D", "E", "F"}, 6, 4, 6);
        QCOMPARE(bounds::hops_to(problem, 4, 5).first, 2);
        QCOMPARE(bounds::hops_to(problem, 4, 4).first, 1);
        QCOMPARE(bounds::hops_to(problem, 4, 1).last, 2);
        QCOMPARE(bounds::hops_to(problem, 4, 2).last, 3);
        QCOMPARE(bounds::hops_to(problem, 6, 5).first, 3);  // 1, 2 and 3 are skipped first, and two swaps take them up
        auto free = problem;
        free.constraints.bounded_disorder = false;
        QCOMPARE(bounds::hops_to(free, 4, 5).first, 1);
        QCOMPARE(bounds::hops_to(free, 4, 1).last, 3);
    }

    /// D and A are not linked, so that paths go by B to A and on to C, a swap: later there than by one hop, not never.
    void two_hops_where_one_has_no_line() {
        auto problem = examples::toy({"D", "A", "B", "C"}, 4, 4, 4);
        problem.placement = {{0}, {1}, {2}, {3}};
        problem.hops[1].line = problem.hops[4].line = no_line;
        Plan plan{.stages = problem.placement, .blocks = problem.blocks};
        for (MicrobatchIndex m = 0; m < 4; ++m) plan.paths.push_back({m, {0, 2, 1, 3}});
        const double seconds = evaluate(problem, plan).iteration_s;
        const auto bound = lower_bound(problem, 4);
        QVERIFY2(bound.seconds <= seconds, (std::to_string(bound.seconds) + " by " + bound.which).c_str());
    }

    /// With ten data nodes each other stage of the authors' 20 nodes has two: the last one's have 79.2 s of work, after
    /// two hops; with their memory they idle too.
    void ten_data_nodes_of_the_authors() {
        authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        authors.problem.stage_sizes = {10, 2, 2, 2, 2, 2};
        const auto bound = lower_bound(authors.problem, 4);
        qInfo("%.3f s: %s", bound.seconds, bound.which.c_str());
        QVERIFY(bound.seconds > 50.5 && bound.seconds < 60);
    }

    void never_above_a_plan() {
        int proved = 0, compared = 0;
        for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
            const auto [problem, plan] = examples::random_plan(seed);
            const auto timeline = evaluate(problem, plan);
            if (!timeline.complete) continue;
            const auto placed = placed_bound(problem, plan);
            QVERIFY2(placed.seconds <= timeline.iteration_s, qPrintable(QString("seed %1: %2 s by %3, plan %4 s")
                                                                            .arg(seed)
                                                                            .arg(placed.seconds)
                                                                            .arg(QString::fromStdString(placed.which))
                                                                            .arg(timeline.iteration_s)));
            ++compared;
            proved += placed.which.starts_with(visits) ? 1 : 0;
        }
        qInfo("%d of %d", proved, compared);
        QVERIFY(proved > 50);
    }

    /// Placement free, and that of the plan; lines shared and not.
    void never_above_what_is_planned() {
        PlannerRegistry registry;
        register_planners(registry);
        int proved = 0;
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            const auto network = examples::region_network(seed, {60, 6, 180, seed % 2 == 0});
            PlanRequest request;
            request.seed = seed;
            request.steps = 300;
            const Problem& problem = network.problem;
            const auto plan = registry.find("skippipe-joint")->plan(problem, request);
            const double seconds = evaluate(problem, plan).iteration_s;
            const auto bound = lower_bound(problem, problem.path_length), placed = placed_bound(problem, plan);
            QVERIFY(bound.seconds <= seconds && placed.seconds <= seconds);
            QVERIFY(bound.seconds <= placed.seconds * (1 + 1e-9));
            proved += bound.which.starts_with(visits) ? 1 : 0;
            proved += placed.which.starts_with(visits) ? 1 : 0;
        }
        QVERIFY2(proved > 3, std::to_string(proved).c_str());
    }
};

QTEST_APPLESS_MAIN(TestPlacesBound)
#include "test_places_bound.moc"
