// SPDX-License-Identifier: GPL-3.0-or-later
// What planned reductions add to the bound of a placement, by hand, and never too much.
#include <QTest>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "core/planner/bounds/bounds.h"
#include "core/planner/explain/explain.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

constexpr const char* alone = "all of them, alone on the lines";

/// One stage of nodes with a microbatch each, 3.5 s of work; A's takes four times as long where it is slow. Lines of
/// 1 s and 100 bytes/s, 12 bytes of gradient, step 0.25 s.
struct Scene {
    explicit Scene(std::vector<std::string> ids, double slow = 4) {
        const auto nodes = static_cast<int>(ids.size());
        problem = examples::toy(std::move(ids), 1, 1, nodes);
        problem.plan_reductions = problem.shared_links = true;
        problem.step_seconds = 0.25;
        problem.gradient_bytes = {12};
        problem.seconds_per_sample_per_block[NodeIndex(0)] = slow;
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 100;
        plan.stages = {{}};
        plan.blocks = {1};
        for (NodeIndex n = 0; n < nodes; ++n) {
            plan.stages[StageIndex(0)].push_back(n);
            plan.paths.push_back({MicrobatchIndex(int(n)), {n}});
        }
    }
    Hop& hop(int from, int to) { return problem.hops[static_cast<std::size_t>(from * problem.nodes() + to)]; }
    void limit(PerNode<double>& rates, int node, double rate) {
        auto& other = &rates == &problem.up_bytes_per_s ? problem.down_bytes_per_s : problem.up_bytes_per_s;
        rates.assign(problem.node_ids.size(), INFINITY);
        other = rates;
        rates[NodeIndex(node)] = rate;
        for (int side = 0; side < 2; ++side)
            for (const auto& id : problem.node_ids) problem.line_names.push_back((side ? "down " : "up ") + id);
    }
    /// Whether the bound is so many seconds, to a hundredth, is proved so, and the default pieces take no less.
    void check(double seconds, const std::string& which) const {
        const auto bound = placed_bound(problem, plan);
        const auto timeline = evaluate(problem, plan);
        const std::string told = std::to_string(bound.seconds) + " by " + bound.which;
        QVERIFY2(std::abs(bound.seconds - seconds) < 0.01, told.c_str());
        QVERIFY2(bound.which.ends_with("; then the gradients: " + which), told.c_str());
        QVERIFY2(bound.seconds <= timeline.iteration_s, told.c_str());
        const auto words = explain(problem, plan, timeline).placed_words(problem);
        QVERIFY2(words.find("then the gradients: " + which) != std::string::npos, words.c_str());
    }

    Problem problem;
    Plan plan;
};

}  // namespace

