// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "plugins/planners/common/packed_trees.h"
#include "plugins/planners/common/reduction_starts.h"
#include "plugins/planners/joint/anneal/vary_reduction.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_problems.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using namespace skippipe::planners;

namespace {

Problem planned(Problem problem) {
    problem.plan_reductions = true;
    problem.charge_all_reduce = false;
    return problem;
}

Problem quick_start() {
    auto problem = make_problem(
        load_experiment(std::string(SKIPPIPE_SOURCE_DIR) + "/resources/experiments/quick-start.json").experiment);
    problem.charge_all_reduce = true;
    problem.plan_reductions = false;
    return problem;
}

}  // namespace

class TestReductionSearch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Whatever is changed, pieces stay a whole gradient and trees of all replicas; every form and number comes about.
    void variations_stay_valid() {
        int exchanges = 0, several = 0, deep = 0, changed = 0;
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            Rng rng(seed);
            const int replicas = 2 + static_cast<int>(rng.below(6));
            Pieces pieces = default_pieces(replicas);
            for (int step = 0; step < 500; ++step) {
                const Pieces before = pieces;
                const bool said = joint::vary(pieces, replicas, rng);
                const auto fault = fault_of(pieces, replicas);
                QVERIFY2(fault.empty(), (std::to_string(seed) + ": " + fault).c_str());
                if (!said) QVERIFY(pieces == before);
                changed += said && !(pieces == before) ? 1 : 0;
                several += pieces.size() > at(replicas) ? 1 : 0;
                for (const Piece& piece : pieces) {
                    exchanges += piece.form == PieceForm::exchange ? 1 : 0;
                    deep += piece.form == PieceForm::tree && piece.up != star_piece(replicas, piece.root, 1).up ? 1 : 0;
                }
            }
        }
        QVERIFY(changed > 5000 && exchanges > 100 && several > 100 && deep > 1000);
    }

    /// Starts are valid, and have their lines, also where lines are missing; the choice is the shortest of them in
    /// whatever order the nodes stand.
    void starts() {
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = seed % 3 == 0 ? 0.1 : 0.0}));
            Rng rng(seed, 9);
            std::vector<NodeIndex> nodes(at(problem.nodes()));
            std::iota(nodes.begin(), nodes.end(), NodeIndex(0));
            rng.shuffle(nodes);
            nodes.resize(2 + rng.below(std::min<std::uint64_t>(nodes.size() - 1, 7)));
            ReductionChoice choice(problem);
            double least_s = INFINITY;
            auto sorted = nodes;
            std::sort(sorted.begin(), sorted.end());
            for (const auto& pieces : reduction_starts(problem, sorted, 0)) {
                QVERIFY(fault_of(pieces, static_cast<int>(nodes.size())).empty());
                QVERIFY(has_reduction_lines(problem, sorted, pieces));
                least_s = std::min(least_s, choice.lone_s(sorted, 0, pieces));
                QVERIFY(lone_reduction_bound_s(problem, sorted, 0) <= choice.lone_s(sorted, 0, pieces));
            }
            if (std::isinf(least_s)) continue;  // these nodes do not reach each other
            const auto best = choice.best(nodes, 0);
            QVERIFY(fault_of(best, static_cast<int>(nodes.size())).empty());
            QVERIFY(has_reduction_lines(problem, nodes, best));
            const double best_s = choice.lone_s(nodes, 0, best);
            QVERIFY2(best_s <= least_s * 1.2, std::to_string(seed).c_str());  // ties fall by places
        }
    }

    /// Nothing that is tried falls below the bound; many small pieces come near it.
    void bound_alone() {
        std::vector<double> ratios;
        for (std::uint64_t seed = 1; seed <= 120; ++seed) {
            Rng rng(seed, 11);
            auto problem = planned(examples::random_problem(seed));
            problem.shared_links = true;
            if (seed % 2 == 0) {
                problem = examples::with_uplinks(problem, rng);
                for (auto* rates : {&problem.up_bytes_per_s, &problem.down_bytes_per_s})
                    for (double& rate : *rates) rate *= 1e7;
            }
            const int replicas = 2 + static_cast<int>(rng.below(std::min(7, problem.nodes() - 1)));
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < replicas; ++n) nodes.push_back(n);
            ReductionChoice choice(problem);
            const double bound_s = lone_reduction_bound_s(problem, nodes, 0);
            const auto best = choice.best(nodes, 0);
            double best_s = choice.lone_s(nodes, 0, best);
            auto starts = reduction_starts(problem, nodes, 0);
            starts.push_back(best);
            for (Pieces pieces : starts)
                for (int step = 0; step < 60; ++step) {
                    const double seconds = choice.lone_s(nodes, 0, pieces);
                    QVERIFY2(bound_s <= seconds, qPrintable(QString("seed %1").arg(seed)));
                    best_s = std::min(best_s, seconds);
                    joint::vary(pieces, replicas, rng);
                }
            ratios.push_back(best_s / bound_s);
        }
        std::sort(ratios.begin(), ratios.end());
        qInfo("best over bound: median %.3f, worst %.3f", ratios[ratios.size() / 2], ratios.back());
        QVERIFY(ratios[ratios.size() / 2] < 1.3);
    }

    /// 6 bytes of three nodes over lines of 1 byte/s: each byte has to go over four of them in all, and there are six.
    /// Over uplinks of 1 byte/s: four in all, and there are three.
    void three_by_hand() {
        auto problem = planned(examples::toy({"A", "B", "C"}, 1, 1, 3));
        problem.shared_links = true;
        problem.gradient_bytes = {6};
        for (auto& hop : problem.hops) {
            hop.latency_s = 0;
            hop.bandwidth_bytes_per_s = 1;
        }
        const std::vector<NodeIndex> nodes = {0, 1, 2};
        const auto rounded = [](double seconds) { return std::round(seconds * 50) / 50; };
        const auto best_s = [&] {
            ReductionChoice choice(problem);
            return choice.lone_s(nodes, 0, choice.best(nodes, 0));
        };
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 4.0);
        QVERIFY2(best_s() < 4.2, std::to_string(best_s()).c_str());
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 100;
        problem.up_bytes_per_s = {1, 1, 1};
        problem.down_bytes_per_s = {INFINITY, INFINITY, INFINITY};
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 8.0);
        QVERIFY2(best_s() < 8.5, std::to_string(best_s()).c_str());
        // With 10 s a hop the way to a root and back would take 20 s; an exchange takes 12 s of an uplink, and a hop.
        for (auto& hop : problem.hops) hop.latency_s = 10;
        problem.gradient_bytes = {0.5};
        QCOMPARE(rounded(lone_reduction_bound_s(problem, nodes, 0)), 11.0);
        QCOMPARE(best_s(), 11.0);
    }

    /// Packed trees span the replicas, also where lines are missing, or there are none.
    void packed() {
        int found = 0;
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = seed % 3 == 0 ? 0.2 : 0.0}));
            std::vector<NodeIndex> nodes;
            for (NodeIndex n = 0; n < 2 + static_cast<int>(seed % 3); ++n) nodes.push_back(n);
            const auto pieces = packed_trees(problem, nodes, 0, {.pieces = 7});
            if (pieces.empty()) continue;
            ++found;
            QCOMPARE(pieces.size(), std::size_t{7});
            QVERIFY(fault_of(pieces, static_cast<int>(nodes.size())).empty());
            QVERIFY(has_reduction_lines(problem, nodes, pieces));
        }
        QVERIFY(found > 40 && found < 60);
    }

    /// Any planner's plan is valid; the joint search's is the same again, and shorter than with the charged ring.
    void plans() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto charged = quick_start(), problem = planned(charged);
        PlanRequest request;
        request.steps = 4000;
        for (const auto& planner : registry.all()) {
            const auto plan = planner->plan(problem, request);
            const auto timeline = evaluate(problem, plan);
            QVERIFY2(timeline.complete && check_plan(problem, plan, timeline).empty(), planner->name().c_str());
            QCOMPARE(plan.reductions.size(), plan.stages.size());
        }
        const auto& joint = *registry.find("skippipe-joint");
        const auto plan = joint.plan(problem, request);
        request.threads = 2;
        QVERIFY(joint.plan(problem, request) == plan);
        const double seconds = evaluate(problem, plan).iteration_s,
                     charged_s = evaluate(charged, joint.plan(charged, request)).iteration_s;
        QVERIFY2(seconds < 0.9 * charged_s, (std::to_string(seconds) + " of " + std::to_string(charged_s)).c_str());
    }

    /// By the clock as well; its progress goes forward from the ring's plan to the end.
    void by_the_clock() {
        PlannerRegistry registry;
        register_planners(registry);
        const auto problem = planned(quick_start());
        PlanRequest request;
        request.seconds = 0.8;
        double last = 0;
        bool forward = true, with_rings = false;
        request.progress = [&](const PlanProgress& progress) {
            forward = forward && progress.fraction >= last;
            with_rings = with_rings || (progress.best_iteration_s == 0 && progress.fraction > 0.1);
            last = progress.fraction;
        };
        const auto plan = registry.find("skippipe-joint")->plan(problem, request);
        const auto timeline = evaluate(problem, plan);
        QVERIFY(timeline.complete && check_plan(problem, plan, timeline).empty());
        QVERIFY(forward && with_rings);
        QCOMPARE(last, 1.0);
    }

    void networks_that_lack_lines() {
        PlannerRegistry registry;
        register_planners(registry);
        int found = 0, bounded = 0;
        const auto free_bound_s = [](Problem problem) {
            problem.plan_reductions = false;
            return lower_bound(problem, problem.path_length).seconds;
        };
        for (std::uint64_t seed = 1; seed <= 40; ++seed) {
            const auto problem = planned(examples::random_problem(seed, {.missing_lines = 0.08}));
            PlanRequest request;
            request.steps = 300;
            try {
                const auto plan = registry.find("skippipe-joint")->plan(problem, request);
                const auto timeline = evaluate(problem, plan);
                const auto violations = check_plan(problem, plan, timeline);
                QVERIFY(lower_bound(problem, problem.path_length).seconds <= timeline.iteration_s);
                QVERIFY(placed_bound(problem, plan).seconds <= timeline.iteration_s);
                QVERIFY2(violations.empty(),
                         (std::to_string(seed) + ": " + (violations.empty() ? "" : violations.front().what)).c_str());
                bounded += lower_bound(problem, problem.path_length).seconds > free_bound_s(problem) ? 1 : 0;
                ++found;
            } catch (const InputError&) {}
        }
        QVERIFY2(found > 10 && bounded > 5, (std::to_string(found) + ", " + std::to_string(bounded)).c_str());
    }

    /// Two nodes of one stage with a microbatch each, F + L + B = 3.5 s; 12 bytes at 4 bytes/s after 1 s, step 0.25 s:
    /// the exchange in one round cannot be beaten.
    void bound() {
        auto problem = planned(examples::toy({"A", "B"}, 1, 1, 2));
        problem.shared_links = true;
        problem.step_seconds = 0.25;
        problem.gradient_bytes = {12};
        for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
        const Plan plan{.stages = {{0, 1}},
                        .blocks = {1},
                        .paths = {{0, {0}}, {1, {1}}},
                        .reductions = {{{1, PieceForm::exchange, 0, {}, {}}}}};
        QCOMPARE(evaluate(problem, plan).iteration_s, 7.75);
        const auto bound_s = [&] { return std::round(placed_bound(problem, plan).seconds * 1e9) * 1e-9; };
        QCOMPARE(bound_s(), 7.75);
        problem.shared_links = false;  // then pieces could be as many and as small as one likes
        QCOMPARE(bound_s(), 4.75);
    }
};

QTEST_APPLESS_MAIN(TestReductionSearch)
#include "test_reduction_search.moc"
