// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <stdexcept>
#include <utility>

#include "core/planner/plan/hops.h"

using namespace skippipe;

/// Ways that are kept by groups of nodes are those of all pairs.
class TestHops : public QObject {
    Q_OBJECT

    /// Nodes 0, 2 and 3 are one group, 1 and 4 another; node 5 is alone.
    static Hops grouped() {
        std::vector<Hop> ways;
        for (int way = 0; way < 9; ++way) ways.push_back({1.0 + way, 2.0, 3.0, 4.0, way});
        ways[0].line = 10;  // to 15
        ways[4].line = 20;  // and 21
        ways[8].line = no_line;
        return {{0, 1, 0, 0, 1, 2}, ways};
    }

private Q_SLOTS:
    void pairs_of_a_group_have_a_line_each() {
        const auto hops = grouped();
        const auto line = [&](int from, int to) { return hops.of(NodeIndex(from), NodeIndex(to)).line; };
        QCOMPARE(line(0, 2), 10);
        QCOMPARE(line(0, 3), 11);
        QCOMPARE(line(2, 0), 12);
        QCOMPARE(line(2, 3), 13);
        QCOMPARE(line(3, 0), 14);
        QCOMPARE(line(3, 2), 15);
        QCOMPARE(line(1, 4), 20);
        QCOMPARE(line(4, 1), 21);
        for (const int from : {0, 2, 3})
            for (const int to : {1, 4}) QCOMPARE(line(from, to), 1);
        for (const int node : {0, 1, 2, 3, 4, 5}) QCOMPARE(line(node, node), no_line);
        QCOMPARE(hops.of(NodeIndex(5), NodeIndex(3)).latency_s, 7.0);
        QCOMPARE(hops.size(), std::size_t{36});
        QCOMPARE(hops.groups(), 3);
    }

    void who_changes_one_way_changes_no_other() {
        const auto before = grouped();
        auto after = before;
        after[2 * 6 + 3].latency_s = 99;
        QCOMPARE(after.groups(), 6);
        for (std::size_t pair = 0; pair < before.size(); ++pair) {
            auto expected = before[pair];
            if (pair == 2 * 6 + 3) expected.latency_s = 99;
            QVERIFY(std::as_const(after)[pair] == expected);
        }
    }

    void a_line_is_changed_wherever_it_is_used() {
        const auto before = grouped();
        for (const int line : {1, 13, 21, 7}) {
            auto after = grouped();
            after.change_line(line, [](Hop& hop) { hop.slow(2); });
            for (std::size_t pair = 0; pair < after.size(); ++pair) {
                auto expected = before[pair];
                if (expected.line == line) expected.slow(2);
                QVERIFY(std::as_const(after)[pair] == expected);
            }
            QCOMPARE(after.groups(), line == 13 || line == 21 ? 6 : 3);
        }
        auto none = grouped();
        none.change_line(no_line, [](Hop& hop) { hop.latency_s = 99; });
        for (std::size_t pair = 0; pair < none.size(); ++pair) QVERIFY(std::as_const(none)[pair] == before[pair]);
    }

    void sizes_that_do_not_fit_are_refused() {
        QVERIFY_THROWS_EXCEPTION(std::logic_error, Hops({0, 1}, std::vector<Hop>(3)));
    }
};

QTEST_APPLESS_MAIN(TestHops)
#include "test_hops.moc"