class TestReductionBounds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A is done after 14 s; until all have the sum with its part ...
    void farthest_replica() {
        Scene s({"A", "B", "C"});
        s.problem.gradient_bytes = {0};
        s.hop(0, 2).latency_s = s.hop(1, 2).latency_s = 5;
        s.check(14 + 5 + 0.25, "the way from A to C");
        s.hop(1, 2).latency_s = 2;  // by way of B
        s.check(14 + 3 + 0.25, "the way from A to C");
    }

    void lines_from_one() {
        Scene s({"A", "B", "C"});
        s.hop(0, 1).bandwidth_bytes_per_s = s.hop(0, 2).bandwidth_bytes_per_s = 1;
        s.check(14 + 1 + 6 + 0.25, "the lines from A");
        s.hop(0, 1).line = s.hop(0, 2).line;
        s.check(14 + 1 + 12 + 0.25, "the lines from A");
    }

    void lines_to_one() {
        Scene s({"A", "B", "C"});
        s.hop(0, 1).bandwidth_bytes_per_s = s.hop(2, 1).bandwidth_bytes_per_s = 1;
        s.check(14 + 1 + 6 + 0.25, "the lines to B");
    }

    void uplink() {
        Scene s({"A", "B", "C"});
        s.limit(s.problem.up_bytes_per_s, 0, 1);
        s.check(14 + 1 + 12 + 0.25, "the uplink of A");
    }

    void downlink() {
        Scene s({"A", "B", "C"});
        s.limit(s.problem.down_bytes_per_s, 1, 1);
        s.check(14 + 1 + 12 + 0.25, "the downlink of B");
    }

    /// A and B in one region, C and D in another.
    void cut_between_regions() {
        Scene s({"A", "B", "C", "D"});
        for (const int from : {0, 1})
            for (const int to : {2, 3}) {
                s.hop(from, to).line = s.hop(0, 2).line;
                s.hop(from, to).bandwidth_bytes_per_s = 1;
            }
        s.check(14 + 1 + 12 + 0.25, "the lines from A and B");
    }

    /// A and B near each other, 5 s from C and D: what A's and B's uplinks carry together at 2 bytes/s each, 8 s, is
    /// there later than what A's alone does. C's and D's downlinks likewise.
    void uplinks_and_downlinks_of_several() {
        for (const bool up : {true, false}) {
            Scene s({"A", "B", "C", "D"});
            for (const int from : {0, 1})
                for (const int to : {2, 3}) s.hop(from, to).latency_s = s.hop(to, from).latency_s = 5;
            auto& rates = up ? s.problem.up_bytes_per_s : s.problem.down_bytes_per_s;
            s.limit(rates, up ? 0 : 2, 2);
            rates[NodeIndex(up ? 1 : 3)] = 2;
            s.check(14 + 5 + 3 + 0.25, up ? "the uplinks of A and B" : "the downlinks of C and D");
        }
    }

    /// Where placement is free: of a stage of three among four nodes.
    void wherever_the_nodes_stand() {
        const auto bound = [](const std::function<void(Scene&)>& change) {
            Scene s({"A", "B", "C", "D"}, 1);
            s.problem.stages = 2;
            s.problem.path_length = 2;
            s.problem.microbatches = 3;
            s.problem.blocks = {1, 1};
            s.problem.stage_sizes = {3, 1};
            s.problem.gradient_bytes = {12, 0};
            s.problem.memory.assign(4, 10);
            change(s);
            return lower_bound(s.problem, 2);
        };
        const auto plain = bound([](Scene&) {});
        // Two pairs, 30 s apart: whoever is last, one of the other two replicas is as far.
        const auto far = bound([](Scene& s) {
            s.problem.gradient_bytes = {0, 0};
            for (auto& hop : s.problem.hops) hop.latency_s = 0;
        });
        const auto farther = bound([](Scene& s) {
            s.problem.gradient_bytes = {0, 0};
            for (auto& hop : s.problem.hops) hop.latency_s = 30;
            for (const auto& [a, b] : {std::pair{0, 1}, {1, 0}, {2, 3}, {3, 2}}) s.hop(a, b).latency_s = 0;
        });
        QVERIFY2(farther.seconds > far.seconds + 29, farther.which.c_str());
        QVERIFY2(farther.which.ends_with("then the gradients: the way to the farthest replica"), farther.which.c_str());
        // Three of the four receive 0.5 bytes/s alone: of any three two do, and one of these is not who is last.
        const auto slow = bound([](Scene& s) {
            s.limit(s.problem.down_bytes_per_s, 0, 0.5);
            s.problem.down_bytes_per_s[NodeIndex(1)] = s.problem.down_bytes_per_s[NodeIndex(2)] = 0.5;
        });
        QVERIFY2(slow.seconds > plain.seconds + 20, std::to_string(slow.seconds).c_str());
        QVERIFY2(slow.which.ends_with("then the gradients: the lines to a replica, or its downlink"),
                 slow.which.c_str());
    }

    /// All are done after 3.5 s: of 6 bytes each goes over four of the six lines.
    void alone_after_the_first() {
        Scene s({"A", "B", "C"}, 1);
        s.problem.gradient_bytes = {6};
        for (auto& hop : s.problem.hops) {
            hop.latency_s = 0;
            hop.bandwidth_bytes_per_s = 1;
        }
        s.check(3.5 + 4 + 0.25, alone);
    }

    /// F and a hop, 2 s; the work of both microbatches, 3 s; 40 bytes at 4 bytes/s.
    void after_a_stages_work() {
        auto problem = examples::toy({"D", "A", "B"}, 2, 2, 2);
        problem.plan_reductions = problem.shared_links = true;
        problem.gradient_bytes = {0, 40};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        Scene s({"D"});
        s.problem = problem;
        s.plan = {.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}}};
        s.check(2 + 3 + 11, "the lines from A");
    }

    void never_above_a_plan() {
        int proved = 0;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            auto [problem, plan] = examples::random_plan(seed);
            Rng rng(seed, 21);
            problem.charge_all_reduce = false;
            problem.plan_reductions = true;
            problem.shared_links = seed % 4 != 0;
            if (seed % 2 == 0 && problem.shared_links) problem = examples::with_uplinks(problem, rng);
            for (double& bytes : problem.gradient_bytes) bytes *= std::pow(100, rng.uniform());
            plan.reductions = examples::random_reductions(plan, rng);
            const auto timeline = evaluate(problem, plan);
            if (!timeline.complete) continue;
            const auto bound = placed_bound(problem, plan);
            QVERIFY2(bound.seconds <= timeline.iteration_s, qPrintable(QString("seed %1: %2 s by %3, plan %4 s")
                                                                           .arg(seed)
                                                                           .arg(bound.seconds)
                                                                           .arg(QString::fromStdString(bound.which))
                                                                           .arg(timeline.iteration_s)));
            proved += bound.which.find("then the gradients") != std::string::npos ? 1 : 0;
        }
        QVERIFY2(proved > 100, std::to_string(proved).c_str());
    }

    /// A stage alone, of which one node is done last, summed in many ways: the best is next to its bound often enough
    /// that a bound of any of these kinds that said a fiftieth too much would be above it.
    void next_to_a_plan() {
        std::map<std::string, int> near;
        for (std::uint64_t seed = 1; seed <= 400; ++seed) {
            Rng rng(seed, 22);
            Scene s({"A", "B", "C"}, 4 + rng.uniform());
            if (seed % 4 != 0) s = Scene({"A", "B"}, 4 + rng.uniform());
            s.problem.gradient_bytes = {seed % 3 == 0 ? 0 : std::pow(100, rng.uniform())};
            for (auto& hop : s.problem.hops) {
                hop.latency_s = rng.uniform();
                hop.bandwidth_bytes_per_s = 0.5 + rng.uniform();
            }
            if (seed % 2 == 0) s.problem = examples::with_uplinks(s.problem, rng);
            const auto bound = placed_bound(s.problem, s.plan);
            double least_s = INFINITY;
            for (int k = 0; k < 40; ++k) {
                s.plan.reductions = examples::random_reductions(s.plan, rng);
                least_s = std::min(least_s, evaluate(s.problem, s.plan).iteration_s);
            }
            const auto told = "seed " + std::to_string(seed) + ": " + std::to_string(bound.seconds) + " s by " +
                              bound.which + ", plan " + std::to_string(least_s) + " s";
            QVERIFY2(bound.seconds <= least_s, told.c_str());
            if (least_s < 1.02 * bound.seconds) ++near[bound.which.substr(bound.which.find(": ") + 2, 12)];
        }
        for (const char* which : {"the way from", "the lines fr", "the uplink o", "the downlink"})
            QVERIFY2(near[which] > 5, (which + std::string(": ") + std::to_string(near[which])).c_str());
    }
};

QTEST_APPLESS_MAIN(TestReductionBounds)
#include "test_reduction_bounds.moc"
