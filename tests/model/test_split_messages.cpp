// SPDX-License-Identifier: GPL-3.0-or-later
// Split backward over ranks, each operation by hand: messages find the operation that they are for, whatever runs
// beside it.
#include <QtTest>

#include <future>
#include <map>

#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr auto patient = std::chrono::seconds(20);

/// One node a stage; the third is on another rank, so that messages go there and come back. Two microbatches.
class TwoRanks {
public:
    TwoRanks() {
        auto experiment = small_experiment(4, 4);
        experiment.pipeline.microbatches = 2;
        experiment.pipeline.split_backward = true;
        experiment.topology.hop_matrix_s.assign(4, std::vector<double>(4, 0.01));
        for (std::size_t i = 0; i < 4; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
        auto plan = make_plan({{0}, {1}, {2}, {3}}, {{0, 1, 2, 3}, {0, 1, 2, 3}});
        plan.split_backward = true;
        schedule_ = make_schedule(make_problem(experiment), plan, {0, 0, 1, 0}, 2);
        for (int rank = 0; rank < 2; ++rank) {
            std::optional<Batches> batches;
            if (rank == 0) batches = make_batches(experiment);
            ranks_.push_back(std::make_unique<TorchCompute>(experiment, schedule_, rank, std::move(batches), 2));
            ranks_.back()->begin_iteration(0);
        }
    }

    /// Starts an operation with the message that came for it, if any; `ended` runs where it ends, before what it sends
    /// is taken. Throws from the future what the operation threw.
    std::future<void> start(OpKind kind, int microbatch, int node, std::function<void()> ended = {}) {
        const auto end = std::make_shared<std::promise<void>>();
        auto& rank = *ranks_[static_cast<std::size_t>(schedule_.rank_of[static_cast<std::size_t>(node)])];
        Buffer input;
        if (const auto found = kind == OpKind::W ? messages_.end() : messages_.find({node, microbatch});
            found != messages_.end()) {
            input = std::move(found->second);
            messages_.erase(found);
        }
        rank.submit({{kind, MicrobatchIndex(microbatch)}, node, node, node}, std::move(input),
                    [this, end, &rank, kind, microbatch, node, ended](const TaskEnd& how) {
                        if (ended) ended();
                        if (how.error) return end->set_exception(how.error);
                        for (const auto& transfer : schedule_.transfers)
                            if (transfer.from_node == node && transfer.operation.microbatch == microbatch &&
                                kind != OpKind::W &&
                                (transfer.operation.kind == OpKind::I) == (kind == OpKind::I || kind == OpKind::L))
                                messages_[{transfer.to_node, microbatch}] = rank.take_message(transfer);
                        end->set_value();
                    });
        return end->get_future();
    }
    void run(OpKind kind, int microbatch, int node) { start(kind, microbatch, node).get(); }

private:
    RankSchedule schedule_;
    std::map<std::pair<int, int>, Buffer> messages_;  ///< by node and microbatch; one operation ends at a time
    std::vector<std::unique_ptr<TorchCompute>> ranks_;
};

}  // namespace

class TestSplitMessages : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { use_one_thread(); }

    /// Node 3's W of a microbatch runs when the message for node 1's I of it has come to the same rank and that I still
    /// waits for its node: it must not take it.
    void a_weight_gradient_takes_no_message() {
        TwoRanks ranks;
        for (int node = 0; node < 4; ++node) ranks.run(OpKind::F, 0, node);
        ranks.run(OpKind::L, 0, 0);
        ranks.run(OpKind::I, 0, 3);
        ranks.run(OpKind::I, 0, 2);  // and its message goes to node 1
        ranks.run(OpKind::F, 1, 0);
        std::promise<void> gate;
        const auto busy = ranks.start(OpKind::F, 1, 1, [&] { gate.get_future().wait_for(patient); });
        auto input_gradient = ranks.start(OpKind::I, 0, 1);
        auto weight_gradient = ranks.start(OpKind::W, 0, 3);
        const bool beside = weight_gradient.wait_for(patient / 2) == std::future_status::ready &&
                            input_gradient.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
        gate.set_value();
        QVERIFY2(beside, "W ran while I waited");
        busy.wait();
        QVERIFY_THROWS_NO_EXCEPTION(weight_gradient.get());
        QVERIFY_THROWS_NO_EXCEPTION(input_gradient.get());
        for (const int node : {2, 1}) QVERIFY_THROWS_NO_EXCEPTION(ranks.run(OpKind::W, 0, node));
        QVERIFY_THROWS_NO_EXCEPTION(ranks.run(OpKind::I, 0, 0));
        QVERIFY_THROWS_NO_EXCEPTION(ranks.run(OpKind::W, 0, 0));
    }
};

QTEST_GUILESS_MAIN(TestSplitMessages)
#include "test_split_messages.moc"
