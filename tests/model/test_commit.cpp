// SPDX-License-Identifier: GPL-3.0-or-later
// A training that goes on from any of its commits has the bits of the one that was not interrupted, also over a change
// of plan.
#include <QtTest>

#include <nlohmann/json.hpp>

#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 7, switch_at = 3;

struct Commit {
    TrainingPosition position;
    Plan plan;
    std::vector<StageState> stages;
    RoundingResiduals residuals;
};

class Kept final : public CommitListener {
public:
    explicit Kept(const TorchCompute& compute) : compute_(compute) {}
    void committed(const TrainingPosition& position, const Plan& plan, bool last) override {
        if (last) return;
        Commit commit{position, plan, {}, compute_.residuals()};
        for (const auto& nodes : plan.stages) commit.stages.push_back(compute_.state(nodes.back()));
        all.push_back(std::move(commit));
    }
    std::vector<Commit> all;

private:
    const TorchCompute& compute_;
};

/// Hears all, and has another plan take over before one of the iterations.
class Witness final : public TrainingListener, public TrainingController {
public:
    Witness(int done, std::string plan_json) : done_(done), plan_json_(std::move(plan_json)) {}
    void validated(int done, double network_s, double, std::int64_t tokens, const ValidationResult& result) override {
        seen.emplace_back(done, network_s, tokens, result.loss_nats, -1);
    }
    void iterated(const IterationReport& r) override {
        seen.emplace_back(r.iteration, r.offset_s + r.timeline->iteration_s, r.tokens, r.result.loss_sum_nats,
                          r.result.gradient_norm);
    }
    TrainingCommand next() override { return {false, done_++ == switch_at ? plan_json_ : ""}; }
    std::vector<std::tuple<int, double, std::int64_t, double, double>> seen;

private:
    int done_;
    std::string plan_json_;
};

}  // namespace

class TestCommit : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void goes_on_from_every_commit_data() {
        QTest::addColumn<int>("wire");
        QTest::newRow("fp32") << static_cast<int>(WireType::fp32);
        QTest::newRow("int8") << static_cast<int>(WireType::int8);
    }
    void goes_on_from_every_commit() {
        QFETCH(int, wire);
        auto experiment = small_experiment(3, 6);
        experiment.seed = 4;
        experiment.pipeline.microbatches = 4;
        experiment.costs.wire = static_cast<WireType>(wire);
        experiment.topology.hop_matrix_s.assign(6, std::vector<double>(6, 0.01));
        for (std::size_t i = 0; i < 6; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
        experiment.training.iterations = iterations;
        experiment.training.validate_every = 2;
        const auto problem = make_problem(experiment);
        const auto plan = make_plan({{0, 1}, {2, 3}, {4, 5}}, {{0, 2, 4}, {1, 3, 5}, {0, 3, 4}, {1, 2, 5}});
        const auto later = make_plan({{0, 1}, {2, 3}, {4, 5}}, {{0, 3, 5}, {1, 2, 4}, {0, 2, 5}, {1, 3, 4}});
        const auto later_json = to_json(later, problem, nullptr).dump();
        LocalTransport alone;

        TorchCompute compute(experiment, plan, make_batches(experiment), experiment.seed, 2);
        Witness whole(0, later_json);
        Kept kept(compute);
        train(experiment, problem, one_rank_schedule(6, plan), compute, alone, &whole, &whole, {}, {.commits = &kept});
        QCOMPARE(kept.all.size(), std::size_t(iterations));
        for (const auto& commit : kept.all) {
            const int done = commit.position.iterations_done;
            QVERIFY(commit.plan.paths == (done > switch_at ? later : plan).paths);
            TorchCompute other(experiment, commit.plan, make_batches(experiment), experiment.seed + 1, 2);
            for (std::size_t s = 0; s < commit.stages.size(); ++s)
                for (const int node : commit.plan.stages[s]) other.set_state(node, commit.stages[s]);
            other.set_residuals(commit.residuals);
            Witness rest(done, later_json);
            train(experiment, problem, one_rank_schedule(6, commit.plan), other, alone, &rest, &rest, {},
                  {.position = commit.position, .validate_first = false});
            // The tail of what the undisturbed training told, validations where they were due included.
            QVERIFY2(rest.seen.size() <= whole.seen.size(), qPrintable(QString::number(done)));
            QVERIFY(std::equal(rest.seen.rbegin(), rest.seen.rend(), whole.seen.rbegin()));
            const auto before = static_cast<std::size_t>(done + 1 + done / 2);
            QCOMPARE(rest.seen.size(), whole.seen.size() - before);
            for (int node = 0; node < 6; ++node) QVERIFY(other.state(node) == compute.state(node));
        }
    }
};

QTEST_GUILESS_MAIN(TestCommit)
#include "test_commit.moc"
