// SPDX-License-Identifier: GPL-3.0-or-later
// A rank dies with all that a stage was: the others pass over the stage, or make it anew of those beside it, as under
// the virtual clock.
#include <QtTest>

#include "core/base/index.h"
#include "core/model/torch_compat.h"
#include "tests/model/mortal_ranks.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int ranks = 4, iterations = 4;

/// Stage s on node s, on rank s.
Experiment experiment_for(RecoveryPolicy policy) {
    auto experiment = small_experiment(ranks, ranks);
    experiment.seed = 5;
    experiment.pipeline.microbatches = 6;
    experiment.pipeline.skip_ratio = 0.25;
    experiment.topology.hop_matrix_s.assign(ranks, std::vector<double>(ranks, 0.001));
    for (std::size_t i = 0; i < ranks; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    experiment.training.iterations = iterations;
    experiment.training.validate_every = 0;
    experiment.training.checkpoint_every = 100;
    experiment.recovery.policy = policy;
    experiment.recovery.rebuild = StageRebuild::neighbours;
    return experiment;
}

Plan plan_of() {
    return make_plan({{0}, {1}, {2}, {3}}, {{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {0, 1, 2}, {0, 1, 3}, {0, 2, 3}});
}

TrainedRanks by_the_wall(Experiment experiment, const Death& death, bool returns) {
    experiment.execution = {
        .clock = Clock::wall, .compute = Compute::torch, .transport = Transport::gloo, .ranks = ranks};
    return train_mortals(experiment, plan_of(), ranks, {{2, death}}, returns);
}

/// Under the virtual clock, on one rank.
struct Virtual final : TrainingController {
    explicit Virtual(const Experiment& experiment, bool loses_by_hand)
        : loses(loses_by_hand), compute(experiment, plan_of(), make_batches(experiment), experiment.seed, 1) {
        LocalTransport alone;
        const auto problem = make_problem(experiment);
        train(experiment, problem, one_rank_schedule(problem.nodes(), plan_of()), compute, alone, &heard, this);
    }
    TrainingCommand next() override {
        TrainingCommand command;
        if (loses && asked++ == dies_in) command.losses.push_back({2, 1e9});
        return command;
    }
    bool loses;
    int asked = 0;
    TorchCompute compute;
    HeardOfRanks heard;
};

/// "" where they are the same to 1e-5.
std::string compare(const HeardOfRanks& got, const HeardOfRanks& expected) {
    if (got.results.size() != expected.results.size()) return "iterations are missing";
    for (std::size_t i = 0; i < got.results.size(); ++i) {
        const auto &one = got.results[i], &other = expected.results[i];
        if (one.stage_tokens != other.stage_tokens) return "other tokens in iteration " + std::to_string(i);
        const double off = std::abs(one.loss_sum_nats / other.loss_sum_nats - 1);
        if (!(off < 1e-5)) return "loss of iteration " + std::to_string(i) + " is off by " + std::to_string(off);
    }
    return "";
}

}  // namespace

class TestRanksPassOver : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void a_stage_without_a_node_is_passed_over_data() {
        QTest::addColumn<int>("policy");
        QTest::newRow("reroute") << static_cast<int>(RecoveryPolicy::reroute);
        QTest::newRow("skip") << static_cast<int>(RecoveryPolicy::skip);
        QTest::newRow("drop") << static_cast<int>(RecoveryPolicy::drop);
    }
    /// It dies before it has done anything: all is as if it had been lost between two iterations.
    void a_stage_without_a_node_is_passed_over() {
        QFETCH(int, policy);
        const auto experiment = experiment_for(static_cast<RecoveryPolicy>(policy));
        const auto trained = by_the_wall(experiment, {Death::In::operation, 0}, false);
        QVERIFY2(trained.fault.empty(), trained.fault.c_str());
        const auto& report = trained.heard.reports.at(0);
        QCOMPARE(report.passed_over, std::vector<int>{2});
        QCOMPARE(report.waits_for, -1);
        const Virtual expected(experiment, true);
        // What the others had begun is dropped with its iteration, where that is the policy; the next ones are whole.
        QCOMPARE(trained.heard.results.size(), expected.heard.results.size());
        if (policy != static_cast<int>(RecoveryPolicy::drop) || report.dropped == 0) {
            const auto why = compare(trained.heard, expected.heard);
            QVERIFY2(why.empty(), why.c_str());
        }
        for (std::size_t i = dies_in + 1; i < iterations; ++i) {
            const auto& result = trained.heard.results[i];
            QVERIFY(result.stage_tokens == expected.heard.results[i].stage_tokens);
            QCOMPARE(result.stage_tokens[2], std::int64_t{0});
        }
    }

    /// Wherever it dies, the iteration ends, each stage steps on what was done there, and the loss goes down.
    void wherever_it_dies() {
        for (const auto policy : {RecoveryPolicy::reroute, RecoveryPolicy::skip, RecoveryPolicy::drop})
            for (int n = 0; n < 8; ++n) {
                const auto trained = by_the_wall(experiment_for(policy), {Death::In::operation, n}, false);
                QVERIFY2(trained.fault.empty(), trained.fault.c_str());
                const auto& results = trained.heard.results;
                QCOMPARE(results.size(), std::size_t{iterations});
                for (const auto& result : results) QVERIFY(std::isfinite(result.loss_sum_nats));
                const auto mean = [](const IterationResult& one) {
                    return one.loss_sum_nats / static_cast<double>(one.tokens);
                };
                QVERIFY(mean(results.back()) < mean(results.front()));
            }
    }

    /// Its rank is back at once: the stage is the weighted mean of its neighbours, as under the virtual clock.
    void a_stage_is_made_of_its_neighbours() {
        auto experiment = experiment_for(RecoveryPolicy::replay);
        for (int n = 0; n < 8; n += 3) {
            const auto trained = by_the_wall(experiment, {Death::In::operation, n}, true);
            QVERIFY2(trained.fault.empty(), trained.fault.c_str());
            QCOMPARE(trained.heard.reports.at(0).from_neighbours, std::vector<int>{2});
            auto with_loss = experiment;
            with_loss.failures = {
                {.kind = FailureKind::stage_loss, .target = "2", .at_iteration = dies_in, .rejoin_after_s = 3}};
            const Virtual expected(with_loss, false);
            const auto why = compare(trained.heard, expected.heard);
            QVERIFY2(why.empty(), why.c_str());
            const auto state = trained.lives.at(2).compute->state(2);
            QCOMPARE(state.learning_rate, experiment.recovery.rebuilt_learning_rate);
            QCOMPARE(state.steps, std::int64_t{iterations - dies_in});
        }
    }

    /// With `disk` its weights are nowhere, and there is no checkpoint to go back to.
    void a_stage_that_nothing_brings_back() {
        auto experiment = experiment_for(RecoveryPolicy::reroute);
        experiment.recovery.rebuild = StageRebuild::disk;
        const auto trained = by_the_wall(experiment, {Death::In::operation, 0}, false);
        QVERIFY2(trained.fault.find("stage 2 has no node left") != std::string::npos, trained.fault.c_str());
    }
};

QTEST_APPLESS_MAIN(TestRanksPassOver)
#include "test_ranks_pass_over.moc"
