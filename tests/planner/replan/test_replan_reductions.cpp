// SPDX-License-Identifier: GPL-3.0-or-later
// Rests of iterations whose reductions are planned, by hand.
#include <QTest>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/replan/replan.h"
#include "core/planner/replan/rest_reductions.h"
#include "core/planner/replan/validate_residual.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/examples.h"
#include "tests/planner/faults.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using Kind = NetworkChange::Kind;

namespace {

/// Stage 1 on A and B, which exchange 12 bytes at 4 bytes/s: A's part is there at 7.5 s, B's at 8.5 s; 12.75 s.
examples::Example two_replicas() {
    examples::Example example{"reductions", examples::toy({"D", "A", "B"}, 2, 2, 2),
                              Plan{.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}}},
                              12.5, 0};
    auto& problem = example.problem;
    problem.shared_links = problem.plan_reductions = true;
    problem.balance_data_nodes = false;
    problem.step_seconds = 0.25;
    problem.gradient_bytes = {0, 12};
    for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
    example.plan.reductions = {{}, {{1, PieceForm::exchange, 0, {}, {}}}};
    return example;
}

struct Rest {
    Replan replan;
    std::string faults;
};

Rest rest_of(const examples::Example& example, double at_s, const std::vector<NodeIndex>& down) {
    const auto& problem = example.problem;
    const auto& plan = example.plan;
    ReplanRequest request{.progress = progress_at(problem, plan, evaluate(problem, plan), at_s)};
    for (const NodeIndex node : down) request.changes.push_back({.kind = Kind::node_down, .node = node});
    Rest rest{replan(problem, plan, request), {}};
    rest.faults = examples::text_of(
        check_residual(problem, plan, request.progress, down, rest.replan.plan, rest.replan.timeline));
    return rest;
}

}  // namespace

