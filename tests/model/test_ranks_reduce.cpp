// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions between ranks under the wall clock: gradients and weights are, to the bit, those of one process
// under the virtual clock, on every replica, for pieces of every form.
#include <QtTest>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/engine/virtual_clock.h"
#include "core/model/torch_compat.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "tests/engine/thread_transport.h"
#include "tests/model/training_fixture.h"
#include "tests/nccl/lanes_in_process.h"
#include "tests/planner/random_reductions.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr int iterations = 3;

struct Heard final : TrainingListener {
    std::vector<Timeline> timelines;
    std::vector<IterationResult> results;
    void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
    void iterated(const IterationReport& report) override {
        timelines.push_back(*report.timeline);
        results.push_back(report.result);
    }
};

struct Trained {
    std::vector<std::vector<float>> weights;  ///< of each node
    std::map<int, std::vector<float>> owed;   ///< of its gradients, by node
    Heard heard;
};

/// Eight nodes of three stages, one of which nobody passes, in one region.
Experiment experiment_of(Clock clock, int ranks, WireType wire = WireType::fp32) {
    auto experiment = small_experiment(3, 8);
    experiment.seed = 21;
    experiment.topology.regions = {{.id = "here"}};
    for (auto& node : experiment.topology.nodes) node.region = "here";
    experiment.pipeline.microbatches = 6;
    experiment.training.iterations = iterations;
    experiment.costs.all_reduce = AllReduceRule::planned;
    experiment.costs.links = LinkRule::shared;
    experiment.training.gradient_wire = wire;
    experiment.execution = {.clock = clock,
                            .compute = Compute::torch,
                            .transport = ranks > 1 ? Transport::gloo : Transport::local,
                            .ranks = ranks};
    return experiment;
}

Plan plan_of(const Experiment& experiment, PerStage<Pieces> reductions) {
    auto plan =
        make_plan({{0, 1}, {2, 3, 4, 7}, {5, 6}}, {{0, 2, 5}, {1, 3, 6}, {0, 4, 5}, {1, 2, 6}, {0, 3, 5}, {1, 4, 6}});
    plan.reductions = std::move(reductions);
    const auto problem = make_problem(experiment);
    plan.order = executed_order(evaluate(problem, plan), problem.nodes());
    return plan;
}

Trained train_virtually(const PerStage<Pieces>& reductions, WireType wire = WireType::fp32) {
    const auto experiment = experiment_of(Clock::virtual_time, 1, wire);
    const auto problem = make_problem(experiment);
    const auto plan = plan_of(experiment, reductions);
    TorchCompute compute(experiment, plan, make_batches(experiment), experiment.seed, 2);
    VirtualDriver driver(problem, plan, compute);
    Trained trained;
    for (int i = 0; i < iterations; ++i) trained.heard.results.push_back(driver.train(i));
    for (int node = 0; node < problem.nodes(); ++node) trained.weights.push_back(compute.weights(node));
    for (auto& one : compute.residuals().gradients) trained.owed[one.node] = std::move(one.values);
    return trained;
}

