// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that go to other stages by the wall clock, with nothing computed: what the ranks agree on, whoever dies on the
// way. tests/model/test_ranks_move.cpp has the weights.
#include <QTest>

#include "core/engine/cost_compute.h"
#include "tests/engine/moving_ranks.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

struct Trained : MovedRanks<CostCompute> {
    explicit Trained(const std::map<int, Dies>& deaths, bool returns = false)
        : MovedRanks(
              experiment(returns ? 90 : 30),
              [](const Problem& drawn, const RankSchedule& schedule, int) {
                  return std::make_unique<CostCompute>(drawn, schedule, static_cast<int>(rank_of_node.size()));
              },
              deaths, returns) {}
    static Experiment experiment(int iterations) {
        auto drawn = moving_experiment(iterations);
        drawn.execution.compute = Compute::cost;
        set_speed(drawn.topology, 1e-3);
        return drawn;
    }
};

}  // namespace

class TestRankMoves : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void they_agree_data() {
        QTest::addColumn<int>("dies");
        QTest::newRow("nobody dies on the way") << static_cast<int>(Dies::never);
        QTest::newRow("one dies before all know") << static_cast<int>(Dies::as_it_hears);
        QTest::newRow("one dies once all know") << static_cast<int>(Dies::once_all_know);
        QTest::newRow("one dies as all go") << static_cast<int>(Dies::as_all_go);
    }
    void they_agree() {
        QFETCH(int, dies);
        const auto where = static_cast<Dies>(dies);
        const Trained moved({{3, Dies::in_iteration}, {2, where}});
        QVERIFY2(moved.fault.empty(), moved.fault.c_str());
        QCOMPARE(moved.died, where == Dies::never ? 1 : 2);
        QCOMPARE(moved.lives.size(), std::size_t{where == Dies::never ? 3u : 2u});
        if (where == Dies::never) QVERIFY(somebody_moved(moved.heard.plans.front()));
    }

    void who_comes_back_gets_a_stage() {
        const Trained moved({{3, Dies::in_iteration}}, true);
        QVERIFY2(moved.fault.empty(), moved.fault.c_str());
        QCOMPARE(moved.lives.size(), std::size_t{moving_ranks});
        QVERIFY(moved.heard.plans.size() >= 2);
        QCOMPARE(stage_in(moved.heard.plans.front(), 4), -1);
        QVERIFY(stage_in(moved.heard.plans.back(), 4) >= 0);
    }
};

QTEST_APPLESS_MAIN(TestRankMoves)
#include "test_rank_moves.moc"
