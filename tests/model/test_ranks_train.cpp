// SPDX-License-Identifier: GPL-3.0-or-later
// Several ranks, each with its part of the nodes, against the whole model: every gradient, the weights, and that copies
// on different ranks stay the same to the bit.
#include <QtTest>

#include <map>
#include <memory>
#include <thread>

#include "core/model/torch_compat.h"
#include "tests/engine/thread_transport.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

class Losses final : public TrainingListener {
public:
    void validated(int, double, double, std::int64_t, const ValidationResult& result) override {
        validations.push_back(result.loss_nats);
    }
    void iterated(const IterationReport& report) override { results.push_back(report.result); }
    std::vector<double> validations;
    std::vector<IterationResult> results;
};

/// What a training over ranks left: of each rank the back end, and what rank 0 heard.
struct Trained {
    std::vector<std::unique_ptr<TorchCompute>> ranks;
    Losses heard;
};

struct Case {
    const char* name;
    bool split;
    int ranks;
    PerStage<std::vector<NodeIndex>> stages;
    std::vector<std::vector<NodeIndex>> paths;
};

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        {"replicas on two ranks", false, 2, {{0, 1}, {4, 3, 2}, {5}}, {{0, 2, 5}, {1, 3, 5}, {0, 4, 5}, {1, 2, 5}}},
        {"three ranks, swaps, split backward",
         true,
         3,
         {{0, 1}, {2}, {3, 4}, {5}},
         {{0, 3, 2}, {1, 2, 4}, {0, 5, 3}, {1, 5, 4}}},
        {"unequal visits, a stage and a node unvisited",
         false,
         3,
         {{0}, {1, 6}, {2, 3}, {4}, {5}},
         {{0, 1, 2}, {0, 2, 4}, {0, 1, 3}, {0, 1, 4}}},
    };
    return all;
}

Experiment experiment_of(const Case& c, int iterations) {
    std::size_t nodes = 0;
    for (const auto& stage : c.stages) nodes += stage.size();
    auto experiment = small_experiment(static_cast<int>(c.stages.size()), static_cast<int>(nodes));
    experiment.seed = 21;
    experiment.pipeline.microbatches = static_cast<int>(c.paths.size());
    experiment.pipeline.split_backward = c.split;
    experiment.topology.hop_matrix_s.assign(nodes, std::vector<double>(nodes, 0.01));
    for (std::size_t i = 0; i < nodes; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    experiment.training.iterations = iterations;
    experiment.execution = {.clock = Clock::wall,
                            .compute = Compute::torch,
                            .transport = c.ranks > 1 ? Transport::gloo : Transport::local,
                            .ranks = c.ranks};
    return experiment;
}

Plan plan_of(const Case& c) {
    auto plan = make_plan(c.stages, c.paths);
    plan.split_backward = c.split;
    return plan;
}

/// Changes a weight of a node of its rank before an iteration.
class Flipping final : public TrainingController {
public:
    Flipping(const std::unique_ptr<TorchCompute>& compute, int node, int iteration)
        : compute_(compute), node_(node), iterations_left_(iteration) {}
    TrainingCommand next() override {
        if (iterations_left_-- == 0) {
            auto state = compute_->state(node_);
            state.weights.back() += 1e-3f;
            compute_->set_state(node_, state);
        }
        return {};
    }

private:
    const std::unique_ptr<TorchCompute>& compute_;
    int node_, iterations_left_;
};

/// Ranks as threads of this process, nodes in turn. `flipped`: a node of rank 0 whose weights change before the third
/// iteration; then `fault` is what ends it.
Trained train_ranks(const Case& c, const Experiment& experiment, int flipped = -1, std::string* fault = nullptr) {
    const auto problem = make_problem(experiment);
    std::vector<int> rank_of;
    for (int node = 0; node < problem.nodes(); ++node) rank_of.push_back(node % c.ranks);
    const auto schedule = make_schedule(problem, plan_of(c), rank_of, c.ranks);
    Trained trained;
    trained.ranks.resize(static_cast<std::size_t>(c.ranks));
    Exchange exchange(c.ranks);
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < c.ranks; ++rank)
            threads.emplace_back([&, rank] {
                ThreadTransport transport(exchange, schedule, rank);
                std::optional<Batches> batches;
                if (TorchCompute::needs_data(experiment, schedule, rank)) batches = make_batches(experiment);
                auto& compute = trained.ranks[static_cast<std::size_t>(rank)];
                compute = std::make_unique<TorchCompute>(experiment, schedule, rank, std::move(batches), 1);
                Flipping flipping(trained.ranks.front(), flipped, flipped < 0 ? -1 : 2);
                try {
                    train(experiment, problem, schedule, *compute, transport, rank == 0 ? &trained.heard : nullptr,
                          rank == 0 ? &flipping : nullptr, [&](std::exception_ptr) { transport.abort(); });
                } catch (const std::exception& error) {
                    if (fault == nullptr) throw;
                    if (rank == 0) *fault = error.what();
                }
            });
    }
    return trained;
}

}  // namespace