/// Ranks as threads of this process, nodes in turn; `lanes`: over a NCCL in memory.
Trained train_ranks(const PerStage<Pieces>& reductions, int ranks, bool shaped = false, WireType wire = WireType::fp32,
                    TransferOrder order = TransferOrder::pairs) {
    auto experiment = experiment_of(Clock::wall, ranks, wire);
    experiment.execution.shape_links = shaped;
    const auto problem = make_problem(experiment);
    std::vector<int> rank_of;
    for (int node = 0; node < problem.nodes(); ++node) rank_of.push_back(node % ranks);
    const auto schedule = make_schedule(problem, plan_of(experiment, reductions), rank_of, ranks, order);
    const bool by_lanes = order == TransferOrder::lanes;
    if (const auto why = find_deadlock(problem, schedule)) throw std::runtime_error(*why);
    Trained trained;
    trained.weights.resize(rank_of.size());
    Exchange exchange(ranks);
    std::mutex mutex;
    {
        std::vector<std::jthread> threads;
        for (int rank = 0; rank < ranks; ++rank)
            threads.emplace_back([&, rank] {
                ThreadTransport many(exchange, by_lanes ? without_transfers(schedule) : schedule, rank);
                std::optional<NcclTransport> lane;
                if (by_lanes) lane.emplace(many, fake_table(), queue_of(rank), schedule);
                LocalTransport one;
                RankTransport& transport = by_lanes     ? static_cast<RankTransport&>(*lane)
                                           : ranks == 1 ? static_cast<RankTransport&>(one)
                                                        : many;
                TorchCompute compute(experiment, schedule, rank, make_batches(experiment), 1);
                train(experiment, problem, schedule, compute, transport, rank == 0 ? &trained.heard : nullptr, nullptr);
                for (const int node : schedule.nodes_of(rank))
                    trained.weights[skippipe::at(node)] = compute.weights(node);
                const std::lock_guard lock(mutex);
                for (auto& one : compute.residuals().gradients) trained.owed[one.node] = std::move(one.values);
            });
    }
    return trained;
}

PerStage<Pieces> pieces_of(std::uint64_t seed) {
    Rng rng(seed);
    Plan plan;
    plan.stages = {{0, 1}, {2, 3, 4, 7}, {5, 6}};
    return examples::random_reductions(plan, rng);
}

}  // namespace

