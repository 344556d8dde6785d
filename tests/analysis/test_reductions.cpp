// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <set>
#include <tuple>

#include "core/analysis/reductions.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/planner/examples.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;

namespace {

/// [[D], [A, B]], paths DA, DB; 12 bytes of gradient in stage 1, 4 bytes/s, latency 1 s, step 0.25 s.
std::pair<Problem, Plan> two_replicas() {
    Problem problem = examples::toy({"D", "A", "B"}, 2, 2, 2);
    problem.shared_links = problem.charge_all_reduce = true;
    problem.step_seconds = 0.25;
    problem.gradient_bytes = {0, 12};
    for (auto& hop : problem.hops) hop.bandwidth_bytes_per_s = 4;
    return {problem, Plan{.stages = {{0}, {1, 2}}, .blocks = {1, 1}, .paths = {{0, {0, 1}}, {1, {0, 2}}}}};
}

using Key = std::tuple<int, int, int, bool>;  ///< piece, from, to, result

std::multiset<Key> wanted_of(const Plan& plan, StageIndex stage, const Pieces& pieces) {
    std::multiset<Key> wanted;
    const auto& nodes = plan.stages[stage];
    for (int piece = 0; piece < static_cast<int>(pieces.size()); ++piece)
        for (int a = 0; a < static_cast<int>(nodes.size()); ++a) {
            const Piece& one = pieces[at(piece)];
            if (one.form == PieceForm::exchange) {
                for (int b = 0; b < static_cast<int>(nodes.size()); ++b)
                    if (a != b) wanted.insert({piece, nodes[at(a)], nodes[at(b)], false});
            } else if (a != one.root) {
                wanted.insert({piece, nodes[at(a)], nodes[at(one.up[at(a)])], false});
                wanted.insert({piece, nodes[at(one.down[at(a)])], nodes[at(a)], true});
            }
        }
    return wanted;
}

}  // namespace

class TestReductions : public QObject {
    Q_OBJECT

    /// Every transfer of every stage is told, each of the plan's once, and none carries what had not arrived.
    static int check_cargo(const Problem& problem, const Plan& plan, const std::string& where) {
        const Timeline timeline = evaluate(problem, plan);
        if (!timeline.complete) return 0;
        int told = 0;
        const PlannedProblem planned(problem, plan.blocks);
        for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
            const auto& nodes = plan.stages[stage];
            std::vector<double> own_s(nodes.size(), 0);
            std::vector<ReductionTransfer> transfers;
            for (const auto& span : timeline.spans) {
                const auto place =
                    static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), span.node) - nodes.begin());
                if (span.kind == SpanKind::transfer_reduction && span.stage == stage)
                    transfers.push_back({span.node, span.to_node, span.ready_s, span.end_s, span.bytes});
                else if (is_compute(span.kind) && place < nodes.size())
                    own_s[place] = std::max(own_s[place], span.end_s);
            }
            const auto& given = plan.reductions.empty() ? Pieces{} : plan.reductions[stage];
            const Pieces pieces = given.empty() ? default_pieces(static_cast<int>(nodes.size())) : given;
            const auto cargo = cargo_of(nodes, given, planned.get().gradient_bytes[stage], own_s, transfers);
            std::multiset<Key> found;
            std::map<int, double> whole_s, first_result_s;
            for (std::size_t i = 0; i < cargo.size(); ++i) {
                if (!cargo[i]) qFatal("%s: a transfer is not told", where.c_str());
                const auto& one = *cargo[i];
                found.insert({one.piece, transfers[i].from, transfers[i].to, one.result});
                ++told;
                if (one.result != (one.form == PieceForm::tree && one.summed.size() == nodes.size()))
                    qFatal("%s: a result is the sum of all", where.c_str());
                const NodeIndex root = nodes[at(pieces[at(one.piece)].root)];
                if (!one.result && transfers[i].to == root)
                    whole_s[one.piece] = std::max(whole_s[one.piece], transfers[i].end_s);
                if (one.result && transfers[i].from == root)
                    first_result_s[one.piece] = first_result_s.contains(one.piece)
                                                    ? std::min(first_result_s[one.piece], transfers[i].ready_s)
                                                    : transfers[i].ready_s;
            }
            for (const auto& [piece, ready_s] : first_result_s)
                if (ready_s < whole_s[piece] - 1e-9) qFatal("%s: a result before its parts", where.c_str());
            if (!transfers.empty() && found != wanted_of(plan, stage, pieces))
                qFatal("%s: other transfers than the plan's", where.c_str());
        }
        return told;
    }

