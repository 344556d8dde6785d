// SPDX-License-Identifier: GPL-3.0-or-later
// Every planner's plan, executed by the engine with real tensors, trains exactly as one process with the whole model
// does.
#include <QTest>

#include "core/engine/virtual_clock.h"
#include "core/planner/plan/validator.h"
#include "plugins/planners/all.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 10;

Experiment experiment_for(double skip_ratio) {
    auto experiment = small_experiment(4, 9);
    experiment.topology.regions = {{"here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.pipeline.microbatches = 9;
    experiment.pipeline.stage_sizes = {3, 2, 2, 2};
    experiment.pipeline.skip_ratio = skip_ratio;
    experiment.pipeline.plan_steps = 2000;
    return experiment;
}

/// Two nodes slower than the others, so that it pays to move blocks.
void make_uneven(Experiment& experiment) {
    experiment.model.blocks = 7;
    experiment.pipeline.plan_blocks = true;
    experiment.pipeline.microbatch_sizes = {1, 4, 2};
    experiment.topology.nodes[0].seconds_per_sample_per_block *= 3;
    experiment.topology.nodes[1].seconds_per_sample_per_block *= 3;
}

Plan planned(const Planner& planner, const Experiment& experiment, const Problem& problem) {
    PlanRequest request;
    request.steps = experiment.pipeline.plan_steps;
    return planner.plan(problem, request);
}

struct Difference {
    double gradient = 0, loss = 0;
};

/// Largest relative differences over the iterations; `dropped`: a microbatch the reference never sees.
Difference train_both(const Experiment& experiment, const Problem& problem, const Plan& plan, int dropped = -1) {
    TorchCompute compute(experiment, plan, make_batches(experiment), 1, 2);
    VirtualDriver driver(problem, plan, compute);
    WholeModel whole(experiment.model, experiment.training, plan.blocks, 1);
    auto paths = stage_paths(plan);
    std::erase_if(paths, [&](const StagePath& path) { return path.microbatch == dropped; });
    const auto batches = make_batches(experiment);
    Difference largest;
    for (int i = 0; i < iterations; ++i) {
        const auto result = driver.train(i);
        whole.accumulate(batches, i, paths);
        const auto reference = whole.step(i);
        largest.loss =
            std::max(largest.loss, std::abs(result.loss_sum_nats - reference.loss_sum_nats) / reference.loss_sum_nats);
        for (int stage = 0; stage < problem.stages; ++stage)
            largest.gradient = std::max(largest.gradient,
                                        largest_difference(stage_segments(experiment.model, stage,
                                                                          plan.blocks[static_cast<std::size_t>(stage)]),
                                                           compute.reduced_gradient(stage), whole.gradient(stage)));
    }
    return largest;
}

}  // namespace

class TestPlannersTrain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_planner_equals_the_whole_model_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<double>("skip_ratio");
        PlannerRegistry planners;
        register_planners(planners);
        for (const auto& planner : planners.all()) {
            const auto name = QString::fromStdString(planner->name());
            QTest::newRow(qPrintable(name + ", skip 0.25")) << name << 0.25;
        }
        QTest::newRow("skippipe-joint, blocks planned, microbatches of three sizes") << "skippipe-joint" << 0.25;
        QTest::newRow("skippipe-joint, skip 0: plain LLaMA training") << "skippipe-joint" << 0.0;
    }

    void every_planner_equals_the_whole_model() {
        QFETCH(QString, name);
        QFETCH(double, skip_ratio);
        PlannerRegistry planners;
        register_planners(planners);
        auto experiment = experiment_for(skip_ratio);
        const bool uneven = QString(QTest::currentDataTag()).contains("three sizes");
        if (uneven) make_uneven(experiment);
        const auto problem = make_problem(experiment);
        const auto plan = planned(*planners.find(name.toStdString()), experiment, problem);
        if (uneven) QVERIFY(plan.blocks != problem.blocks);
        QVERIFY(check_structure(problem, plan).empty());
        const auto difference = train_both(experiment, problem, plan);
        QVERIFY2(difference.gradient <= 1e-5, qPrintable(QString("gradients differ by %1").arg(difference.gradient)));
        QVERIFY2(difference.loss <= 1e-5, qPrintable(QString("losses differ by %1").arg(difference.loss)));
    }

    /// The comparison can fail: without one microbatch it does, by far.
    void a_lost_microbatch_is_seen() {
        PlannerRegistry planners;
        register_planners(planners);
        const auto experiment = experiment_for(0.25);
        const auto problem = make_problem(experiment);
        const auto plan = planned(*planners.find("skippipe"), experiment, problem);
        QVERIFY(train_both(experiment, problem, plan, 4).gradient > 1e-2);
    }
};

QTEST_APPLESS_MAIN(TestPlannersTrain)
#include "test_planners_train.moc"
