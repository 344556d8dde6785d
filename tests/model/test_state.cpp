// SPDX-License-Identifier: GPL-3.0-or-later
// What a back end is between two iterations, as values: another one that takes it over trains on to the same bits.
#include <QtTest>

#include "core/model/copy_hash.h"
#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

Experiment experiment_of(WireType wire) {
    auto experiment = small_experiment(3, 6);
    experiment.pipeline.microbatches = 4;
    experiment.costs.wire = wire;
    return experiment;
}

Plan plan_of(bool split) {
    auto plan = make_plan({{0, 1}, {2, 3}, {4, 5}}, {{0, 2, 4}, {1, 3, 5}, {0, 3}, {1, 2, 5}});
    plan.split_backward = split;
    return plan;
}

std::unique_ptr<TorchCompute> made(const Experiment& experiment, const Plan& plan, std::uint64_t seed) {
    return std::make_unique<TorchCompute>(experiment, plan, make_batches(experiment), seed, 1);
}

/// Iterations [first, last), with the operations of each in an order that its number fixes.
std::vector<IterationResult> trained(TorchCompute& compute, const Plan& plan, int first, int last) {
    std::vector<IterationResult> results;
    for (int i = first; i < last; ++i)
        results.push_back(
            run_iteration(compute, i, tasks_of(plan, plan.split_backward, Rng(static_cast<std::uint64_t>(i) + 1))));
    return results;
}

void take_over(const TorchCompute& from, TorchCompute& to, const Plan& plan) {
    // As a file keeps it: one state a stage, that of its first node.
    for (const auto& nodes : plan.stages)
        for (const int node : nodes) to.set_state(node, from.state(nodes.front()));
    to.set_residuals(from.residuals());
}

}  // namespace

class TestState : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    /// As devices make it; here on the CPU, over two pieces and a rest.
    void a_keyed_hash_sees_every_value_at_its_place() {
        constexpr std::int64_t piece = 1 << 22, size = 2 * piece + 5;
        const auto values = torch::randn({size});
        const auto of = [&](const std::function<void(torch::Tensor&)>& change) {
            auto changed = values.clone();
            change(changed);
            return keyed_hash(changed);
        };
        const auto same = keyed_hash(values);
        QCOMPARE(of([](torch::Tensor&) {}), same);
        for (const std::int64_t at : {std::int64_t{0}, piece - 1, piece, 2 * piece, size - 1}) {
            const auto flipped = of([at](torch::Tensor& x) { x.view(torch::kInt32)[at].bitwise_xor_(1); });
            QVERIFY2(flipped != same, qPrintable(QString::number(at)));
            const auto negated = of([at](torch::Tensor& x) { x[at].neg_(); });
            QVERIFY2(negated != same && negated != flipped, qPrintable(QString::number(at)));
        }
        for (const auto& [a, b] : {std::pair{std::int64_t{3}, std::int64_t{4}}, {3, piece + 3}, {piece, 2 * piece}})
            QVERIFY(of([a = a, b = b](torch::Tensor& x) {
                        const auto kept = x[a].clone();
                        x[a].copy_(x[b]);
                        x[b].copy_(kept);
                    }) != same);
        QVERIFY(keyed_hash(values.narrow(0, 0, size - 1)) != same);
        QCOMPARE(keyed_hash(torch::empty({0})), std::uint64_t{0});
    }

    void a_copy_trains_on_to_the_same_bits_data() {
        QTest::addColumn<int>("wire");
        QTest::addColumn<bool>("split");
        QTest::newRow("fp32") << static_cast<int>(WireType::fp32) << false;
        QTest::newRow("bf16") << static_cast<int>(WireType::bf16) << false;
        QTest::newRow("int8") << static_cast<int>(WireType::int8) << false;
        QTest::newRow("int8, split backward") << static_cast<int>(WireType::int8) << true;
    }
    void gradients_in_int8_train_on_to_the_same_bits() {
        auto experiment = experiment_of(WireType::fp32);
        experiment.costs.all_reduce = AllReduceRule::planned;
        experiment.training.gradient_wire = WireType::int8;
        const auto plan = plan_of(false);
        const auto undisturbed = made(experiment, plan, 5), copy = made(experiment, plan, 99);
        trained(*undisturbed, plan, 0, 4);
        take_over(*undisturbed, *copy, plan);
        QCOMPARE(undisturbed->residuals().gradients.size(), std::size_t(6));
        const auto expected = trained(*undisturbed, plan, 4, 8), results = trained(*copy, plan, 4, 8);
        for (std::size_t i = 0; i < expected.size(); ++i) QCOMPARE(results[i].gradient_norm, expected[i].gradient_norm);
        for (int node = 0; node < 6; ++node) QVERIFY(copy->state(node) == undisturbed->state(node));
        QVERIFY(copy->residuals() == undisturbed->residuals());
    }
    void a_copy_trains_on_to_the_same_bits() {
        QFETCH(int, wire);
        QFETCH(bool, split);
        const auto experiment = experiment_of(static_cast<WireType>(wire));
        const auto plan = plan_of(split);
        const auto undisturbed = made(experiment, plan, 5), copy = made(experiment, plan, 99);
        trained(*undisturbed, plan, 0, 4);
        take_over(*undisturbed, *copy, plan);
        QCOMPARE(undisturbed->residuals().empty(), static_cast<WireType>(wire) != WireType::int8);
        const auto expected = trained(*undisturbed, plan, 4, 8), results = trained(*copy, plan, 4, 8);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            QCOMPARE(results[i].loss_sum_nats, expected[i].loss_sum_nats);
            QCOMPARE(results[i].gradient_norm, expected[i].gradient_norm);
        }
        for (int node = 0; node < 6; ++node) QVERIFY(copy->state(node) == undisturbed->state(node));
        QVERIFY(copy->residuals() == undisturbed->residuals());
        QVERIFY(copy->replicas_equal());
    }

    /// A stage that is never visited makes no step, and its count says so.
    void steps_are_those_of_the_stage() {
        const auto experiment = experiment_of(WireType::fp32);
        const auto plan = make_plan({{0, 1}, {2, 3}, {4, 5}}, {{0, 2}, {1, 3}, {0, 3}, {1, 2}});
        const auto compute = made(experiment, plan, 5);
        trained(*compute, plan, 0, 3);
        QCOMPARE(compute->state(0).steps, std::int64_t{3});
        QCOMPARE(compute->state(3).steps, std::int64_t{3});
        QCOMPARE(compute->state(5).steps, std::int64_t{0});
        QVERIFY(!compute->state(0).weights.empty());
        QCOMPARE(compute->state(0).m.size(), compute->state(0).weights.size());
    }

    void what_does_not_fit_is_refused() {
        const auto experiment = experiment_of(WireType::int8);
        const auto plan = plan_of(false);
        const auto compute = made(experiment, plan, 5);
        auto state = compute->state(0);
        state.v.pop_back();
        QVERIFY_THROWS_EXCEPTION(std::logic_error, compute->set_state(0, state));
        QVERIFY_THROWS_EXCEPTION(std::logic_error, compute->set_residuals({{{0, 0, 2, false, {1.0F}}}, {}}));
    }

    void another_schedule_starts_without_residuals() {
        const auto experiment = experiment_of(WireType::int8);
        const auto plan = plan_of(false);
        const auto compute = made(experiment, plan, 5);
        trained(*compute, plan, 0, 1);
        QVERIFY(!compute->residuals().empty());
        compute->follow(compute->schedule());
        QVERIFY(compute->residuals().empty());
    }
};

QTEST_GUILESS_MAIN(TestState)
#include "test_state.moc"
