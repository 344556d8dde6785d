// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include "core/base/fault.h"
#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

struct Case {
    const char* name;
    PerStage<std::vector<NodeIndex>> stages;
    std::vector<std::vector<NodeIndex>> paths;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"one stage", {{0, 1}}, {{0}, {1}, {0}, {1}}},
        {"full pipeline", {{0}, {1}, {2}}, {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}}},
        {"replicas", {{0, 1}, {4, 3, 2}, {5}}, {{0, 2, 5}, {1, 3, 5}, {0, 4, 5}, {1, 2, 5}}},
        {"skip", {{0}, {1}, {2}, {3}}, {{0, 1, 2}, {0, 2, 3}, {0, 1, 3}}},
        {"swaps", {{0, 1}, {2}, {3, 4}, {5}}, {{0, 3, 2}, {1, 2, 4}, {0, 5, 3}, {1, 5, 4, 2}}},
        {"unequal visits",
         {{0}, {1, 6}, {2, 3}, {4}, {5}},
         {{0, 1}, {0, 2, 4}, {0, 1, 3}, {0, 1, 4}}},  // stage 4 and node 6 unvisited
    };
    return all;
}

int nodes_in(const Case& c) {
    int nodes = 0;
    for (const auto& stage : c.stages) nodes += static_cast<int>(stage.size());
    return nodes;
}

/// Of gradients in fp32, summed in the order of the processor's matrix kernels: 1.07e-5 with AVX2's after ten
/// iterations.
constexpr double rounding = 2e-5;

struct Difference {
    double largest = 0;  ///< relative, of any gradient or loss
    QString wrong;       ///< what must be equal and is not; empty: nothing
};

/// Trains both for `iterations`; `dropped`: a microbatch that the pipeline leaves out, -1 for none.
Difference compare(const Case& c, bool split, int dropped, int iterations) {
    const auto experiment = small_experiment(static_cast<int>(c.stages.size()), nodes_in(c));
    const auto plan = make_plan(c.stages, c.paths);
    const auto batches = make_batches(experiment);
    TorchCompute compute(experiment, plan, batches, 21, 2);
    WholeModel whole(experiment.model, experiment.training, plan.blocks, 21);
    Difference found;
    const auto require = [&](bool equal, const char* what, int iteration) {
        if (!equal && found.wrong.isEmpty()) found.wrong = QString("%1 in iteration %2").arg(what).arg(iteration);
    };
    for (int iteration = 0; iteration < iterations; ++iteration) {
        const auto result = run_iteration(
            compute, iteration, tasks_of(plan, split, Rng(5, static_cast<std::uint64_t>(iteration)), dropped));
        whole.accumulate(batches, iteration, stage_paths(plan));
        const auto expected = whole.step(iteration);
        require(compute.replicas_equal(), "replicas differ", iteration);
        if (dropped < 0) {
            require(result.stage_tokens == expected.stage_tokens, "other tokens of a stage", iteration);
            require(result.tokens == expected.tokens, "another number of tokens", iteration);
            require(std::abs(result.gradient_norm / expected.gradient_norm - 1) <= 1e-5, "another gradient norm",
                    iteration);
            require(std::abs(result.loss_sum_nats / expected.loss_sum_nats - 1) <= 1e-5, "another loss", iteration);
        }
        found.largest = std::max(found.largest, std::abs(result.loss_sum_nats / expected.loss_sum_nats - 1));
        for (std::size_t stage = 0; stage < plan.stages.size(); ++stage) {
            const auto segments = stage_segments(experiment.model, static_cast<int>(stage), plan.blocks[stage]);
            const int number = static_cast<int>(stage);
            found.largest = std::max(
                found.largest, largest_difference(segments, compute.reduced_gradient(number), whole.gradient(number)));
        }
    }
    return found;
}

void add_cases() {
    QTest::addColumn<int>("index");
    for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
}

}  // namespace

