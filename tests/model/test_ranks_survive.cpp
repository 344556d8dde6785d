// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks die in the middle of an iteration, in whatever operation or sum: the others keep what they have of it, and the
// losses and gradients are those of the whole model.
#include <QtTest>

#include <map>

#include "core/model/torch_compat.h"
#include "tests/model/mortal_ranks.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int ranks = 3, stages = 3, iterations = 3;

/// Every rank has a node of every stage: 3 s + r. Paths go over all ranks.
Experiment experiment_for(bool split, RecoveryPolicy policy = RecoveryPolicy::reroute) {
    auto experiment = small_experiment(stages, ranks * stages);
    experiment.seed = 21;
    experiment.pipeline.microbatches = 6;
    experiment.pipeline.split_backward = split;
    experiment.topology.hop_matrix_s.assign(9, std::vector<double>(9, 0.001));
    for (std::size_t i = 0; i < 9; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    experiment.training.iterations = iterations;
    experiment.training.validate_every = 2;
    experiment.execution = {
        .clock = Clock::wall, .compute = Compute::torch, .transport = Transport::gloo, .ranks = ranks};
    experiment.recovery.policy = policy;
    experiment.pipeline.balance_data_nodes = false;
    return experiment;
}

/// The same over drawn links, where each stage is summed by pieces.
Experiment with_pieces(Experiment experiment) {
    experiment.topology.hop_matrix_s.clear();
    experiment.topology.regions = {{.id = "here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.costs.all_reduce = AllReduceRule::planned;
    return experiment;
}

/// Where gradients are lost, rank 1 has no data node's work: else the head's would be lost without the body's, and the
/// iteration would begin again.
Plan plan_for(const Experiment& experiment) {
    const bool leaves_out =
        experiment.recovery.policy == RecoveryPolicy::skip || experiment.recovery.policy == RecoveryPolicy::drop;
    using Paths = std::vector<std::vector<NodeIndex>>;
    auto plan = make_plan({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}},
                          leaves_out ? Paths{{0, 4, 8}, {2, 5, 7}, {0, 3, 7}, {2, 4, 6}, {0, 4, 6}, {2, 3, 8}}
                                     : Paths{{0, 4, 8}, {1, 5, 6}, {2, 3, 7}, {0, 5, 7}, {1, 3, 8}, {2, 4, 6}});
    plan.split_backward = experiment.pipeline.split_backward;
    if (experiment.costs.all_reduce == AllReduceRule::planned)
        plan.reductions = {{{0.5, PieceForm::tree, 2, {2, 0, 2}, {2, 2, 2}}, {0.5, PieceForm::exchange, 0, {}, {}}},
                           {},
                           {{1, PieceForm::tree, 0, {0, 0, 1}, {0, 2, 0}}}};
    return plan;
}

using Trained = TrainedRanks;

Trained train_with(const Experiment& experiment, const std::map<int, Death>& deaths, bool returns = false,
                   bool by_lanes = false) {
    return train_mortals(experiment, plan_for(experiment), ranks, deaths, returns, by_lanes);
}

/// The whole model's losses, and its gradients of the iteration in which ranks die.
struct Reference {
    std::vector<ReferenceStep> steps;
    std::map<int, std::vector<float>> gradients;
};

Reference reference_of(const Experiment& experiment) {
    const auto plan = plan_for(experiment);
    WholeModel whole(experiment.model, experiment.training, plan.blocks, experiment.seed);
    const auto batches = make_batches(experiment);
    Reference reference;
    for (int i = 0; i < iterations; ++i) {
        whole.accumulate(batches, i, stage_paths(plan));
        reference.steps.push_back(whole.step(i));
        for (int stage = 0; i == dies_in && stage < stages; ++stage) reference.gradients[stage] = whole.gradient(stage);
    }
    return reference;
}

}  // namespace

class TestRanksSurvive : public QObject {
    Q_OBJECT

    /// "" where losses, gradients, weights and copies are as they must be.
    static std::string compare(const Experiment& experiment, const Trained& trained, const Reference& reference) {
        if (!trained.fault.empty()) return trained.fault;
        if (trained.heard.results.size() != reference.steps.size()) return "iterations are missing";
        for (std::size_t i = 0; i < reference.steps.size(); ++i) {
            const auto& result = trained.heard.results[i];
            const auto& expected = reference.steps[i];
            if (result.stage_tokens != expected.stage_tokens) return "other tokens in iteration " + std::to_string(i);
            const double off = std::abs(result.loss_sum_nats / expected.loss_sum_nats - 1);
            if (!(off < 1e-5)) return "loss of iteration " + std::to_string(i) + " is off by " + std::to_string(off);
        }
        const auto plan = plan_for(experiment);
        for (int stage = 0; stage < stages; ++stage) {
            const auto segments = stage_segments(experiment.model, stage, plan.blocks[static_cast<std::size_t>(stage)]);
            for (const auto& [rank, life] : trained.lives) {
                const auto& gradients = life.mortal->gradients;  // none of one that came when it was over
                const double off = gradients.empty() ? 0
                                                     : largest_difference(segments, gradients.at(stage),
                                                                          reference.gradients.at(stage));
                if (!(off < 1e-5))
                    return "gradient of stage " + std::to_string(stage) + " on rank " + std::to_string(rank) +
                           " is off by " + std::to_string(off);
                const auto& first = trained.lives.at(0);
                if (life.compute->weights(3 * stage + rank) != first.compute->weights(3 * stage))
                    return "the copies of stage " + std::to_string(stage) + " differ on rank " + std::to_string(rank);
            }
        }
        return "";
    }

private Q_SLOTS:
    void initTestCase() { use_one_thread(); }
    void init() { reset_fake_nccl(); }
    /// Nothing was done that NCCL does not allow.
    void cleanup() {
        const auto said = fake_violations();
        QVERIFY2(said.empty(), said.empty() ? "" : said.front().c_str());
    }

    void nothing_is_lost_that_others_hold_data() {
        QTest::addColumn<bool>("split");
        QTest::addColumn<int>("in");
        QTest::addColumn<bool>("returns");
        QTest::addColumn<bool>("by_lanes");
        const char* names[] = {"operations", "sums", "the step"};
        for (const bool split : {false, true})
            for (int in = 0; in < 3; ++in)
                for (const bool returns : {false, true})
                    for (const bool by_lanes : {false, true})
                        QTest::newRow(qPrintable(QString("in %1%2%3%4")
                                                     .arg(names[in])
                                                     .arg(split ? ", split" : "")
                                                     .arg(returns ? ", back at once" : "")
                                                     .arg(by_lanes ? ", over NCCL" : "")))
                            << split << in << returns << by_lanes;
    }

    /// At every operation, every sum, and the step: the iteration goes on, and what is run again is what the dead rank
    /// had run.
    void nothing_is_lost_that_others_hold() {
        QFETCH(bool, split);
        QFETCH(int, in);
        QFETCH(bool, returns);
        QFETCH(bool, by_lanes);
        const auto experiment = experiment_for(split);
        const auto reference = reference_of(experiment);
        const int own = split ? 20 : 14;  // operations of a rank in an iteration
        const int instants[] = {own, stages, 1};
        int went_on = 0, redone = 0, done = 0;
        for (int n = 0; n < instants[in]; ++n) {
            const int victim = 1 + n % 2;
            const auto trained = train_with(experiment, {{victim, {static_cast<Death::In>(in), n}}}, returns, by_lanes);
            const auto why = compare(experiment, trained, reference);
            QVERIFY2(why.empty(), qPrintable(QString("rank %1 dies at %2: %3").arg(victim).arg(n).arg(why.c_str())));
            QVERIFY(!trained.heard.reports.empty());
            const auto& report = trained.heard.reports.front();
            // As the dead rank steps, the iteration is over, or the others have not yet heard so.
            QVERIFY(report.goes_on || in == 2);
            went_on += report.goes_on;
            const int again = report.redone_forwards + report.redone_backwards;
            redone += again;
            for (const auto& rest : trained.lives.at(0).mortal->rests)
                for (const int steps : rest.residual.next_step) done += steps;
            QVERIFY2(again <= own, "only what the dead rank had run");
            QCOMPARE(trained.heard.validations.size(), std::size_t(3));
        }
        qInfo("%d deaths: %d steps were done by then, %d run again", instants[in], done, redone);
        QVERIFY(in == 2 || went_on == instants[in]);
        QVERIFY(in == 2 || redone > 0);
    }

    /// Wherever a rank dies, also in the midst of what replicas hand each other, the others sum anew what they have.
    void pieces_are_summed_anew_data() {
        QTest::addColumn<bool>("in_pieces");
        QTest::addColumn<bool>("returns");
        QTest::addColumn<bool>("by_lanes");
        QTest::newRow("in operations") << false << false << false;
        QTest::newRow("in pieces") << true << false << false;
        QTest::newRow("in pieces, back at once") << true << true << false;
        QTest::newRow("in operations, over NCCL") << false << false << true;
        QTest::newRow("in pieces, over NCCL") << true << false << true;
    }
    void pieces_are_summed_anew() {
        QFETCH(bool, in_pieces);
        QFETCH(bool, returns);
        QFETCH(bool, by_lanes);
        const auto experiment = with_pieces(experiment_for(false));
        const auto reference = reference_of(experiment);
        int deaths = 0, went_on = 0, redone = 0;
        for (int n = 0;; ++n, ++deaths) {
            const int victim = 1 + n % 2;
            const auto in = in_pieces ? Death::In::piece : Death::In::operation;
            const auto trained = train_with(experiment, {{victim, {in, n}}}, returns, by_lanes);
            const auto why = compare(experiment, trained, reference);
            QVERIFY2(why.empty(), qPrintable(QString("rank %1 dies at %2: %3").arg(victim).arg(n).arg(why.c_str())));
            if (trained.heard.reports.empty()) break;  // an iteration has no more of them
            const auto& report = trained.heard.reports.front();
            went_on += report.goes_on;
            redone += report.redone_forwards + report.redone_backwards;
        }
        qInfo("%d deaths, in %d of which the iteration went on; %d steps were run again", deaths, went_on, redone);
        QVERIFY(deaths >= 14 && redone > 0);
        QCOMPARE(went_on, deaths);
    }

    /// Gradients in int8: what was stepped with, what the living owe and what the dead owed is what was computed.
    void what_int8_owes_is_kept_data() {
        QTest::addColumn<bool>("returns");
        QTest::newRow("gone for good") << false;
        QTest::newRow("back at once") << true;
    }
    void what_int8_owes_is_kept() {
        QFETCH(bool, returns);
        auto experiment = with_pieces(experiment_for(false));
        experiment.training.learning_rate = 0;  // so that every iteration's exact gradients are known
        experiment.training.gradient_wire = WireType::int8;
        const auto plan = plan_for(experiment);
        WholeModel whole(experiment.model, experiment.training, plan.blocks, experiment.seed);
        const auto batches = make_batches(experiment);
        std::map<int, std::vector<double>> computed;
        for (int i = 0; i < iterations; ++i) {
            whole.accumulate(batches, i, stage_paths(plan));
            const auto tokens = whole.step(i).stage_tokens;
            for (int stage = 0; stage < stages; ++stage)
                add_to(computed[stage], whole.gradient(stage),
                       static_cast<double>(tokens[static_cast<std::size_t>(stage)]));
        }
        int deaths = 0;
        for (int n = 0; n < 24; n += 3) {
            const auto trained = train_with(experiment, {{1 + n % 2, {Death::In::piece, n}}}, returns);
            QVERIFY2(trained.fault.empty(), trained.fault.c_str());
            deaths += trained.lost.empty() ? 0 : 1;
            for (int stage = 0; stage < stages; ++stage) {
                auto all = trained.lives.at(0).mortal->stepped.at(stage);
                double owed_most = 0;
                for (const auto& [rank, life] : trained.lives) {
                    QVERIFY(life.compute->state(3 * stage + rank) == trained.lives.at(0).compute->state(3 * stage));
                    for (const auto& owed : life.compute->residuals().gradients)
                        if (owed.stage == stage) {
                            add_to(all, owed.values);
                            for (const float value : owed.values)
                                owed_most = std::max(owed_most, std::abs(double{value}));
                        }
                }
                if (trained.lost.contains(stage))
                    for (std::size_t i = 0; i < all.size(); ++i) all[i] += trained.lost.at(stage)[i];
                double largest = 0, off = 0;
                for (std::size_t i = 0; i < all.size(); ++i) {
                    largest = std::max(largest, std::abs(computed[stage][i]));
                    off = std::max(off, std::abs(all[i] - computed[stage][i]));
                }
                QVERIFY2(off < 1e-5 * largest && owed_most > 10 * off,
                         qPrintable(QString("death %1, stage %2: off by %3 of %4, owed %5")
                                        .arg(n)
                                        .arg(stage)
                                        .arg(off)
                                        .arg(largest)
                                        .arg(owed_most)));
            }
        }
        QVERIFY(deaths > 3);
    }

    /// What took over is lost in its turn, wherever that is: with one rank left, everything runs there.
    void losses_upon_losses_data() {
        QTest::addColumn<bool>("returns");
        QTest::newRow("gone for good") << false;
        QTest::newRow("back at once") << true;
    }
    void losses_upon_losses() {
        QFETCH(bool, returns);
        const auto experiment = experiment_for(false);
        const auto reference = reference_of(experiment);
        int twice = 0;
        for (int first = 1; first < 14; first += 2)
            for (int second = first; second < 24; second += 3) {
                const auto trained = train_with(
                    experiment, {{1, {Death::In::operation, first}}, {2, {Death::In::operation, second}}}, returns);
                const auto why = compare(experiment, trained, reference);
                QVERIFY2(why.empty(),
                         qPrintable(QString("after %1 and %2: %3").arg(first).arg(second).arg(why.c_str())));
                twice += trained.lives.at(0).mortal->rests.size() > 1;
            }
        QVERIFY(twice > 5);
    }

    /// `skip` and `drop`: what is left out has no part in any stage's mean, and what is said to be lost is what is.
    void policies_that_leave_out_data() {
        QTest::addColumn<bool>("drops");
        QTest::newRow("skip") << false;
        QTest::newRow("drop") << true;
    }
    void policies_that_leave_out() {
        QFETCH(bool, drops);
        const auto experiment = experiment_for(false, drops ? RecoveryPolicy::drop : RecoveryPolicy::skip);
        const auto reference = reference_of(experiment);
        int dropped = 0, left_out = 0, begun_again = 0;
        for (int n = 0; n < 10; ++n) {  // so many operations has rank 1
            const auto trained = train_with(experiment, {{1, {Death::In::operation, n}}});
            QVERIFY2(trained.fault.empty(), trained.fault.c_str());
            const auto& life = *trained.lives.at(0).mortal;
            QCOMPARE(trained.heard.reports.front().goes_on, !life.rests.empty());
            if (life.rests.empty()) {  // head and body would step on different microbatches: it begins again
                ++begun_again;
                const auto why = compare(experiment, trained, reference);
                QVERIFY2(why.empty(), why.c_str());
                continue;
            }
            const auto& residual = life.rests.front().residual;
            const auto& report = trained.heard.reports.front();
            const auto lost = std::count(residual.lost.begin(), residual.lost.end(), 1);
            QCOMPARE(report.lost_gradients, static_cast<int>(lost));
            QCOMPARE(report.dropped, residual.dropped);
            dropped += report.dropped;
            left_out += report.lost_gradients;
            compare_with_what_was_done(experiment, trained, residual);
        }
        QVERIFY(left_out > 0 && begun_again == 0);
        QCOMPARE(dropped > 0, drops);
    }

private:
    /// Each stage's gradient is the mean over the microbatches whose gradient is not lost there.
    static void compare_with_what_was_done(const Experiment& experiment, const Trained& trained,
                                           const Residual& residual) {
        const auto plan = plan_for(experiment);
        const auto paths = stage_paths(plan);
        const auto batches = make_batches(experiment);
        WholeModel before(experiment.model, experiment.training, plan.blocks, experiment.seed);
        for (int i = 0; i < dies_in; ++i) {
            before.accumulate(batches, i, paths);
            before.step(i);
        }
        std::map<int, std::vector<float>> sums;
        std::vector<std::int64_t> tokens(stages, 0);
        double loss = 0;
        for (std::size_t m = 0; m < paths.size(); ++m) {
            WholeModel one(experiment.model, experiment.training, plan.blocks, experiment.seed);
            one.copy_state_of(before);
            one.accumulate(batches, dies_in, {paths[m]});
            const auto step = one.step(dies_in);
            const auto is_lost = [&](int stage) {
                return residual.lost[m * stages + static_cast<std::size_t>(stage)] != 0;
            };
            if (!is_lost(0)) loss += step.loss_sum_nats;
            for (int stage = 0; stage < stages; ++stage) {
                if (is_lost(stage)) continue;
                const auto count = step.stage_tokens[static_cast<std::size_t>(stage)];
                tokens[static_cast<std::size_t>(stage)] += count;
                auto& sum = sums[stage];
                sum.resize(one.gradient(stage).size(), 0.F);
                for (std::size_t k = 0; k < sum.size(); ++k)
                    sum[k] += one.gradient(stage)[k] * static_cast<float>(count);
            }
        }
        const auto& result = trained.heard.results.at(dies_in);
        QCOMPARE(result.stage_tokens, tokens);
        QVERIFY2(std::abs(result.loss_sum_nats - loss) <= 1e-5 * loss,
                 qPrintable(QString("loss %1, not %2").arg(result.loss_sum_nats).arg(loss)));
        for (int stage = 0; stage < stages; ++stage) {
            if (tokens[static_cast<std::size_t>(stage)] == 0) continue;  // it does not step
            for (float& value : sums[stage]) value /= static_cast<float>(tokens[static_cast<std::size_t>(stage)]);
            const auto segments = stage_segments(experiment.model, stage, 1);
            for (const auto& [rank, life] : trained.lives) {
                const double off = largest_difference(segments, life.mortal->gradients.at(stage), sums[stage]);
                QVERIFY2(off < 1e-5,
                         qPrintable(QString("stage %1 on rank %2 is off by %3").arg(stage).arg(rank).arg(off)));
                QVERIFY(life.compute->weights(3 * stage + rank) == trained.lives.at(0).compute->weights(3 * stage));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestRanksSurvive)
#include "test_ranks_survive.moc"
