// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/experiment/io.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
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
