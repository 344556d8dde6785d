// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <numeric>
#include <set>

#include "core/engine/probe.h"

using namespace skippipe;

class TestProbeRounds : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_pair_once_and_no_host_twice_a_round_data() {
        QTest::addColumn<QVector<int>>("host_of");
        QTest::addColumn<int>("most_rounds");
        const auto apart = [](int ranks) {
            QVector<int> hosts(ranks);
            std::iota(hosts.begin(), hosts.end(), 0);
            return hosts;
        };
        QTest::newRow("one rank") << QVector<int>{0} << 0;
        QTest::newRow("two") << apart(2) << 1;
        QTest::newRow("five") << apart(5) << 5;
        QTest::newRow("a hundred") << apart(100) << 99;
        QTest::newRow("one host") << QVector<int>{0, 0, 0, 0} << 6;  // one after the other
        QTest::newRow("two hosts") << QVector<int>{0, 0, 1, 1} << 5;
        QTest::newRow("uneven") << QVector<int>{0, 1, 1, 2, 2, 2, 3} << 21;
    }
    void every_pair_once_and_no_host_twice_a_round() {
        QFETCH(QVector<int>, host_of);
        QFETCH(int, most_rounds);
        const auto rounds = probe_rounds({host_of.begin(), host_of.end()});
        std::set<std::pair<int, int>> pairs;
        for (const auto& round : rounds) {
            std::set<int> hosts;
            for (const auto& [a, b] : round) {
                QVERIFY(a < b && b < host_of.size());
                QVERIFY(pairs.emplace(a, b).second);
                QVERIFY(hosts.insert(host_of[a]).second);
                QVERIFY(host_of[a] == host_of[b] || hosts.insert(host_of[b]).second);
            }
        }
        QCOMPARE(static_cast<int>(pairs.size()), static_cast<int>(host_of.size() * (host_of.size() - 1) / 2));
        QVERIFY2(static_cast<int>(rounds.size()) <= most_rounds, qPrintable(QString::number(rounds.size())));
    }
};

QTEST_APPLESS_MAIN(TestProbeRounds)
#include "test_probe_rounds.moc"