class TestReplanReductions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// At 9 s both send again. A's line is free at 10.5, so B has the sum at 14.5; B's at 11.5, A has it at 15.5.
    void what_is_under_way_begins_again() {
        const auto rest = rest_of(two_replicas(), 9, {});
        QCOMPARE(rest.faults, std::string());
        QCOMPARE(rest.replan.iteration_s, 15.75);
        QVERIFY(rest.replan.plan == two_replicas().plan);
    }

    /// The rest of an iteration that has just begun is the iteration, uplinks and downlinks included, but for ties at
    /// the beginning: there are none, nor idle replicas, whose parts go before the first operations in an iteration.
    void from_the_beginning_it_is_the_whole() {
        int whole = 0, with_queues = 0;
        for (std::uint64_t seed = 1; seed <= 300; ++seed) {
            auto [problem, plan] = examples::random_plan(seed);
            Rng rng(seed, 4);
            problem.charge_all_reduce = false;
            problem.plan_reductions = problem.shared_links = true;
            if (seed % 2 == 0) problem = examples::with_uplinks(problem, rng);
            plan.reductions = examples::random_reductions(plan, rng);
            for (double& seconds : problem.seconds_per_sample_per_block) seconds *= 1 + 0.1 * rng.uniform();
            const auto timeline = evaluate(problem, plan);
            const auto visits = [&](NodeIndex node) {
                return std::any_of(plan.paths.begin(), plan.paths.end(), [&](const Path& path) {
                    return std::find(path.nodes.begin(), path.nodes.end(), node) != path.nodes.end();
                });
            };
            const bool idle = std::any_of(plan.stages.begin(), plan.stages.end(), [&](const auto& nodes) {
                return !std::all_of(nodes.begin(), nodes.end(), visits);
            });
            if (!timeline.complete || idle) continue;
            const ReplanRequest request{
                .progress = progress_from_steps(problem, plan, PerRelease<int>(plan.paths.size(), 0), 0)};
            const auto rest = replan(problem, plan, request);
            QVERIFY2(
                rest.iteration_s == timeline.iteration_s,
                qPrintable(QString("seed %1: %2, not %3 s").arg(seed).arg(rest.iteration_s).arg(timeline.iteration_s)));
            ++whole;
            with_queues += problem.has_uplinks() ? 1 : 0;
        }
        QVERIFY2(whole > 150 && with_queues > 75, qPrintable(QString("%1, %2").arg(whole).arg(with_queues)));
    }

    void what_has_reduced_does_not() {
        const auto rest = rest_of(two_replicas(), 12.6, {});
        QCOMPARE(rest.faults, std::string());
        QCOMPARE(rest.replan.iteration_s, 12.75);
    }

    /// B is lost with its gradient on its way: A runs F1 10-11 and B1 11-13, D's gradient is there at 14, D runs until
    /// 16. A has nobody to sum with.
    void a_lost_replica_takes_no_part() {
        const auto rest = rest_of(two_replicas(), 9, {2});
        QCOMPARE(rest.faults, std::string());
        QCOMPARE(rest.replan.iteration_s, 16.25);
        QVERIFY(rest.replan.plan.reductions[1].empty());
        QVERIFY(!std::isfinite(rest.replan.unchanged_s));
        for (const auto& span : rest.replan.timeline.spans) QVERIFY(span.kind != SpanKind::transfer_reduction);
    }

    /// The children of a lost node hang on its nearest ancestor that is left; the first of them is root where the root
    /// is lost.
    void trees_without_some() {
        const Pieces pieces{{1, PieceForm::tree, 1, {2, 1, 1, 2, 3}, {1, 1, 0, 2, 0}}};
        QVERIFY(pieces_without_lost(pieces, {10, 11, 12, 13, 14}, {10, 11, 13, 14}) ==
                (Pieces{{1, PieceForm::tree, 1, {1, 1, 1, 2}, {1, 1, 0, 0}}}));
        QVERIFY(pieces_without_lost(pieces, {10, 11, 12, 13, 14}, {10, 12, 14}) ==
                (Pieces{{1, PieceForm::tree, 1, {1, 1, 1}, {1, 1, 0}}}));
    }

    void any_trees_without_some_are_trees() {
        for (std::uint64_t seed = 0; seed < 2000; ++seed) {
            Rng rng(seed, 3);
            std::vector<NodeIndex> nodes, left;
            for (int k = 2 + static_cast<int>(rng.below(8)); k > 0; --k) nodes.emplace_back(20 - k);
            for (const NodeIndex node : nodes)
                if (rng.below(3) != 0) left.push_back(node);
            const Pieces pieces{examples::random_piece(static_cast<int>(nodes.size()), 1, rng)};
            const auto made = pieces_without_lost(pieces, nodes, left);
            QCOMPARE(made.size(), left.size() < 2 ? 0U : 1U);
            QCOMPARE(fault_of(made, static_cast<int>(left.size())), std::string());
            if (left == nodes) QVERIFY(made == pieces || left.size() < 2);
        }
    }

    /// Who has no line to another of the stage is refused; over the one that is there, a star goes.
    void lines_that_are_missing() {
        auto problem = examples::toy({"D", "A", "B", "C"}, 2, 2, 1);
        problem.plan_reductions = problem.shared_links = true;
        problem.gradient_bytes = {0, 12};
        const auto cut = [&](int a, int b) {
            problem.hops[at(a * 4 + b)].line = problem.hops[at(b * 4 + a)].line = no_line;
        };
        cut(2, 3);
        const auto star = rest_pieces(problem, 1, {1, 2, 3}, {}, {1, 2});
        QVERIFY(star == (Pieces{star_piece(3, 0, 1)}));
        cut(1, 2);
        QVERIFY(!rest_pieces(problem, 1, {1, 2, 3}, {}, {1, 2}));
    }
};

QTEST_APPLESS_MAIN(TestReplanReductions)
#include "test_replan_reductions.moc"