class TestRanksReduce : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    void bits_are_the_virtual_clocks_data() {
        QTest::addColumn<bool>("by_lanes");
        QTest::newRow("by_pairs") << false;
        QTest::newRow("by_lanes") << true;
    }
    /// Trees, exchanges and the default; node 7 is visited by nobody and takes part.
    void bits_are_the_virtual_clocks() {
        QFETCH(bool, by_lanes);
        const auto order = by_lanes ? TransferOrder::lanes : TransferOrder::pairs;
        for (std::uint64_t seed = 0; seed < 6; ++seed) {
            const auto reductions = seed == 0 ? PerStage<Pieces>{} : pieces_of(seed);
            const auto expected = train_virtually(reductions);
            for (const int ranks : by_lanes ? std::vector{2, 3} : std::vector{1, 2, 3, 5}) {
                const auto trained = train_ranks(reductions, ranks, false, WireType::fp32, order);
                const auto where = QString("seed %1, %2 ranks").arg(seed).arg(ranks);
                QCOMPARE(trained.heard.results.size(), std::size_t(iterations));
                for (int i = 0; i < iterations; ++i) {
                    const auto &a = trained.heard.results[skippipe::at(i)],
                               &b = expected.heard.results[skippipe::at(i)];
                    QCOMPARE(a.stage_tokens, b.stage_tokens);
                    QVERIFY2(a.gradient_norm == b.gradient_norm, qPrintable(where));
                }
                for (std::size_t node = 0; node < trained.weights.size(); ++node)
                    QVERIFY2(trained.weights[node] == expected.weights[node],
                             qPrintable(where + QString(", node %1").arg(node)));
            }
        }
    }

    void rounded_sums_are_the_same_everywhere_data() {
        QTest::addColumn<int>("wire");
        QTest::addColumn<double>("share");  // of fp32's bytes
        QTest::addColumn<double>("off");    // of the gradient's norm, at most
        QTest::newRow("bf16") << static_cast<int>(WireType::bf16) << 0.5 << 1e-2;
        QTest::newRow("int8") << static_cast<int>(WireType::int8) << (1 + 4.0 / 256) / 4 << 5e-2;
    }
    /// Fewer bytes, replicas still equal, the same bits and the same owed under both clocks, and losses close by.
    void rounded_sums_are_the_same_everywhere() {
        QFETCH(int, wire);
        QFETCH(double, share);
        QFETCH(double, off);
        const auto rounds_to = static_cast<WireType>(wire);
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            const auto reductions = seed == 0 ? PerStage<Pieces>{} : pieces_of(seed);
            const auto exact = train_virtually(reductions), expected = train_virtually(reductions, rounds_to);
            QVERIFY(expected.weights[2] != exact.weights[2]);
            for (const auto& [a, b] : {std::pair{0, 1}, {2, 3}, {2, 4}, {2, 7}, {5, 6}})
                QVERIFY(expected.weights[skippipe::at(a)] == expected.weights[skippipe::at(b)]);
            QCOMPARE(expected.owed.size(), std::size_t(rounds_to == WireType::int8 ? 8 : 0));
            for (const int ranks : {1, 3}) {
                const auto trained = train_ranks(reductions, ranks, false, rounds_to);
                QVERIFY(trained.weights == expected.weights);
                QVERIFY(trained.owed == expected.owed);
                for (int i = 0; i < iterations; ++i) {
                    const auto &a = trained.heard.results[skippipe::at(i)], &b = exact.heard.results[skippipe::at(i)];
                    QVERIFY(std::abs(a.loss_sum_nats / b.loss_sum_nats - 1) < off / 10);
                    QVERIFY(std::abs(a.gradient_norm / b.gradient_norm - 1) < off);
                }
            }
        }
        const auto bytes_of = [](WireType sent) {
            const auto experiment = experiment_of(Clock::wall, 3, sent);
            double bytes = 0;
            for (const auto& span : evaluate(make_problem(experiment), plan_of(experiment, {})).spans)
                if (span.kind == SpanKind::transfer_reduction) bytes += span.bytes;
            return bytes;
        };
        QCOMPARE(bytes_of(rounds_to), share * bytes_of(WireType::fp32));
    }

    /// Every hand-over is a transfer in the timeline, with the plan's bytes.
    void timelines_show_the_transfers() {
        const auto experiment = experiment_of(Clock::wall, 3);
        const auto problem = make_problem(experiment);
        for (const bool shaped : {false, true}) {
            const auto reductions = pieces_of(3);
            const auto trained = train_ranks(reductions, 3, shaped);
            const auto planned = evaluate(problem, plan_of(experiment, reductions));
            const auto of = [](const Timeline& timeline) {
                std::map<std::tuple<int, int, int>, double> bytes;
                for (const auto& span : timeline.spans)
                    if (span.kind == SpanKind::transfer_reduction)
                        bytes[{span.node, span.to_node, span.stage}] += span.bytes;
                return bytes;
            };
            QCOMPARE(trained.heard.timelines.size(), std::size_t(iterations));
            for (const auto& timeline : trained.heard.timelines) {
                QCOMPARE(of(timeline), of(planned));
                QVERIFY(!of(timeline).empty());
                int sums = 0;
                for (const auto& span : timeline.spans) sums += span.kind == SpanKind::all_reduce;
                QCOMPARE(sums, 8);
            }
        }
    }

    /// The pieces' transfers are part of the proof.
    void deadlocks_are_found() {
        const auto experiment = experiment_of(Clock::wall, 3);
        const auto problem = make_problem(experiment);
        std::vector<int> rank_of;
        for (int node = 0; node < problem.nodes(); ++node) rank_of.push_back(node % 3);
        const auto good = make_schedule(problem, plan_of(experiment, pieces_of(3)), rank_of, 3);
        QVERIFY(!find_deadlock(problem, good));
        const auto is_part = [](const RankTransfer& transfer) { return transfer.is_reduction(); };
        auto early = good;  // all parts before all messages
        std::stable_partition(early.transfers.begin(), early.transfers.end(), is_part);
        QVERIFY(find_deadlock(problem, early).has_value());
        auto missing = good;
        const auto last = std::find_if(missing.transfers.rbegin(), missing.transfers.rend(), is_part);
        missing.transfers.erase(std::next(last).base());
        QVERIFY(find_deadlock(problem, missing).has_value());
    }
};

QTEST_APPLESS_MAIN(TestRanksReduce)
#include "test_ranks_reduce.moc"
