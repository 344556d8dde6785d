// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes are lost in the middle of iterations: with real tensors, the losses and gradients are those of one process with
// the whole model, for as long as each stage keeps a node.
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/engine/trainer.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 12;

Experiment experiment_for(double skip_ratio, bool split) {
    auto experiment = small_experiment(4, 9);
    experiment.topology.regions = {{"here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.pipeline.microbatches = 9;
    experiment.pipeline.stage_sizes = {3, 2, 2, 2};
    experiment.pipeline.skip_ratio = skip_ratio;
    experiment.pipeline.plan_steps = 500;
    experiment.pipeline.split_backward = split;
    experiment.failures.push_back(
        {.kind = FailureKind::crash, .target = experiment.topology.nodes.front().id, .at_iteration = 0});
    return experiment;
}

struct Differences {
    double gradient = 0, loss = 0;
    int recoveries = 0, redone = 0;
    bool replicas_equal = true;
};

/// Trains while `losses` nodes of different stages die in every iteration, which are back at the next.
Differences train(const Experiment& experiment, const std::string& planner_name, int losses, double delay) {
    PlannerRegistry planners;
    register_planners(planners);
    const auto problem = make_problem(experiment);
    PlanRequest request;
    request.steps = experiment.pipeline.plan_steps;
    const auto plan = planners.find(planner_name)->plan(problem, request);
    const double iteration_s = evaluate(problem, plan).iteration_s;
    TorchCompute compute(experiment, plan, make_batches(experiment), 1, 2);
    VirtualDriver driver(problem, plan, compute);
    WholeModel whole(experiment.model, experiment.training, plan.blocks, 1);
    const auto batches = make_batches(experiment);
    ReplanController controller(RecoveryPolicy::reroute, 20'000);
    Rng rng(7);
    Differences found;
    for (int i = 0; i < iterations; ++i) {
        std::vector<Disturbance> disturbances;
        std::vector<std::pair<int, int>> lost_and_siblings;
        std::vector<int> stages{0, 1, 2, 3};
        rng.shuffle(stages);
        for (int k = 0; k < losses; ++k) {
            const auto& ring = plan.stages[skippipe::at(stages[skippipe::at(k)])];
            const auto which = rng.below(ring.size());
            const double at_s = rng.uniform() * iteration_s;
            disturbances.push_back(
                {at_s, {.kind = NetworkChange::Kind::node_down, .node = ring[which]}, at_s + delay * iteration_s});
            lost_and_siblings.emplace_back(ring[which], ring[(which + 1) % ring.size()]);
        }
        std::sort(disturbances.begin(), disturbances.end(),
                  [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
        const auto result = driver.train(i, disturbances, controller);
        whole.accumulate(batches, i, stage_paths(plan));
        const auto reference = whole.step(i);
        found.loss =
            std::max(found.loss, std::abs(result.loss_sum_nats - reference.loss_sum_nats) / reference.loss_sum_nats);
        for (int stage = 0; stage < problem.stages; ++stage)
            found.gradient =
                std::max(found.gradient,
                         largest_difference(stage_segments(experiment.model, stage, plan.blocks[skippipe::at(stage)]),
                                            compute.reduced_gradient(stage), whole.gradient(stage)));
        found.replicas_equal = found.replicas_equal && compute.replicas_equal();
        for (const auto& [node, sibling] : lost_and_siblings) compute.rejoin(node, sibling);
        found.replicas_equal = found.replicas_equal && compute.replicas_equal();
    }
    return found;
}

/// Losses of all iterations, and what was reported.
class Heard final : public TrainingListener {
public:
    void validated(int, double, double, std::int64_t, const ValidationResult& result) override {
        losses.push_back(result.loss_nats);
    }
    void iterated(const IterationReport& report) override {
        losses.push_back(report.result.loss_sum_nats / static_cast<double>(report.result.tokens));
        for (const auto& span : report.timeline->spans)
            down_s += span.kind == SpanKind::down ? span.end_s - span.start_s : 0;
        ended_s = report.offset_s + report.timeline->iteration_s;
    }
    void recovered(int, double, const RecoveryReport& report) override {
        ++recoveries;
        begun_again += report.abandoned.empty() ? 0 : 1;
        lost_gradients += report.lost_gradients;
        dropped += report.dropped;
    }
    std::vector<double> losses;
    int recoveries = 0, begun_again = 0, lost_gradients = 0, dropped = 0;
    double down_s = 0, ended_s = 0;
};

/// Changes a weight of a node before an iteration, as a bit that flips in memory does.
class Flipping final : public TrainingController {
public:
    Flipping(TorchCompute& compute, int node, int iteration)
        : compute_(compute), node_(node), iterations_left_(iteration) {}
    TrainingCommand next() override {
        if (iterations_left_-- == 0) {
            auto state = compute_.state(node_);
            state.m.back() += 1e-7f;
            compute_.set_state(node_, state);
        }
        return {};
    }

private:
    TorchCompute& compute_;
    int node_, iterations_left_;
};

/// Leaves out, and keeps the last answer.
class Remembering final : public RecoveryController {
public:
    Replan recover(const Problem& network, const Plan& plan, const ReplanRequest& request) override {
        last = drop_.recover(network, plan, request);
        return *last;
    }
    std::optional<Replan> last;

private:
    ReplanController drop_{RecoveryPolicy::drop, 20'000};
};

Plan plan_of(const Experiment& experiment) {
    PlannerRegistry planners;
    register_planners(planners);
    PlanRequest request;
    request.steps = experiment.pipeline.plan_steps;
    return planners.find("skippipe")->plan(make_problem(experiment), request);
}

/// A whole training by the document's failures.
Heard train_by_document(const Experiment& experiment) {
    const auto problem = make_problem(experiment);
    const auto plan = plan_of(experiment);
    TorchCompute compute(experiment, plan, make_batches(experiment), 1, 2);
    Heard heard;
    LocalTransport alone;
    skippipe::train(experiment, problem, one_rank_schedule(problem.nodes(), plan), compute, alone, &heard, nullptr);
    return heard;
}

}  // namespace

class TestSurvives : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void losses_are_those_of_the_whole_model_data() {
        QTest::addColumn<QString>("planner");
        QTest::addColumn<double>("skip_ratio");
        QTest::addColumn<bool>("split");
        QTest::addColumn<int>("losses");
        QTest::addColumn<double>("delay");
        QTest::addColumn<bool>("planned");
        QTest::newRow("one node an iteration, known at once") << "skippipe" << 0.25 << false << 1 << 0.0 << false;
        QTest::newRow("one node an iteration, known later") << "skippipe-joint" << 0.25 << false << 1 << 0.2 << false;
        QTest::newRow("a node of each stage, known later") << "skippipe" << 0.25 << false << 4 << 0.1 << false;
        QTest::newRow("plain LLaMA, 1f1b") << "1f1b" << 0.0 << false << 2 << 0.1 << false;
        QTest::newRow("split backward, zero-bubble") << "zero-bubble" << 0.0 << true << 2 << 0.1 << false;
        QTest::newRow("planned reductions, known later") << "skippipe" << 0.25 << false << 4 << 0.1 << true;
    }

    void losses_are_those_of_the_whole_model() {
        QFETCH(QString, planner);
        QFETCH(double, skip_ratio);
        QFETCH(bool, split);
        QFETCH(int, losses);
        QFETCH(double, delay);
        QFETCH(bool, planned);
        auto experiment = experiment_for(skip_ratio, split);
        if (planned) experiment.costs.all_reduce = AllReduceRule::planned;
        const auto found = train(experiment, planner.toStdString(), losses, delay);
        QVERIFY2(found.gradient <= 1e-5, qPrintable(QString("gradients differ by %1").arg(found.gradient)));
        QVERIFY2(found.loss <= 1e-5, qPrintable(QString("losses differ by %1").arg(found.loss)));
        QVERIFY(found.replicas_equal);
    }

    /// Nodes crash by rate and by chance, whole stages are lost now and then, all come back: with `replay` the losses
    /// of every iteration and validation are those of an undisturbed training.
    void a_training_by_its_document() {
        auto experiment = experiment_for(0.25, false);
        experiment.training.iterations = 30;
        experiment.training.validate_every = 10;
        experiment.recovery.policy = RecoveryPolicy::replay;
        const auto any = std::string(any_target);
        auto calm = experiment;
        calm.failures.clear();
        experiment.failures = {
            {.kind = FailureKind::crash, .target = any, .probability_per_iteration = 0.7, .rejoin_after_s = 10},
            {.kind = FailureKind::crash, .target = any, .rate_per_hour = 300, .rejoin_after_s = 4},
            {.kind = FailureKind::stage_loss, .target = any, .probability_per_iteration = 0.2, .rejoin_after_s = 3},
            {.kind = FailureKind::slow_down, .target = any, .at_iteration = 4, .rejoin_after_s = 9, .factor = 2}};
        const auto disturbed = train_by_document(experiment), undisturbed = train_by_document(calm);
        QVERIFY2(
            disturbed.recoveries > 20 && disturbed.begun_again > 0 && disturbed.down_s > 0,
            qPrintable(QString("%1 recoveries, %2 begun again").arg(disturbed.recoveries).arg(disturbed.begun_again)));
        QCOMPARE(disturbed.losses.size(), undisturbed.losses.size());
        for (std::size_t i = 0; i < undisturbed.losses.size(); ++i)
            QVERIFY2(
                std::abs(disturbed.losses[i] - undisturbed.losses[i]) <= 1e-5 * undisturbed.losses[i],
                qPrintable(QString("%1: %2 instead of %3").arg(i).arg(disturbed.losses[i]).arg(undisturbed.losses[i])));
        QVERIFY(disturbed.ended_s > undisturbed.ended_s);
    }

    /// Several losses an iteration, one on top of the other: what took over is lost in its turn.
    void losses_upon_losses() {
        auto experiment = experiment_for(0.25, false);
        experiment.training.iterations = 150;
        experiment.recovery.policy = RecoveryPolicy::replay;
        experiment.recovery.heartbeat_s = 0.01;
        experiment.recovery.deadline_s = 0.05;
        auto calm = experiment;
        calm.failures.clear();
        experiment.failures.clear();
        for (int k = 0; k < 5; ++k)
            experiment.failures.push_back({.kind = FailureKind::crash,
                                           .target = std::string(any_target),
                                           .probability_per_iteration = 0.9,
                                           .rejoin_after_s = 1});
        const auto disturbed = train_by_document(experiment), undisturbed = train_by_document(calm);
        qInfo("%d recoveries, %d iterations begun again", disturbed.recoveries, disturbed.begun_again);
        QVERIFY(disturbed.recoveries > 300);
        QVERIFY(std::abs(disturbed.losses.back() / undisturbed.losses.back() - 1) <= 1e-4);
    }

    /// A copy that is no longer its stage's ends the run after the iteration in which it was changed, with failures of
    /// the document and without; one node of several is enough.
    void a_copy_that_differs_ends_the_run_data() {
        QTest::addColumn<bool>("fails");
        QTest::newRow("nothing fails") << false;
        QTest::newRow("nodes are lost and come back") << true;
    }
    void a_copy_that_differs_ends_the_run() {
        QFETCH(bool, fails);
        auto experiment = experiment_for(0.25, false);
        experiment.training.iterations = 6;
        experiment.failures.clear();
        if (fails)
            experiment.failures.push_back({.kind = FailureKind::crash,
                                           .target = std::string(any_target),
                                           .probability_per_iteration = 0.9,
                                           .rejoin_after_s = 0.01});
        const auto problem = make_problem(experiment);
        const auto plan = plan_of(experiment);
        for (const bool flips : {false, true}) {
            TorchCompute compute(experiment, plan, make_batches(experiment), 1, 2);
            Heard heard;
            LocalTransport alone;
            const int node = plan.stages[1].back();
            Flipping flipping(compute, node, flips ? 3 : -1);
            std::string fault;
            try {
                skippipe::train(experiment, problem, one_rank_schedule(problem.nodes(), plan), compute, alone, &heard,
                                &flipping);
            } catch (const InputError& error) {
                fault = to_string(error.faults().front());
            }
            if (!flips) QVERIFY2(fault.empty(), fault.c_str());
            for (const auto& words : {std::string("stage 1"), std::string("differ after iteration 4"),
                                      experiment.topology.nodes[skippipe::at(node)].id, std::string("resume")})
                QVERIFY2(!flips || fault.find(words) != std::string::npos, fault.c_str());
            QCOMPARE(heard.recoveries > 0, fails);
        }
    }

    /// While a stage has no node its microbatches pass over it; validation is still that of the whole model, with the
    /// weights that the stage had last, and its node that was lost last brings them back.
    void a_lost_stage_is_validated_with_its_newest_weights() {
        auto experiment = experiment_for(0.25, false);
        experiment.training.iterations = 8;
        experiment.training.validate_every = 1;
        experiment.failures = {{.kind = FailureKind::crash, .target = std::string(any_target), .at_iteration = 1},
                               {.kind = FailureKind::stage_loss, .target = "2", .at_iteration = 4}};
        const auto plan = plan_of(experiment);
        experiment.failures[0].target = experiment.topology.nodes[skippipe::at(plan.stages[2].back())].id;
        const auto all_lost = train_by_document(experiment);
        experiment.failures.erase(experiment.failures.begin());
        const auto lost_at_once = train_by_document(experiment);
        // The node that was lost in iteration 1 has weights of then: they must not come back.
        QCOMPARE(all_lost.losses.size(), lost_at_once.losses.size());
        for (std::size_t i = 0; i < all_lost.losses.size(); ++i)
            QVERIFY2(std::abs(all_lost.losses[i] / lost_at_once.losses[i] - 1) <= 1e-5,
                     qPrintable(QString("%1: %2, not %3").arg(i).arg(all_lost.losses[i]).arg(lost_at_once.losses[i])));
    }

    /// `drop`: what is left out of an iteration has no part in any stage's mean, head and embedding included; whose
    /// loss was computed goes on.
    void what_is_left_out_has_no_part() {
        const auto experiment = experiment_for(0.25, false);
        const auto problem = make_problem(experiment);
        const auto plan = plan_of(experiment);
        const double iteration_s = evaluate(problem, plan).iteration_s;
        int left_out = 0, kept = 0;
        for (const double at : {0.08, 0.15, 0.25}) {
            TorchCompute compute(experiment, plan, make_batches(experiment), 1, 2);
            VirtualDriver driver(problem, plan, compute);
            WholeModel whole(experiment.model, experiment.training, plan.blocks, 1);
            Remembering controller;
            const auto result = driver.train(0,
                                             {{at * iteration_s,
                                               {.kind = NetworkChange::Kind::node_down, .node = plan.stages[1][0]},
                                               at * iteration_s}},
                                             controller);
            auto rest = plan;
            rest.paths.clear();
            const auto& residual = controller.last.value().residual;
            for (std::size_t i = 0; i < plan.paths.size(); ++i) {
                const auto first = residual.lost.begin() + static_cast<std::ptrdiff_t>(i) * residual.length;
                const auto lost = std::count(first, first + residual.length, 1);
                QVERIFY(lost == 0 || lost == residual.length);  // so early no backward had run there
                if (lost == 0) rest.paths.push_back(plan.paths[i]);
            }
            left_out += controller.last->dropped;
            kept += static_cast<int>(rest.paths.size());
            QCOMPARE(plan.paths.size() - rest.paths.size(), skippipe::at(controller.last->dropped));
            whole.accumulate(make_batches(experiment), 0, stage_paths(rest));
            const auto reference = whole.step(0);
            QVERIFY(std::abs(result.loss_sum_nats / reference.loss_sum_nats - 1) <= 1e-5);
            for (int stage = 0; stage < problem.stages; ++stage)
                QVERIFY(largest_difference(stage_segments(experiment.model, stage, plan.blocks[skippipe::at(stage)]),
                                           compute.reduced_gradient(stage), whole.gradient(stage)) <= 1e-5);
        }
        QVERIFY(left_out > 0 && kept > 0);
    }

    /// Losses without end, whichever policy: losses stay near those of an undisturbed training.
    void policies_that_leave_out() {
        auto experiment = experiment_for(0.25, false);
        experiment.training.iterations = 60;
        auto calm = experiment;
        calm.failures.clear();
        experiment.failures = {{.kind = FailureKind::crash,
                                .target = std::string(any_target),
                                .probability_per_iteration = 0.8,
                                .rejoin_after_s = 2}};
        const auto undisturbed = train_by_document(calm);
        for (const auto policy : {RecoveryPolicy::skip, RecoveryPolicy::drop}) {
            experiment.recovery.policy = policy;
            const auto disturbed = train_by_document(experiment);
            QVERIFY(disturbed.recoveries > 30 && disturbed.lost_gradients > 0);
            QCOMPARE(disturbed.dropped > 0, policy == RecoveryPolicy::drop);
            QVERIFY(std::abs(disturbed.losses.back() / undisturbed.losses.back() - 1) < 0.05);
        }
    }
};

QTEST_APPLESS_MAIN(TestSurvives)
#include "test_survives.moc"