class TestReference : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void equals_whole_model_data() { add_cases(); }
    void equals_whole_model() {
        QFETCH(int, index);
        const auto found = compare(cases()[static_cast<std::size_t>(index)], false, -1, 10);
        QVERIFY2(found.wrong.isEmpty(), qPrintable(found.wrong));
        QVERIFY2(found.largest <= rounding, qPrintable(QString("difference %1").arg(found.largest)));
    }

    void split_backward_equals_whole_model_data() { add_cases(); }
    void split_backward_equals_whole_model() {
        QFETCH(int, index);
        const auto found = compare(cases()[static_cast<std::size_t>(index)], true, -1, 3);
        QVERIFY2(found.wrong.isEmpty(), qPrintable(found.wrong));
        QVERIFY2(found.largest <= rounding, qPrintable(QString("difference %1").arg(found.largest)));
    }

    void dropping_one_microbatch_shows_data() { add_cases(); }
    void dropping_one_microbatch_shows() {
        QFETCH(int, index);
        const auto& c = cases()[static_cast<std::size_t>(index)];
        for (int m = 0; m < static_cast<int>(c.paths.size()); ++m) {
            const auto found = compare(c, false, m, 1);
            QVERIFY2(found.wrong.isEmpty(), qPrintable(found.wrong));
            QVERIFY2(found.largest > 1e-2, qPrintable(QString("difference %1").arg(found.largest)));
        }
    }

    void same_bits_with_any_threads() {
        const auto& c = cases()[4];
        const auto experiment = small_experiment(4, 6);
        const auto plan = make_plan(c.stages, c.paths);
        std::vector<std::vector<double>> losses;
        std::vector<std::vector<float>> weights;
        for (const int threads : {1, 2, 4, 2}) {
            TorchCompute compute(experiment, plan, make_batches(experiment), 9, threads);
            QCOMPARE(compute.threads(), threads);
            auto& run = losses.emplace_back();
            for (int iteration = 0; iteration < 6; ++iteration) {
                const auto result =
                    run_iteration(compute, iteration,
                                  tasks_of(plan, iteration % 2 == 1, Rng(1, static_cast<std::uint64_t>(iteration))));
                run.insert(run.end(), {result.loss_sum_nats, result.gradient_norm, validate(compute).loss_nats});
            }
            weights.push_back(compute.weights(3));
        }
        for (std::size_t i = 1; i < losses.size(); ++i) {
            QVERIFY(losses[i] == losses[0]);
            QVERIFY(weights[i] == weights[0]);
        }
    }

    void unvisited_stage_does_not_step() {
        const auto& c = cases()[5];
        const auto experiment = small_experiment(5, 7);
        const auto plan = make_plan(c.stages, c.paths);
        TorchCompute compute(experiment, plan, make_batches(experiment), 9, 2);
        const auto unvisited = compute.weights(5), replica = compute.weights(6);
        const auto result = run_iteration(compute, 0, tasks_of(plan, false, Rng(1)));
        QCOMPARE(result.stage_tokens, (std::vector<std::int64_t>{4 * 32, 3 * 32, 2 * 32, 2 * 32, 0}));
        QVERIFY(compute.weights(5) == unvisited);
        QVERIFY(compute.weights(6) != replica);
        QVERIFY(compute.weights(6) == compute.weights(1));
    }

    void validation_is_the_whole_model() {
        const auto experiment = small_experiment(3, 3);
        const auto plan = make_plan({{0}, {1}, {2}}, {{0, 1, 2}});
        const auto batches = make_batches(experiment);
        TorchCompute compute(experiment, plan, batches, 4, 2);
        // Of fresh weights every byte is about equally likely: 8 bits.
        const auto first = validate(compute);
        QVERIFY(std::abs(first.bits_per_byte - 8) < 0.2);
        QVERIFY(std::abs(first.loss_nats - first.bits_per_byte * std::log(2.0)) < 1e-12);
        std::vector<Stage> stages;
        for (int s = 0; s < 3; ++s) {
            stages.emplace_back(experiment.model, s, 1, torch::kCPU);
            stages.back().initialise(4);
        }
        torch::NoGradGuard no_gradient;
        double sum = 0;
        for (int i = 0; i < 5; ++i) {
            const auto one = batches.validation(i, 1);
            std::vector<std::int64_t> ids(one.tokens.begin(), one.tokens.end());
            const auto all = torch::tensor(ids);
            auto x = stages[0].embed(all.narrow(0, 0, 16));
            for (const auto& stage : stages) x = stage.forward(x);
            sum += stages[0].loss_sum(x, all.narrow(0, 1, 16)).item<float>();
        }
        QVERIFY(std::abs(sum / 80 / first.loss_nats - 1) < 1e-6);
        for (int iteration = 0; iteration < 60; ++iteration)
            run_iteration(compute, iteration, tasks_of(plan, false, Rng(1)));
        QVERIFY(validate(compute).loss_nats < 0.75 * first.loss_nats);
    }

    void clip_rules() {
        const auto plan = make_plan({{0}, {1}}, {{0, 1}, {0, 1}});
        for (const auto rule : {ClipRule::global, ClipRule::per_stage, ClipRule::none}) {
            auto experiment = small_experiment(2, 2);
            experiment.training.clip = rule;
            experiment.training.clip_norm = 0.01;
            const auto batches = make_batches(experiment);
            TorchCompute compute(experiment, plan, batches, 2, 1);
            WholeModel whole(experiment.model, experiment.training, plan.blocks, 2);
            for (int iteration = 0; iteration < 3; ++iteration) {
                run_iteration(compute, iteration, tasks_of(plan, false, Rng(1)));
                whole.accumulate(batches, iteration, stage_paths(plan));
                whole.step(iteration);
            }
            for (int stage = 0; stage < 2; ++stage)
                QVERIFY(largest_difference(stage_segments(experiment.model, stage, 1), compute.weights(stage),
                                           whole.weights(stage)) < 1e-5);
        }
    }

    void bf16_wire_rounds_messages() {
        const auto plan = make_plan({{0}, {1}}, {{0, 1}});
        auto experiment = small_experiment(2, 2);
        const auto loss = [&] {
            TorchCompute compute(experiment, plan, make_batches(experiment), 2, 1);
            return run_iteration(compute, 0, tasks_of(plan, false, Rng(1))).loss_sum_nats;
        };
        const double exact = loss();
        experiment.costs.wire = WireType::bf16;
        const double rounded = loss();
        QVERIFY(rounded != exact && std::abs(rounded / exact - 1) < 1e-3);
    }

    /// A byte a value loses little: the same text is learnt as well, and no number of workers changes a bit.
    void int8_wire_learns_as_well() {
        const auto plan = make_plan({{0}, {1}, {2}}, {{0, 1, 2}, {0, 1, 2}});
        auto experiment = small_experiment(3, 3);
        const auto train = [&](WireType wire, int threads) {
            experiment.costs.wire = wire;
            TorchCompute compute(experiment, plan, make_batches(experiment), 2, threads);
            for (int iteration = 0; iteration < 60; ++iteration)
                run_iteration(compute, iteration, tasks_of(plan, false, Rng(1, static_cast<std::uint64_t>(iteration))));
            return validate(compute).loss_nats;
        };
        const double exact = train(WireType::fp32, 2), rounded = train(WireType::int8, 2);
        qInfo("validation loss after 60 iterations: %.4f with fp32, %.4f with int8", exact, rounded);
        QVERIFY(rounded != exact && rounded < 1.02 * exact);
        QCOMPARE(train(WireType::int8, 1), rounded);
    }

    /// Nothing is rounded on a way that ends where it begins.
    void no_wire_within_a_node() {
        const auto plan = make_plan({{0}}, {{0}});
        auto experiment = small_experiment(1, 1);
        const auto loss = [&](WireType wire) {
            experiment.costs.wire = wire;
            TorchCompute compute(experiment, plan, make_batches(experiment), 2, 1);
            return run_iteration(compute, 0, tasks_of(plan, false, Rng(1))).loss_sum_nats;
        };
        QCOMPARE(loss(WireType::int8), loss(WireType::fp32));
    }

    void refusals() {
        auto experiment = small_experiment(2, 2);
        const auto plan = make_plan({{0}, {1}}, {{0, 1}});
        const auto batches = make_batches(experiment);
        const auto make = [&] { TorchCompute(experiment, plan, batches, 1, 1); };
        make();
        experiment.topology.nodes[1].device = "abacus";
        QVERIFY_THROWS_EXCEPTION(InputError, make());
        experiment.topology.nodes[1].device = "cuda:99";
        QVERIFY_THROWS_EXCEPTION(InputError, make());
        experiment.topology.nodes[1].device = "cpu";
        experiment.model.vocabulary = 100;
        QVERIFY_THROWS_EXCEPTION(InputError, make());
        experiment.model.vocabulary = 256;
        experiment.model.blocks = 3;
        QVERIFY_THROWS_EXCEPTION(InputError, make());
    }

    void operations_out_of_order_are_refused() {
        const auto experiment = small_experiment(2, 2);
        const auto plan = make_plan({{0}, {1}}, {{0, 1}});
        TorchCompute compute(experiment, plan, make_batches(experiment), 1, 1);
        compute.begin_iteration(0);
        const auto refused = [&](OpKind kind, int node, int stage, int hop) {
            QVERIFY_THROWS_EXCEPTION(std::logic_error, compute.submit({{kind, 0}, node, stage, hop}));
        };
        refused(OpKind::L, 0, 0, 0);
        refused(OpKind::F, 1, 1, 1);
        refused(OpKind::F, 0, 1, 0);
        compute.submit({{OpKind::F, 0}, 0, 0, 0});
        refused(OpKind::F, 0, 0, 1);
        refused(OpKind::B, 0, 0, 0);
        compute.submit({{OpKind::F, 0}, 1, 1, 1});
        compute.submit({{OpKind::L, 0}, 0, 0, 0});
        refused(OpKind::L, 0, 0, 0);
        refused(OpKind::B, 0, 0, 0);
        refused(OpKind::W, 1, 1, 1);
        compute.submit({{OpKind::B, 0}, 1, 1, 1});
        compute.submit({{OpKind::B, 0}, 0, 0, 0});
        refused(OpKind::B, 0, 0, 0);
        compute.wait();
        QVERIFY(finish(compute, 0).gradient_norm > 0);
    }

    void divergence_is_told() {
        auto experiment = small_experiment(2, 2);
        experiment.training.learning_rate = 1e30;
        const auto plan = make_plan({{0}, {1}}, {{0, 1}});
        TorchCompute compute(experiment, plan, make_batches(experiment), 1, 1);
        const auto train = [&] {
            for (int iteration = 0; iteration < 5; ++iteration)
                run_iteration(compute, iteration, tasks_of(plan, false, Rng(1)));
        };
        QVERIFY_THROWS_EXCEPTION(std::runtime_error, train());
    }
};

QTEST_APPLESS_MAIN(TestReference)
#include "test_reference.moc"
