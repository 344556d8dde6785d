// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that go to other stages by the wall clock, after a rank is lost: whoever dies on the way, all that is left is
// in one place with the same weights, and the training is the one that nothing has disturbed. Ranks as threads.
#include <QTest>

#include <cmath>

#include "core/base/index.h"
#include "core/model/torch_compat.h"
#include "tests/engine/moving_ranks.h"
#include "tests/model/training_fixture.h"
#include "tests/nccl/lanes_in_process.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

Experiment experiment_for(WireType gradients, int iterations = 30) {
    auto experiment = moving_experiment(iterations);
    experiment.training.gradient_wire = gradients;
    if (gradients != WireType::fp32) experiment.costs.all_reduce = AllReduceRule::planned;
    return experiment;
}

std::unique_ptr<RankTransport> fake_lane(RankTransport& control, const RankSchedule& schedule, int rank) {
    return std::make_unique<NcclTransport>(control, fake_table(), queue_of(rank), schedule);
}

struct Trained : MovedRanks<TorchCompute> {
    Trained(const Experiment& experiment, const std::map<int, Dies>& deaths, bool returns = false,
            bool by_lanes = false)
        : MovedRanks(
              experiment,
              [&](const Problem&, const RankSchedule& schedule, int rank) {
                  return std::make_unique<TorchCompute>(experiment, schedule, rank, make_batches(experiment), 1);
              },
              deaths, returns, by_lanes ? Beside(fake_lane) : Beside()) {}

    /// "" where every copy of each stage, on whatever rank, is the same to the bit.
    std::string differing() const {
        std::map<int, StageState> of_stage;
        std::map<int, int> copies;
        for (const auto& [rank, compute] : lives) {
            const auto& plan = compute->schedule().plan;
            if (plan.stages != lives.begin()->second->schedule().plan.stages) return "ranks follow other plans";
            for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
                for (const NodeIndex node : plan.stages[stage]) {
                    if (rank_of_node[skippipe::at(node)] != rank) continue;
                    const auto state = compute->state(node);
                    ++copies[static_cast<int>(stage)];
                    if (of_stage.emplace(static_cast<int>(stage), state).first->second != state)
                        return "stage " + std::to_string(stage) + " differs on node " + std::to_string(node);
                }
        }
        return copies.size() == 3 ? "" : "a stage is missing";
    }
};

/// How far losses are from each other at most, as shares; infinite where one training has more.
double furthest(const HeardOfMoves& got, const HeardOfMoves& expected) {
    if (got.losses.size() != expected.losses.size()) return INFINITY;
    double most = 0;
    for (std::size_t i = 0; i < got.losses.size(); ++i)
        most = std::max(most, std::abs(got.losses[i] / expected.losses[i] - 1));
    return most;
}

}  // namespace

class TestRanksMove : public QObject {
    Q_OBJECT

    std::map<std::pair<WireType, Transport>, std::unique_ptr<const Trained>> undisturbed_;

    const Trained& undisturbed(const Experiment& experiment) {
        auto& calm = undisturbed_[{experiment.training.gradient_wire, experiment.execution.transport}];
        if (!calm) calm = std::make_unique<const Trained>(experiment, std::map<int, Dies>{});
        return *calm;
    }

private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void the_training_is_the_same_one_data() {
        QTest::addColumn<int>("dies");
        QTest::addColumn<int>("wire");
        QTest::addColumn<bool>("by_lanes");
        const auto row = [](const char* name, Dies dies, WireType wire = WireType::fp32) {
            for (const bool by_lanes : {false, true})
                QTest::newRow((name + std::string(by_lanes ? ", over NCCL" : "")).c_str())
                    << static_cast<int>(dies) << static_cast<int>(wire) << by_lanes;
        };
        row("nobody dies on the way", Dies::never);
        row("one dies before all know", Dies::as_it_hears);
        row("who moves dies with its weights half there, when another has all it needs", Dies::as_it_fetches);
        row("who gives dies with the weights half there", Dies::as_it_gives);
        row("one dies once all know", Dies::once_all_know);
        row("one dies as all go", Dies::as_all_go);
        row("gradients as int8", Dies::never, WireType::int8);
    }
    void the_training_is_the_same_one() {
        QFETCH(int, dies);
        QFETCH(int, wire);
        QFETCH(bool, by_lanes);
        const bool exact = static_cast<WireType>(wire) == WireType::fp32;
        auto experiment = experiment_for(static_cast<WireType>(wire));
        experiment.execution.transport = by_lanes ? Transport::nccl : Transport::gloo;
        const bool on_the_way = static_cast<Dies>(dies) != Dies::never;
        const bool has_part =
            static_cast<Dies>(dies) == Dies::as_it_gives || static_cast<Dies>(dies) == Dies::as_it_fetches;
        const int who = has_part ? 1 : 2;
        const auto& calm = undisturbed(experiment);
        QVERIFY2(calm.fault.empty(), calm.fault.c_str());
        QCOMPARE(calm.differing(), std::string());
        for (int times = on_the_way ? 2 : 1; times > 0; --times) {  // who has heard what is up to the threads
            const Trained moved(experiment, {{3, Dies::in_iteration}, {who, static_cast<Dies>(dies)}}, false, by_lanes);
            QVERIFY2(moved.fault.empty(), moved.fault.c_str());
            QCOMPARE(moved.died, on_the_way ? 2 : 1);
            const double off = furthest(moved.heard, calm.heard);
            QVERIFY2(off < (exact ? 1e-5 : 0.01), std::to_string(off).c_str());
            QCOMPARE(moved.differing(), std::string());
            QVERIFY(moved.heard.down > 0);
            if (on_the_way) continue;
            QVERIFY(somebody_moved(moved.lives.at(0)->schedule().plan));
            QVERIFY2(moved.heard.reasons.front().find("to another stage, which took") != std::string::npos,
                     moved.heard.reasons.front().c_str());
        }
    }

    /// Who comes back to a network that has been placed anew has no stage, until it is planned for as well.
    void who_comes_back_gets_a_stage() {
        const auto longer = experiment_for(WireType::fp32, 90);
        const Trained calm(longer, {});
        const Trained moved(longer, {{3, Dies::in_iteration}}, true);
        QVERIFY2(moved.fault.empty(), moved.fault.c_str());
        QCOMPARE(moved.lives.size(), std::size_t{moving_ranks});
        QVERIFY(moved.heard.plans.size() >= 2);
        QCOMPARE(stage_in(moved.heard.plans.front(), 4), -1);
        QVERIFY(stage_in(moved.lives.at(0)->schedule().plan, 4) >= 0);
        QVERIFY(furthest(moved.heard, calm.heard) < 1e-5);
        QCOMPARE(moved.differing(), std::string());
    }
};

QTEST_APPLESS_MAIN(TestRanksMove)
#include "test_ranks_move.moc"