class TestRanksTrain : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void equal_the_whole_model_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void equal_the_whole_model() {
        QFETCH(int, index);
        const auto& c = cases()[static_cast<std::size_t>(index)];
        const auto plan = plan_of(c);
        // The gradient of an iteration is there until the next one begins: so trainings of one, two and three.
        for (int iterations = 1; iterations <= 3; ++iterations) {
            const auto experiment = experiment_of(c, iterations);
            const auto trained = train_ranks(c, experiment);
            const auto batches = make_batches(experiment);
            WholeModel whole(experiment.model, experiment.training, plan.blocks, experiment.seed);
            QCOMPARE(trained.heard.results.size(), static_cast<std::size_t>(iterations));
            for (int i = 0; i < iterations; ++i) {
                whole.accumulate(batches, i, stage_paths(plan));
                const auto expected = whole.step(i);
                const auto& result = trained.heard.results[static_cast<std::size_t>(i)];
                QCOMPARE(result.stage_tokens, expected.stage_tokens);
                QCOMPARE(result.tokens, expected.tokens);
                QVERIFY(std::abs(result.loss_sum_nats / expected.loss_sum_nats - 1) < 1e-5);
                QVERIFY(std::abs(result.gradient_norm / expected.gradient_norm - 1) < 1e-5);
            }
            for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
                compare_stage(c, experiment, plan, static_cast<int>(stage), trained, whole);
        }
    }

    /// Copies on different ranks: rank 0 hears of every one.
    void a_copy_that_differs_ends_the_run() {
        const auto& c = cases()[0];
        const auto experiment = experiment_of(c, 5);
        std::string fault;
        const auto trained = train_ranks(c, experiment, 2, &fault);
        QCOMPARE(trained.heard.results.size(), std::size_t{2});
        for (const auto& words : {std::string("stage 1"), std::string("differ after iteration 3"),
                                  experiment.topology.nodes[2].id, experiment.topology.nodes[3].id})
            QVERIFY2(fault.find(words) != std::string::npos, fault.c_str());
    }

private:
    /// Of every rank that hosts the stage: gradient and weights are the whole model's, and all copies are equal.
    void compare_stage(const Case& c, const Experiment& experiment, const Plan& plan, int stage, const Trained& trained,
                       const WholeModel& whole) {
        const auto segments = stage_segments(experiment.model, stage, plan.blocks[static_cast<std::size_t>(stage)]);
        const auto& nodes = plan.stages[static_cast<std::size_t>(stage)];
        const auto on = [&](int node) -> const TorchCompute& {
            return *trained.ranks[static_cast<std::size_t>(node % c.ranks)];
        };
        const auto first = on(nodes.front()).weights(nodes.front());
        const auto first_gradient = on(nodes.front()).reduced_gradient(stage);
        const double of_weights = largest_difference(segments, first, whole.weights(stage));
        QVERIFY2(of_weights < 1e-5, qPrintable(QString("weights of stage %1: %2").arg(stage).arg(of_weights)));
        for (const int node : nodes) {
            QVERIFY2(on(node).weights(node) == first, qPrintable(QString("copy on node %1").arg(node)));
            QVERIFY(on(node).replicas_equal());
            const auto gradient = on(node).reduced_gradient(stage);
            QVERIFY2(gradient == first_gradient, qPrintable(QString("gradient on node %1").arg(node)));
            const double difference = largest_difference(segments, gradient, whole.gradient(stage));
            QVERIFY2(difference < 1e-5, qPrintable(QString("gradient of stage %1: %2").arg(stage).arg(difference)));
        }
    }
};

QTEST_APPLESS_MAIN(TestRanksTrain)
#include "test_ranks_train.moc"
