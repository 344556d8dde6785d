// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients summed as a plan's pieces say: replicas stay equal to the bit, and losses are those of the charged ring.
#include <QtTest>

#include "core/model/piece_sum.h"
#include "core/model/torch_compat.h"
#include "core/planner/plan/problem.h"
#include "tests/model/training_fixture.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 5;

struct Trained {
    std::vector<double> losses;
    std::vector<std::vector<float>> weights;  ///< of each node
};

Experiment experiment_of(AllReduceRule rule) {
    auto experiment = small_experiment(2, 5);
    experiment.costs.all_reduce = rule;
    return experiment;
}

Plan plan_of(PerStage<Pieces> reductions) {
    Plan plan = make_plan({{0, 1}, {2, 3, 4}}, {{0, 2}, {1, 3}, {0, 4}, {1, 2}, {0, 3}});
    plan.reductions = std::move(reductions);
    return plan;
}

Trained train(AllReduceRule rule, const PerStage<Pieces>& reductions) {
    const auto experiment = experiment_of(rule);
    const Plan plan = plan_of(reductions);
    TorchCompute compute(experiment, plan, make_batches(experiment), 5, 2);
    Trained trained;
    for (int i = 0; i < iterations; ++i)
        trained.losses.push_back(run_iteration(compute, i, tasks_of(plan, false, Rng(7))).loss_sum_nats);
    for (int node = 0; node < 5; ++node) trained.weights.push_back(compute.weights(node));
    return trained;
}

/// A chain from the last to the first, an exchange, and a star.
PerStage<Pieces> mixed() {
    return {{{0.3, PieceForm::exchange, 0, {}, {}}, star_piece(2, 1, 0.7)},
            {{0.5, PieceForm::tree, 0, {0, 0, 1}, {0, 0, 1}},
             {0.2, PieceForm::exchange, 0, {}, {}},
             {0.3, PieceForm::tree, 1, {2, 1, 1}, {1, 1, 1}}}};
}

}  // namespace

class TestPlannedReductions : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void replicas_are_equal_and_losses_the_rings() {
        const auto charged = train(AllReduceRule::charged, {}), planned = train(AllReduceRule::planned, mixed());
        for (const auto& [a, b] : {std::pair{0, 1}, {2, 3}, {2, 4}})
            QVERIFY(planned.weights[skippipe::at(a)] == planned.weights[skippipe::at(b)]);
        for (int i = 0; i < iterations; ++i)
            QVERIFY2(
                std::abs(planned.losses[skippipe::at(i)] / charged.losses[skippipe::at(i)] - 1) < 1e-5,
                qPrintable(QString::number(planned.losses[skippipe::at(i)] / charged.losses[skippipe::at(i)] - 1)));
        QVERIFY(planned.losses.back() < planned.losses.front());
        // Another order of sums has other last bits: that of the tree was heeded.
        QVERIFY(planned.weights[2] != charged.weights[2]);
    }

    void stars_and_exchanges_have_the_rings_bits() {
        const PerStage<Pieces> stars{{{1, PieceForm::exchange, 0, {}, {}}}, {star_piece(3, 2, 1)}};
        QVERIFY(train(AllReduceRule::planned, stars).weights == train(AllReduceRule::charged, {}).weights);
    }

    /// (1e8 + 1) - 1e8 is 0 in fp32, 1e8 - 1e8 + 1 is 1: which replica is added to which shows.
    void order_of_sums() {
        const float big[] = {1e8f}, one[] = {1}, less[] = {-1e8f};
        const std::vector<const float*> parts{big, one, less};
        const auto sum = [&](const Piece& piece) {
            float value = -1;
            sum_piece(piece, parts, 1, &value);
            return value;
        };
        QCOMPARE(sum({1, PieceForm::exchange, 0, {}, {}}), 0.0f);
        QCOMPARE(sum(star_piece(3, 1, 1)), 0.0f);
        QCOMPARE(sum({1, PieceForm::tree, 1, {1, 1, 0}, {1, 1, 1}}), 1.0f);  // 1 has (0 and 2) and itself
        QCOMPARE(sum({1, PieceForm::tree, 0, {0, 2, 0}, {0, 0, 0}}), 0.0f);  // 2 has 1 and itself
        float value = -1;
        sum_piece(star_piece(3, 0, 1), {nullptr, one, nullptr}, 1, &value);
        QCOMPARE(value, 1.0f);
        sum_piece(star_piece(3, 0, 1), {nullptr, nullptr, nullptr}, 1, &value);
        QCOMPARE(value, 0.0f);
    }
};

QTEST_APPLESS_MAIN(TestPlannedReductions)
#include "test_planned_reductions.moc"
