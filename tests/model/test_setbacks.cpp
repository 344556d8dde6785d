// SPDX-License-Identifier: GPL-3.0-or-later
// What all go back to, and what a stage that is lost whole starts from, with real tensors.
#include <QTest>

#include "core/base/index.h"
#include "core/engine/trainer.h"
#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 9, lost_in = 6, last_checkpoint = 4;

Experiment experiment_for() {
    auto experiment = small_experiment(4, 8);
    experiment.pipeline.microbatches = 4;
    experiment.topology.hop_matrix_s.assign(8, std::vector<double>(8, 0.01));
    for (std::size_t i = 0; i < 8; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    experiment.training.iterations = iterations;
    experiment.training.validate_every = 3;
    experiment.training.checkpoint_every = 4;
    return experiment;
}

Plan plan_of() {
    return make_plan({{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{0, 2, 4, 6}, {1, 3, 5, 7}, {0, 3, 4, 7}, {1, 2, 5, 6}});
}

class Heard final : public TrainingListener {
public:
    void validated(int done, double, double, std::int64_t tokens, const ValidationResult& result) override {
        validations.emplace_back(done, tokens, result.loss_nats);
    }
    void iterated(const IterationReport& report) override {
        losses.emplace_back(report.iteration, report.result.loss_sum_nats);
        ended_s = report.offset_s + report.timeline->iteration_s;
    }
    void went_back(const TrainingPosition& position, const Setback& setback) override {
        QCOMPARE(position.iterations_done, setback.position.iterations_done);
        setbacks.push_back(setback);
        std::erase_if(losses, [&](const auto& one) { return one.first >= position.iterations_done; });
        std::erase_if(validations, [&](const auto& one) { return std::get<0>(one) > position.iterations_done; });
    }
    std::vector<std::pair<int, double>> losses;
    std::vector<std::tuple<int, std::int64_t, double>> validations;
    std::vector<Setback> setbacks;
    double ended_s = 0;
};

struct Trained {
    explicit Trained(const Experiment& experiment)
        : compute(experiment, plan_of(), make_batches(experiment), experiment.seed, 2) {
        LocalTransport alone;
        const auto problem = make_problem(experiment);
        train(experiment, problem, one_rank_schedule(problem.nodes(), plan_of()), compute, alone, &heard, nullptr);
    }
    TorchCompute compute;
    Heard heard;
};

Experiment with_stage_lost(const char* stage, StageRebuild rebuild) {
    auto experiment = experiment_for();
    experiment.failures = {
        {.kind = FailureKind::stage_loss, .target = stage, .at_iteration = lost_in, .rejoin_after_s = 3}};
    experiment.recovery.policy = RecoveryPolicy::replay;
    experiment.recovery.rebuild = rebuild;
    return experiment;
}

}  // namespace

class TestSetbacks : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    /// What is done again has the same bits, validations included; only network time is lost.
    void going_back_repeats_to_the_bit_data() {
        QTest::addColumn<bool>("coordinator");
        QTest::newRow("restart") << false;
        QTest::newRow("loss of the coordinator") << true;
    }
    void going_back_repeats_to_the_bit() {
        QFETCH(bool, coordinator);
        auto experiment = with_stage_lost("2", StageRebuild::disk);
        experiment.recovery.policy = RecoveryPolicy::restart;
        if (coordinator) {
            experiment.failures = {{.kind = FailureKind::coordinator_loss, .at_iteration = lost_in}};
            experiment.recovery.policy = RecoveryPolicy::reroute;
        }
        const Trained disturbed(experiment), calm(experiment_for());
        const auto& heard = disturbed.heard;
        QCOMPARE(heard.setbacks.size(), std::size_t{1});
        QCOMPARE(heard.setbacks[0].position.iterations_done, last_checkpoint);
        QCOMPARE(heard.setbacks[0].lost_iterations, lost_in - last_checkpoint);
        QVERIFY(heard.setbacks[0].lost_s > experiment.recovery.restore_s);
        // The second node of the stage still fetches its weights from the first.
        const double more_s = heard.ended_s - calm.heard.ended_s - heard.setbacks[0].lost_s;
        QVERIFY(more_s > -1e-9 && more_s < (coordinator ? 1e-9 : 0.1));
        QCOMPARE(heard.losses, calm.heard.losses);
        QCOMPARE(heard.validations, calm.heard.validations);
        for (int node = 0; node < 8; ++node) QVERIFY(disturbed.compute.state(node) == calm.compute.state(node));
    }

    /// Each setback has lost what the one before has not.
    void who_goes_back_twice_loses_the_sum() {
        auto experiment = experiment_for();
        for (int k = 0; k < 2; ++k)
            experiment.failures.push_back({.kind = FailureKind::coordinator_loss, .at_iteration = lost_in});
        const Trained disturbed(experiment), calm(experiment_for());
        const auto& heard = disturbed.heard;
        QCOMPARE(heard.setbacks.size(), std::size_t{2});
        const double lost_s = heard.setbacks[0].lost_s + heard.setbacks[1].lost_s;
        QVERIFY(std::abs(heard.ended_s - calm.heard.ended_s - lost_s) < 1e-9);
    }

    /// After a crash those who are left go back too, and the losses stay the same up to the order of sums.
    void restart_without_a_node() {
        auto experiment = with_stage_lost("2", StageRebuild::disk);
        experiment.failures = {{.kind = FailureKind::crash, .target = "n5", .probability_per_iteration = 0.4}};
        experiment.recovery.policy = RecoveryPolicy::restart;
        const Trained disturbed(experiment), calm(experiment_for());
        QCOMPARE(disturbed.heard.setbacks.size(), std::size_t{1});  // it does not come back
        for (std::size_t i = 0; i < calm.heard.losses.size(); ++i)
            QVERIFY(std::abs(disturbed.heard.losses[i].second / calm.heard.losses[i].second - 1) < 1e-5);
    }

    /// The stage's optimizer has made as many steps as its weights.
    void a_lost_stage_starts_from_what_the_document_says() {
        const auto steps_of = [](const Trained& trained, int node) { return trained.compute.state(node).steps; };
        const Trained disk(with_stage_lost("2", StageRebuild::disk)), calm(experiment_for());
        for (int node = 0; node < 8; ++node) QVERIFY(disk.compute.state(node) == calm.compute.state(node));

        const Trained checkpoint(with_stage_lost("2", StageRebuild::checkpoint));
        QVERIFY(checkpoint.compute.replicas_equal());
        QCOMPARE(steps_of(checkpoint, 4), std::int64_t{last_checkpoint + iterations - lost_in});
        QCOMPARE(steps_of(checkpoint, 2), std::int64_t{iterations});

        const Trained neighbours(with_stage_lost("2", StageRebuild::neighbours));
        QVERIFY(neighbours.compute.replicas_equal());
        QCOMPARE(steps_of(neighbours, 5), std::int64_t{iterations - lost_in});
        QCOMPARE(neighbours.compute.state(5).learning_rate, 1.1);
        QCOMPARE(neighbours.compute.state(3).learning_rate, 1.0);

        // Nobody else has an embedding.
        const Trained first(with_stage_lost("0", StageRebuild::neighbours));
        QCOMPARE(steps_of(first, 0), std::int64_t{last_checkpoint + iterations - lost_in});
    }

    void a_stage_is_the_mean_of_its_neighbours_blocks() {
        auto experiment = experiment_for();
        experiment.model.blocks = 6;
        auto plan = plan_of();
        plan.blocks = {1, 2, 2, 1};
        experiment.pipeline.blocks_per_stage = {1, 2, 2, 1};
        TorchCompute compute(experiment, plan, make_batches(experiment), experiment.seed, 1);
        const auto segments = [&](int stage) {
            return stage_segments(experiment.model, stage, plan.blocks[skippipe::at(stage)]);
        };
        const auto values = [&](int node, const std::string& name) {
            const auto all = compute.state(node).weights;
            for (const auto& segment : segments(node / 2))
                if (segment.name == name)
                    return std::vector<float>(all.begin() + segment.offset,
                                              all.begin() + segment.offset + segment.size());
            return std::vector<float>{};
        };
        const auto before = compute.state(3);
        compute.rebuild(4, {{1, 0.25, compute.weights(2)}, {3, 0.75, compute.weights(7)}}, 1.5);
        QVERIFY(compute.state(3) == before);
        for (const auto& segment : segments(2)) {
            const auto dot = segment.name.find('.');
            const auto mine = values(4, segment.name), same = values(2, segment.name),
                       other = values(7, "block0" + segment.name.substr(dot));
            for (std::size_t i = 0; i < mine.size(); ++i)
                QVERIFY(std::abs(mine[i] - (0.25F * same[i] + 0.75F * other[i])) < 1e-7F);
        }
        QCOMPARE(compute.state(4).learning_rate, 1.5);
        // Stage 0's own tensors have no counterpart: what is rebuilt from it takes its blocks alone.
        compute.rebuild(2, {{0, 1.0, compute.weights(0)}}, 1.0);
        QVERIFY(values(2, "block1.qkv") == values(0, "block0.qkv"));
    }
};

QTEST_APPLESS_MAIN(TestSetbacks)
#include "test_setbacks.moc"
