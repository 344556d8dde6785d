// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients that travel as int8: what was stepped with and what is owed add up to what the nodes computed, whatever the
// pieces, whoever is lost, and however plans follow each other. The learning rate is 0, so that the exact gradients of
// every iteration are known.
#include <QtTest>

#include <cmath>
#include <map>

#include "core/engine/virtual_clock.h"
#include "core/model/torch_compat.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/model/training_fixture.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

const PerStage<std::vector<NodeIndex>> rings{{0, 1, 8}, {2, 3, 4, 7}, {5, 6}};

Experiment experiment_of(WireType wire) {
    auto experiment = small_experiment(3, 9);
    experiment.topology.regions = {{.id = "here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.pipeline.microbatches = 6;
    experiment.pipeline.balance_data_nodes = false;
    experiment.training.learning_rate = 0;
    experiment.costs.all_reduce = AllReduceRule::planned;
    experiment.training.gradient_wire = wire;
    experiment.failures.push_back(  // none happens, but nodes keep what others may need
        {.kind = FailureKind::crash, .target = "n0", .at_iteration = 1'000'000});
    return experiment;
}

/// Node 7 is visited or not.
Plan plan_of(PerStage<Pieces> reductions, bool all = true) {
    const NodeIndex one(all ? 7 : 2), two(all ? 7 : 4);
    auto plan = make_plan(rings, {{0, 2, 5}, {1, 3, 6}, {8, 4, 5}, {1, one, 6}, {0, 3, 5}, {8, two, 6}});
    plan.reductions = std::move(reductions);
    return plan;
}

PerStage<Pieces> random_pieces(Rng& rng) {
    Plan plan;
    plan.stages = rings;
    return examples::random_reductions(plan, rng);
}

PerStage<Pieces> exchanges() {
    return {{{1, PieceForm::exchange, 0, {}, {}}},
            {{1, PieceForm::exchange, 0, {}, {}}},
            {{1, PieceForm::exchange, 0, {}, {}}}};
}

using Sums = std::map<int, std::vector<double>>;  ///< of gradients over tokens, by stage

void add(Sums& sums, int stage, const std::vector<float>& values, double factor) {
    auto& sum = sums[stage];
    sum.resize(values.size(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += factor * values[i];
}

void add(Sums& sums, const std::vector<GradientResidual>& owed) {
    for (const auto& one : owed) add(sums, one.stage, one.values, 1);
}

/// |a - b| / |b|, over all stages.
double apart(const Sums& a, const Sums& b) {
    double difference = 0, norm = 0;
    for (const auto& [stage, values] : b)
        for (std::size_t i = 0; i < values.size(); ++i) {
            difference += std::pow(a.at(stage).at(i) - values[i], 2);
            norm += std::pow(values[i], 2);
        }
    return std::sqrt(difference / norm);
}

double norm_of(const std::vector<GradientResidual>& owed, int node) {
    double squared = 0;
    for (const auto& one : owed)
        for (const float value : one.values) squared += one.node == node ? std::pow(value, 2) : 0;
    return std::sqrt(squared);
}

/// Trains and keeps the books of what was computed, stepped with, owed, and owed by those who are lost.
class Books {
public:
    explicit Books(WireType wire)
        : experiment(experiment_of(wire)),
          problem(make_problem(experiment)),
          compute(experiment, plan_of({}), make_batches(experiment), 1, 2),
          whole_(experiment.model, experiment.training, {1, 1, 1}, 1),
          batches_(make_batches(experiment)) {}

    /// Nodes whose loss had come in time are back at its end.
    void iterate(const Plan& plan, const std::vector<Disturbance>& disturbances = {}) {
        compute.follow(one_rank_schedule(problem.nodes(), plan));
        VirtualDriver driver(problem, plan, compute);
        const auto before = compute.residuals().gradients;
        const auto result =
            disturbances.empty() ? driver.train(iteration_) : driver.train(iteration_, disturbances, controller_);
        whole_.accumulate(batches_, iteration_, stage_paths(plan));
        whole_.step(iteration_++);
        for (int stage = 0; stage < problem.stages; ++stage) {
            const auto tokens = static_cast<double>(result.stage_tokens[skippipe::at(stage)]);
            add(computed, stage, whole_.gradient(stage), tokens);
            add(stepped, stage, compute.reduced_gradient(stage), tokens);
        }
        for (const auto& one : disturbances) {
            const auto after = compute.residuals().gradients;
            const int node = one.change.node;
            const auto is_its = [&](const GradientResidual& owed) { return owed.node == node; };
            if (std::none_of(after.begin(), after.end(), is_its)) {
                ++deaths;
                for (const auto& owed : before)
                    if (is_its(owed)) add(lost, owed.stage, owed.values, 1);
            }
            compute.rejoin(node, sibling(node));
        }
    }

    static int sibling(int node) {
        for (const auto& ring : rings)
            for (const NodeIndex one : ring)
                if (std::find(ring.begin(), ring.end(), NodeIndex(node)) != ring.end() && one != node) return one;
        return -1;
    }

    /// With what is owed, and what was lost.
    Sums accounted() const {
        auto all = stepped;
        add(all, compute.residuals().gradients);
        for (const auto& [stage, values] : lost)
            for (std::size_t i = 0; i < values.size(); ++i) all[stage][i] += values[i];
        return all;
    }

    Experiment experiment;
    Problem problem;
    TorchCompute compute;
    Sums computed, stepped, lost;
    int deaths = 0;

private:
    WholeModel whole_;
    Batches batches_;
    ReplanController controller_{RecoveryPolicy::reroute, 2'000};
    int iteration_ = 0;
};

}  // namespace

class TestGradientFeedback : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    /// Other pieces in every iteration, and nodes that are not visited in some.
    void nothing_is_lost_between_plans() {
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            Rng rng(seed);
            Books books(WireType::int8);
            for (int i = 0; i < 8; ++i) {
                books.iterate(plan_of(random_pieces(rng), rng.below(2) == 0));
                QVERIFY(books.compute.replicas_equal());
                const double off = apart(books.accounted(), books.computed);
                QVERIFY2(off < 1e-5, qPrintable(QString("seed %1, iteration %2: %3").arg(seed).arg(i).arg(off)));
            }
            QVERIFY2(apart(books.stepped, books.computed) > 1e-4, "there is something to be owed");
        }
    }

    /// Nodes of one, two or three stages die in every iteration, whole iterations begin again, and all come back.
    void nothing_is_lost_but_with_nodes() {
        int deaths = 0;
        for (std::uint64_t seed = 1; seed <= 6; ++seed) {
            Rng rng(seed);
            Books books(WireType::int8);
            for (int i = 0; i < 8; ++i) {
                const auto plan = plan_of(random_pieces(rng));
                const double iteration_s = evaluate(books.problem, plan).iteration_s;
                std::vector<Disturbance> disturbances;
                for (std::size_t stage = 0; i > 0 && stage < rings.size(); ++stage) {
                    const auto& ring = rings[stage];
                    const double at_s = rng.uniform() * iteration_s;
                    if (rng.below(2) == 0)
                        disturbances.push_back(
                            {at_s,
                             {.kind = NetworkChange::Kind::node_down, .node = ring[rng.below(ring.size())]},
                             at_s});
                }
                std::sort(disturbances.begin(), disturbances.end(),
                          [](const Disturbance& a, const Disturbance& b) { return a.at_s < b.at_s; });
                books.iterate(plan, disturbances);
                QVERIFY(books.compute.replicas_equal());
                const double off = apart(books.accounted(), books.computed);
                QVERIFY2(off < 1e-5, qPrintable(QString("seed %1, iteration %2: %3").arg(seed).arg(i).arg(off)));
            }
            deaths += books.deaths;
        }
        qInfo("%d deaths", deaths);
        QVERIFY(deaths > 30);
    }

    /// Who computes nothing hands on what it owes.
    void who_is_not_visited_pays() {
        Books books(WireType::int8);
        books.iterate(plan_of(exchanges()));
        const double owed = norm_of(books.compute.residuals().gradients, 7);
        QVERIFY(owed > 0);
        for (int i = 0; i < 2; ++i) books.iterate(plan_of(exchanges(), false));
        QVERIFY(norm_of(books.compute.residuals().gradients, 7) < owed / 1000);
        QVERIFY(apart(books.accounted(), books.computed) < 1e-5);
    }

    /// Sums whose step is never taken change nothing: the iteration done again gives the bits of one that was not
    /// disturbed.
    void what_is_given_up_changes_nothing() {
        Rng rng(3);
        const auto plan = plan_of(random_pieces(rng));
        Books calm(WireType::int8), disturbed(WireType::int8);
        for (auto* books : {&calm, &disturbed}) books->iterate(plan);
        const auto before = disturbed.compute.residuals();
        LocalTransport alone;
        disturbed.compute.begin_iteration(1);
        for (const auto& task : tasks_of(plan, false, Rng(1))) disturbed.compute.submit(task);
        disturbed.compute.wait();
        for (int stage = 0; stage < 3; ++stage) disturbed.compute.reduce(stage, alone);
        QVERIFY(disturbed.compute.residuals() == before);
        for (auto* books : {&calm, &disturbed}) books->iterate(plan);
        QVERIFY(disturbed.compute.residuals() == calm.compute.residuals());
        QVERIFY(disturbed.compute.residuals() != before);
        for (int stage = 0; stage < 3; ++stage)
            QVERIFY(disturbed.compute.reduced_gradient(stage) == calm.compute.reduced_gradient(stage));
    }

    /// From a checkpoint with other nodes in its stages: the first of a stage pays for who is not there.
    void others_pay_for_who_is_gone() {
        Books books(WireType::int8);
        books.iterate(plan_of(exchanges()));
        const auto owed = books.compute.residuals();
        QCOMPARE(owed.gradients.size(), std::size_t(9));
        auto plan = plan_of({});
        std::erase(plan.stages[1], NodeIndex(7));
        for (auto& path : plan.paths)
            for (auto& node : path.nodes)
                if (node == 7) node = NodeIndex(2);
        TorchCompute later(books.experiment, plan, make_batches(books.experiment), 1, 1);
        later.set_residuals(owed);
        Sums before, after;
        add(before, owed.gradients);
        add(after, later.residuals().gradients);
        QCOMPARE(later.residuals().gradients.size(), std::size_t(8));
        QVERIFY(apart(after, before) < 1e-6);
        auto wrong = owed;
        wrong.gradients.front().values.pop_back();
        QVERIFY_THROWS_EXCEPTION(std::logic_error, later.set_residuals(wrong));
        // Where nothing is rounded nothing is owed.
        TorchCompute exact(experiment_of(WireType::fp32), plan_of({}), make_batches(books.experiment), 1, 1);
        exact.set_residuals(owed);
        QVERIFY(exact.residuals().empty());
    }
};

QTEST_APPLESS_MAIN(TestGradientFeedback)
#include "test_gradient_feedback.moc"
