// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>

#include "core/engine/online_replan.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"

using namespace skippipe;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

/// Two data nodes, and a second stage on two nodes; a line of its own for each pair, nobody queues.
struct Scene {
    Problem problem = examples::toy({"D", "E", "A", "B"}, 2, 2, 8);
    Plan plan{.planner = "test", .stages = {{0, 1}, {2, 3}}, .blocks = {1, 1}};

    Scene() {
        problem.constraints = {.uniform_execution = false, .bounded_disorder = false};
        problem.memory.assign(4, unlimited_memory);
        for (MicrobatchIndex m = 0; m < 8; ++m) plan.paths.push_back({m, {NodeIndex(m % 2), NodeIndex(2 + m % 2)}});
    }
    RankSchedule schedule() const { return make_schedule(problem, plan, {0, 0, 0, 0}, 1); }
};

const Machines plenty{{{0, 4}}, {4}};

}  // namespace

class TestCostEstimator : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void what_is_as_drawn_stays_as_drawn() {
        for (std::uint64_t seed = 0; seed < 60; ++seed) {
            auto [problem, plan] = examples::random_plan(seed);
            problem.shared_links = false;
            const auto timeline = evaluate(problem, plan);
            if (!timeline.complete) continue;
            CostEstimator costs(problem, true);
            costs.observe(plan, timeline.spans);
            QVERIFY(costs.drift(1e-6).changes.empty());
            QVERIFY(near(costs.now().backward_factor, problem.backward_factor) &&
                    near(costs.now().loss_factor, problem.loss_factor));
        }
    }

    void slower_nodes_lines_and_backwards_are_found() {
        Scene scene;
        auto measured = scene.problem;
        measured.seconds_per_sample_per_block[3] *= 3;
        measured.backward_factor *= 1.25;
        measured.loss_factor *= 2;
        measured.hops[1 * 4 + 3].slow(5);
        CostEstimator costs(scene.problem, true);
        costs.observe(scene.plan, evaluate(measured, scene.plan).spans);
        const auto& now = costs.now();
        for (std::size_t n = 0; n < 4; ++n)
            QVERIFY(near(now.seconds_per_sample_per_block[n], measured.seconds_per_sample_per_block[n]));
        QVERIFY(near(now.backward_factor, measured.backward_factor) && near(now.loss_factor, measured.loss_factor));
        QVERIFY(near(now.hop(1, 3).latency_s, measured.hop(1, 3).latency_s) &&
                near(now.hop(0, 2).latency_s, scene.problem.hop(0, 2).latency_s));
        QVERIFY(near(evaluate(now, scene.plan).iteration_s, evaluate(measured, scene.plan).iteration_s));
        const auto drift = costs.drift(0.1);
        QCOMPARE(drift.changes.size(), std::size_t(2));
        QCOMPARE(drift.changes.front().node, 3);
        QVERIFY(near(drift.changes.front().factor, 3));
        QCOMPARE(drift.text, std::string("line E->B takes 5 x as long; 1 other changed by more than 10 %"));
        costs.planned();
        QVERIFY(costs.drift(0.1).changes.empty());
    }

    /// Lines that only all-reduces use are measured by these; what takes nearly nothing is not spoken of.
    void rings_are_measured_and_trifles_are_not_told() {
        Scene scene;
        scene.problem.charge_all_reduce = true;
        auto measured = scene.problem;
        for (const int index : {2 * 4 + 3, 3 * 4 + 2}) measured.hops[static_cast<std::size_t>(index)].slow(3);
        for (const int index : {0 * 4 + 2, 2 * 4 + 0}) measured.hops[static_cast<std::size_t>(index)].slow(0.999);
        CostEstimator costs(scene.problem, true);
        costs.observe(scene.plan, evaluate(measured, scene.plan).spans);
        QVERIFY(near(costs.now().hop(2, 3).latency_s, 3) && near(costs.now().hop(0, 1).latency_s, 1));
        auto changed = costs.drift(1e-6).changes;
        QCOMPARE(changed.size(), std::size_t(2));
        QVERIFY(changed[0].node == 2 && changed[0].to == 3 && near(changed[0].factor, 3));
    }

    void shaped_links_are_the_drawn_ones() {
        Scene scene;
        auto measured = scene.problem;
        for (auto& hop : measured.hops) hop.slow(5);
        CostEstimator costs(scene.problem, false);
        costs.observe(scene.plan, evaluate(measured, scene.plan).spans);
        QVERIFY(costs.drift(0.1).changes.empty());
    }

    void one_bad_iteration_is_none() {
        Scene scene;
        auto disturbed = scene.problem;
        for (auto& s : disturbed.seconds_per_sample_per_block) s *= 4;
        CostEstimator costs(scene.problem, true);
        const auto usual = evaluate(scene.problem, scene.plan).spans, bad = evaluate(disturbed, scene.plan).spans;
        for (const auto* spans : {&usual, &usual, &bad}) costs.observe(scene.plan, *spans);
        QVERIFY(costs.drift(0.1).changes.empty());
        for (int i = 0; i < 3; ++i) costs.observe(scene.plan, bad);
        QCOMPARE(costs.drift(0.1).changes.size(), std::size_t(4));
    }

    void a_slow_node_gets_less_to_do() {
        Scene scene;
        auto slow = scene.problem;
        slow.seconds_per_sample_per_block[3] *= 4;
        CostEstimator costs(scene.problem, true);
        QVERIFY(!plan_again(costs, scene.schedule(), plenty));
        costs.observe(scene.plan, evaluate(slow, scene.plan).spans);
        const auto better = plan_again(costs, scene.schedule(), plenty);
        QVERIFY(better);
        QCOMPARE(better->schedule.plan.stages, scene.plan.stages);
        const auto on_b = [](const Plan& plan) {
            return std::count_if(plan.paths.begin(), plan.paths.end(),
                                 [](const Path& path) { return path.nodes[1] == 3; });
        };
        QCOMPARE(on_b(scene.plan), 4);
        QVERIFY(on_b(better->schedule.plan) < 4);
        // What it promises is what the network of now does.
        QVERIFY(near(better->unchanged_s, evaluate(slow, scene.plan).iteration_s));
        QVERIFY(near(better->predicted_s, evaluate(slow, better->schedule.plan).iteration_s));
        QVERIFY(better->predicted_s < 0.98 * better->unchanged_s);
        QVERIFY(better->why.starts_with("B takes 4 x as long: "));
        costs.planned();
        QVERIFY(!plan_again(costs, better->schedule, plenty));
    }

    void what_saves_nothing_changes_nothing() {
        Scene scene;
        auto slower = scene.problem;
        for (auto& s : slower.seconds_per_sample_per_block) s *= 2;
        for (auto& hop : slower.hops) hop.slow(2);
        CostEstimator costs(scene.problem, true);
        costs.observe(scene.plan, evaluate(slower, scene.plan).spans);
        QCOMPARE(costs.drift(0.1).changes.size(), std::size_t(4 + 12));
        QVERIFY(!plan_again(costs, scene.schedule(), plenty));
    }
};

QTEST_GUILESS_MAIN(TestCostEstimator)
#include "test_cost_estimator.moc"