private Q_SLOTS:
    void edges_of_a_ring_and_of_trees() {
        auto [problem, plan] = two_replicas();
        const auto ring = reduction_of(problem, plan, 1);
        QVERIFY(!ring.planned);
        QCOMPARE(ring.edges.size(), std::size_t{2});
        QCOMPARE(ring.edges[0].bytes, 12.0);             // half of it twice
        QCOMPARE(ring.edges[0].seconds, 2 * (1 + 1.5));  // two rounds of 1 s and 6 bytes
        QVERIFY(reduction_of(problem, plan, 0).edges.empty());
        problem.charge_all_reduce = false;
        problem.plan_reductions = true;
        const auto usual = reduction_of(problem, plan, 1);
        QCOMPARE(usual.edges.size(), std::size_t{2});  // half up and half down each way
        QCOMPARE(usual.edges[0].up_share, 0.5);
        QCOMPARE(usual.edges[0].down_share, 0.5);
        QCOMPARE(usual.edges[0].bytes, 12.0);
        QCOMPARE(usual.edges[0].seconds, 1 + 3.0);
        plan.reductions = {{}, {star_piece(2, 1, 1)}};
        problem.hops[2 * 3 + 1].bandwidth_bytes_per_s = 2;  // B to A
        const auto tree = reduction_of(problem, plan, 1);
        QCOMPARE(tree.edges.size(), std::size_t{2});
        QCOMPARE(tree.edges[0].up_share, 1.0);  // A to its root
        QCOMPARE(tree.edges[0].down_share, 0.0);
        QCOMPARE(tree.edges[1].down_share, 1.0);
        QCOMPARE(tree.slowest, std::size_t{1});
        problem.plan_reductions = false;
        QVERIFY(reduction_of(problem, plan, 1).edges.empty());
    }

    void what_transfers_carry_follows_from_their_times() {
        auto [problem, plan] = two_replicas();
        problem.charge_all_reduce = false;
        problem.plan_reductions = true;
        int told = check_cargo(problem, plan, "two replicas");
        QCOMPARE(told, 4);
        for (std::uint64_t seed = 1; seed <= 60; ++seed) {
            auto [other, other_plan] = seed % 3 == 0 ? examples::uneven_plan(seed) : examples::random_plan(seed);
            Rng rng(seed, 0x5ED);
            other.charge_all_reduce = false;
            other.plan_reductions = true;
            for (auto& bytes : other.gradient_bytes) bytes = 1e5 + 9e6 * rng.uniform();
            other_plan.reductions = examples::random_reductions(other_plan, rng);
            told += check_cargo(other, other_plan, "seed " + std::to_string(seed));
        }
        QVERIFY2(told > 1000, qPrintable(QString::number(told)));
    }

    void other_rules_are_evaluated() {
        auto [problem, plan] = two_replicas();
        const auto others = other_reductions(problem, plan, evaluate(problem, plan));
        QCOMPARE(others.size(), std::size_t{3});
        QVERIFY(others[0].rule == AllReduceRule::planned && others[0].pieces == PieceForm::tree);
        QVERIFY(others[1].rule == AllReduceRule::planned && others[1].pieces == PieceForm::exchange);
        QVERIFY(others[2].rule == AllReduceRule::free);
        QCOMPARE(others[0].iteration_s, 13.75);
        QCOMPARE(others[0].change, 0.0);
        QCOMPARE(others[1].iteration_s, 12.75);
        QCOMPARE(others[2].iteration_s, 12.75);
        QVERIFY(others[2].change < 0);
        // Of a plan with pieces of its own: the plain ones, the ring, and none.
        problem.charge_all_reduce = false;
        problem.plan_reductions = true;
        plan.reductions = {{}, {{1, PieceForm::exchange, 0, {}, {}}}};
        const auto plain = other_reductions(problem, plan, evaluate(problem, plan));
        QCOMPARE(plain.size(), std::size_t{4});
        QCOMPARE(plain[0].iteration_s, 13.75);
        QVERIFY(plain[0].change > 0);
        QCOMPARE(plain[1].change, 0.0);
        QVERIFY(plain[2].rule == AllReduceRule::charged && plain[2].iteration_s == 13.75);
        // Half of the bytes, and a quarter and a bit, by the plan's own pieces: B has A's part at 14.5 s, and A the sum
        // at 21.5 s; of half the bytes 4 s sooner, and then 3 s more.
        problem.gradient_bytes[1] = 24;
        plan.reductions = {{}, {star_piece(2, 1, 1)}};
        const auto rounded = other_reductions(problem, plan, evaluate(problem, plan), WireType::fp32);
        QCOMPARE(rounded.size(), std::size_t{6});
        QVERIFY(rounded[4].wire == WireType::bf16 && rounded[5].wire == WireType::int8 && !rounded[3].wire);
        QCOMPARE(rounded[4].iteration_s, 15.75);
        QVERIFY(rounded[5].iteration_s < rounded[4].iteration_s && rounded[4].change < 0);
        QCOMPARE(other_reductions(problem, plan, evaluate(problem, plan), WireType::int8)[4].wire, WireType::fp32);
        Problem without = problem;
        without.gradient_bytes = {0, 0};
        QVERIFY(other_reductions(without, plan, evaluate(without, plan)).empty());
    }
};

QTEST_GUILESS_MAIN(TestReductions)
#include "test_reductions.moc"
