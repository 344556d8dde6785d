// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/engine/ledger_compute.h"
#include "core/engine/moves.h"

using namespace skippipe;

namespace {

using Stages = PerStage<std::vector<NodeIndex>>;

/// Five nodes; a stage's weights are 2 bytes for the first and 4 for the second, lines of 2 bytes/s and 1 s of latency.
/// All that goes to node 4 is one line.
Problem network() {
    Problem problem;
    problem.stages = 2;
    problem.blocks = {1, 1};
    problem.gradient_bytes = {2, 4};
    problem.overhead_s = 0.25;
    std::vector<Hop> pairs;
    for (int from = 0; from < 5; ++from)
        for (int to = 0; to < 5; ++to)
            pairs.push_back({1, 2, 0, 0, from == to ? no_line : to == 4 ? 24 : 5 * from + to});
    problem.hops = pairs;
    for (int n = 0; n < 5; ++n) {
        problem.node_ids.push_back("n" + std::to_string(n));
        problem.seconds_per_sample_per_block.push_back(1);
        problem.memory.push_back(3);
    }
    for (int line = 0; line < 25; ++line) problem.line_names.push_back("line");
    return problem;
}

Problem without_line(NodeIndex from, NodeIndex to) {
    auto problem = network();
    problem.hops[at(from) * 5 + at(to)].line = no_line;
    return problem;
}

}  // namespace

class TestMoves : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Three times the weights: 6 bytes of stage 0 take 3 s, 12 of stage 1 take 6 s, latency and overhead 1.25 s.
    void who_gets_what_from_whom() {
        const Stages before{{0, 1}, {2, 3}};
        const auto one = moves_between(network(), before, {{0}, {2, 3, 1}});
        QVERIFY(one.possible);
        QCOMPARE(one.list, (std::vector<NodeMove>{{1, 1, 2}}));
        QCOMPARE(one.lasts_s, 7.25);
        QCOMPARE(one.bytes, 12.0);
        const auto exchanged = moves_between(network(), before, {{0, 3}, {2, 1}});
        QCOMPARE(exchanged.list, (std::vector<NodeMove>{{1, 1, 2}, {3, 0, 0}}));
        QCOMPARE(exchanged.lasts_s, 7.25);  // side by side
        const auto left_out = moves_between(network(), before, {{0}, {3, 2}});
        QCOMPARE(left_out.list, (std::vector<NodeMove>{{1, -1, -1}}));
        QCOMPARE(left_out.lasts_s, 0.0);
        QVERIFY(moves_between(network(), before, {{1, 0}, {3, 2}}).list.empty());
        QCOMPARE(moves_between(network(), before, {{0, 1, 4}, {2, 3}}).list, (std::vector<NodeMove>{{4, 0, 0}}));
    }

    /// Two transfers over one line: 6 s each, then 1.25 s.
    void they_queue() {
        auto problem = network();
        for (const int to : {0, 1}) problem.hops[at(2 * 5 + to)].line = 20;
        const auto moves = moves_between(problem, {{0, 1, 3}, {2}}, {{3}, {2, 0, 1}});
        QCOMPARE(moves.list, (std::vector<NodeMove>{{0, 1, 2}, {1, 1, 2}}));
        QCOMPARE(moves.lasts_s, 13.25);
        QCOMPARE(moves.bytes, 24.0);
    }

    void who_cannot_be_reached_asks_another() {
        const Stages before{{0, 1}, {2, 3}}, after{{0}, {2, 3, 1}};
        QCOMPARE(moves_between(without_line(2, 1), before, after).list, (std::vector<NodeMove>{{1, 1, 3}}));
        auto none = without_line(2, 1);
        none.hops[3 * 5 + 1].line = no_line;
        QVERIFY(!moves_between(none, before, after).possible);
        QVERIFY(!moves_between(network(), {{0, 1}, {}}, {{0}, {1}}).possible);
    }

    void faults_data() {
        QTest::addColumn<int>("which");
        QTest::addColumn<QString>("what");
        QTest::newRow("none") << 0 << "";
        QTest::newRow("twice") << 1 << "node 1 moves twice";
        QTest::newRow("missing") << 2 << "node 1 keeps stage 0";
        QTest::newRow("missing, of one that had none") << 10 << "node 4 has nothing of stage 1";
        QTest::newRow("from one that has it not") << 3 << "node 1 gets stage 1 from node 0, which has it not";
        QTest::newRow("from nobody") << 4 << "node 1 gets stage 1 from node -1, which has it not";
        QTest::newRow("to another stage") << 5 << "node 1 gets stage 0 for nothing";
        QTest::newRow("one that stays") << 6 << "node 2 stays in stage 1 and moves";
        QTest::newRow("one that is to be left out") << 7 << "node 3 keeps stage 1";
        QTest::newRow("no line") << 8 << "n2 is not linked to n1, only n1 to n2";
        QTest::newRow("a stage that there is not") << 9 << "node 1 moves to stage 2";
        QTest::newRow("one that there is not") << 11 << "node 5 moves, of 5";
    }

    void faults() {
        QFETCH(int, which);
        QFETCH(QString, what);
        const Stages before{{0, 1}, {2, 3}};
        Stages after{{0}, {2, 1}};
        auto moves = moves_between(network(), before, after).list;
        QCOMPARE(moves.size(), std::size_t{2});
        if (which == 10) after[1].push_back(4);
        if (which == 1) moves.push_back(moves.front());
        if (which == 2) moves.erase(moves.begin());
        if (which == 3) moves.front().from = 0;
        if (which == 4) moves.front().from = -1;
        if (which == 5) moves.front().stage = 0;
        if (which == 6) moves.push_back({2, 1, 3});
        if (which == 7) moves.pop_back();
        if (which == 11) moves.push_back({5, 1, 2});
        if (which == 9) moves.front().stage = 2;
        QCOMPARE(
            QString::fromStdString(fault_of_moves(which == 8 ? without_line(2, 1) : network(), before, after, moves)),
            what);
    }

    /// The books know whose weights are whose, and how new.
    void books() {
        Plan plan;
        plan.stages = {{0, 1}, {2, 3}};
        const auto problem = network();
        LedgerCompute ledger(problem, plan);
        const std::vector<StageSum> sums{{.tokens = 1}, {.tokens = 1}};
        ledger.step(0, sums);
        QCOMPARE(ledger.unequal_replica(), -1);
        plan.stages = {{0}, {2, 3, 1, 4}};
        ledger.move(one_rank_schedule(5, plan), {{1, 1, 2}, {4, 1, 3}});
        QCOMPARE(ledger.unequal_replica(), -1);
        ledger.step(1, sums);
        QCOMPARE(ledger.unequal_replica(), -1);
        plan.stages = {{0, 3}, {2, 1, 4}};
        ledger.follow(one_rank_schedule(5, plan));  // as if weights came by themselves
        QCOMPARE(ledger.unequal_replica(), 3);
        QVERIFY_THROWS_EXCEPTION(std::logic_error, ledger.move(one_rank_schedule(5, plan), {{0, 1, 0}}));
    }
};

QTEST_APPLESS_MAIN(TestMoves)
#include "test_moves.moc"
