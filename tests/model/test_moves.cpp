// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that go to other stages after a loss, with real tensors: the training is the same one.
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/engine/trainer.h"
#include "plugins/planners/all.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 14;

/// Every microbatch passes all stages in their order, so that losses do not depend on who is where. Stages 1 and 2 keep
/// one node each, which is slow; who is lost is back later.
Experiment experiment_for(WireType gradients) {
    auto experiment = small_experiment(4, 12);
    experiment.topology.regions = {{"here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.pipeline.microbatches = 12;
    experiment.pipeline.constraints.max_swaps = 0;
    experiment.pipeline.plan_steps = 2'000;
    experiment.pipeline.planner = "skippipe-joint";
    experiment.training.iterations = iterations;
    experiment.training.gradient_wire = gradients;
    experiment.costs.all_reduce = AllReduceRule::planned;
    experiment.recovery.planning_s = 0.5;
    experiment.recovery.move_nodes_s = 60;
    for (const int node : {4, 5, 7, 8})
        experiment.failures.push_back({.kind = FailureKind::crash,
                                       .target = experiment.topology.nodes[skippipe::at(node)].id,
                                       .at_iteration = 1,
                                       .rejoin_after_s = 10});
    return experiment;
}

/// In turn over the nodes of each stage.
Plan first_plan() {
    std::vector<std::vector<NodeIndex>> paths;
    for (int m = 0; m < 12; ++m)
        paths.push_back({NodeIndex(m % 3), NodeIndex(3 + m % 3), NodeIndex(6 + m % 3), NodeIndex(9 + m % 3)});
    return make_plan({{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {9, 10, 11}}, paths);
}

/// What is there after an iteration, as a checkpoint has it.
struct Kept {
    TrainingPosition position;
    Plan plan;
    std::vector<StageState> stages;
    RoundingResiduals residuals;
};

class Keeper final : public CommitListener {
public:
    explicit Keeper(TorchCompute& compute) : compute_(compute) {}
    void committed(const TrainingPosition& position, const Plan& in_force, bool) override {
        replicas_equal = replicas_equal && compute_.replicas_equal();
        Kept now{position, in_force, {}, compute_.residuals()};
        for (const auto& ring : in_force.stages) now.stages.push_back(compute_.state(ring.front()));
        kept.push_back(std::move(now));
    }
    std::vector<Kept> kept;
    bool replicas_equal = true;

private:
    TorchCompute& compute_;
};

class Heard final : public TrainingListener {
public:
    void validated(int, double, double, std::int64_t, const ValidationResult& result) override {
        losses.push_back(result.loss_nats);
    }
    void iterated(const IterationReport& report) override {
        losses.push_back(report.result.loss_sum_nats / static_cast<double>(report.result.tokens));
        begun_s.push_back(report.offset_s);
        ended_s = report.offset_s + report.timeline->iteration_s;
    }
    /// Those that were made anew, by which nodes go elsewhere.
    void plan_switched(int, const Plan& plan, const std::string& why) override {
        if (why.find("planned anew") == 0) plans.push_back(plan);
    }
    std::vector<double> losses, begun_s;
    std::vector<Plan> plans;
    double ended_s = 0;
};

struct Trained {
    explicit Trained(const Experiment& experiment, const Kept* from = nullptr)
        : plan(from != nullptr ? from->plan : first_plan()),
          compute(experiment, plan, make_batches(experiment), experiment.seed, 2),
          keeper(compute) {
        PlannerRegistry planners;
        register_planners(planners);
        TrainingStart start{.commits = &keeper, .planner = planners.find("skippipe-joint")};
        if (from != nullptr) {
            for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
                for (const NodeIndex node : plan.stages[stage]) compute.set_state(node, from->stages[stage]);
            compute.set_residuals(from->residuals);
            start.position = from->position;
            start.validate_first = false;
        }
        LocalTransport alone;
        const auto problem = make_problem(experiment);
        train(experiment, problem, one_rank_schedule(problem.nodes(), plan), compute, alone, &heard, nullptr, {},
              start);
    }
    Plan plan;
    TorchCompute compute;
    Keeper keeper;
    Heard heard;
};

bool is_there(const Plan& plan, int node) { return stage_of(plan, node) >= 0; }

}  // namespace

class TestMoves : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_training_is_the_same_one_data() {
        QTest::addColumn<int>("wire");
        QTest::newRow("gradients as fp32") << static_cast<int>(WireType::fp32);
        QTest::newRow("gradients as int8") << static_cast<int>(WireType::int8);
    }

    void the_training_is_the_same_one() {
        QFETCH(int, wire);
        const bool exact = static_cast<WireType>(wire) == WireType::fp32;
        const auto experiment = experiment_for(static_cast<WireType>(wire));
        auto calm = experiment;
        calm.failures.clear();
        const Trained moved(experiment), undisturbed(calm);
        QVERIFY(moved.keeper.replicas_equal);

        // Nodes went elsewhere, and took a time; who was back had a place again.
        QVERIFY(moved.heard.plans.size() >= 2);
        const auto& first = moved.heard.plans.front();
        QVERIFY(first.stages != first_plan().stages);
        QVERIFY(!is_there(first, 4) && stage_of(first, 3) >= 0);
        bool changed = false;
        for (int node = 0; node < 12; ++node)
            changed = changed || (is_there(first, node) && stage_of(first, node) != stage_of(first_plan(), node));
        QVERIFY(changed);
        QVERIFY(is_there(moved.heard.plans.back(), 4));

        QCOMPARE(moved.heard.losses.size(), undisturbed.heard.losses.size());
        for (std::size_t i = 0; i < undisturbed.heard.losses.size(); ++i) {
            const double apart = std::abs(moved.heard.losses[i] / undisturbed.heard.losses[i] - 1);
            QVERIFY2(apart <= (exact ? 1e-5 : 5e-3), qPrintable(QString("%1: %2 apart").arg(i).arg(apart)));
        }
    }

    /// From after each iteration on, also where nodes have moved and others are to come back.
    void it_goes_on_from_everywhere_to_the_same_bits_data() { the_training_is_the_same_one_data(); }

    void it_goes_on_from_everywhere_to_the_same_bits() {
        QFETCH(int, wire);
        const auto experiment = experiment_for(static_cast<WireType>(wire));
        const Trained whole(experiment);
        int moved = 0;
        for (const auto& from : whole.keeper.kept) {
            const int done = from.position.iterations_done;
            if (done == 0 || done == iterations) continue;
            moved += from.plan.stages != first_plan().stages ? 1 : 0;
            const Trained rest(experiment, &from);
            const auto gone = [&](const std::vector<double>& all, const std::vector<double>& last) {
                return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(last.size()), all.end());
            };
            QCOMPARE(rest.heard.begun_s.size(), skippipe::at(iterations - done));
            QCOMPARE(gone(whole.heard.begun_s, rest.heard.begun_s), rest.heard.begun_s);
            QCOMPARE(gone(whole.heard.losses, rest.heard.losses), rest.heard.losses);
            QVERIFY(rest.keeper.kept.back().stages == whole.keeper.kept.back().stages);
            QVERIFY(rest.keeper.kept.back().residuals.gradients == whole.keeper.kept.back().residuals.gradients);
        }
        QVERIFY(moved > 2 && moved < iterations - 1);
    }
};

QTEST_APPLESS_MAIN(TestMoves)
#include "test_moves.moc"
