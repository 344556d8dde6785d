// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks over lanes: what goes over them, what they say where something fails, and that those who are left go on.
// What every transport keeps is tested with the others: tests/transports/test_contract.cpp.
#include <QTest>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <optional>

#include "core/engine/cost_compute.h"
#include "core/engine/trainer.h"
#include "core/engine/wall_clock.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"
#include "tests/engine/thread_transport.h"
#include "tests/nccl/lanes_in_process.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

/// `messages` from each rank to each other one, in turns; every rank hosts a node of the one stage.
RankSchedule everybody(int ranks, int messages) {
    RankSchedule schedule{.ranks = ranks, .plan = {.stages = {{}}, .blocks = {1}}};
    schedule.reduce_order = {0};
    schedule.transfer_order = TransferOrder::lanes;
    for (int r = 0; r < ranks; ++r) {
        schedule.plan.stages[0].emplace_back(r);
        schedule.rank_of.push_back(r);
    }
    for (int m = 0; m < messages; ++m)
        for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to)
                if (from != to)
                    schedule.transfers.push_back(
                        {static_cast<int>(schedule.transfers.size()), {OpKind::F, MicrobatchIndex(m)}, from, to});
    return schedule;
}

/// The same among those that are there.
RankSchedule without(RankSchedule schedule, const std::vector<int>& members) {
    const auto gone = [&](int node) { return std::find(members.begin(), members.end(), node) == members.end(); };
    std::erase_if(schedule.plan.stages[0], [&](NodeIndex node) { return gone(node); });
    std::erase_if(schedule.transfers, [&](const RankTransfer& t) { return gone(t.from_node) || gone(t.to_node); });
    return schedule;
}

std::size_t size_of(const RankTransfer& transfer) { return static_cast<std::size_t>(transfer.number % 5) * 700 + 4; }

Delivery filled(const RankTransport& transport, const RankTransfer& transfer) {
    Buffer bytes(size_of(transfer));
    std::memset(bytes.data(), transfer.number % 251, bytes.size());
    const double now_s = transport.now_s();
    return {transfer, {now_s, now_s, now_s}, std::move(bytes)};
}

bool is_right(const Delivery& message) {
    const auto value = static_cast<std::byte>(message.transfer.number % 251);
    return message.bytes.size() == size_of(message.transfer) &&
           std::all_of(message.bytes.data(), message.bytes.data() + message.bytes.size(),
                       [&](std::byte b) { return b == value; });
}

/// Who asks for the time from another thread, as a lane does of what came, waits until some time after regrouping.
class HeldClock final : public ThreadTransport {
public:
    using ThreadTransport::ThreadTransport;

    void hold() { holds_ = true; }
    void wait_until_held() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return held_; });
    }
    double now_s() const override {
        if (holds_ && std::this_thread::get_id() != own_) {
            std::unique_lock lock(mutex_);
            held_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return released_; });
        }
        return ThreadTransport::now_s();
    }
    Regrouping regroup() override {
        auto met = ThreadTransport::regroup();
        release_ = std::async(std::launch::async, [this] {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            const std::lock_guard lock(mutex_);
            released_ = true;
            changed_.notify_all();
        });
        return met;
    }

private:
    const std::thread::id own_ = std::this_thread::get_id();
    std::atomic<bool> holds_ = false;
    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    mutable bool held_ = false;
    bool released_ = false;
    std::future<void> release_;
};

struct Rank {
    ThreadTransport& control;
    NcclTransport& transport;
    std::shared_ptr<HostQueue> queue;
};

/// Threads of the test end or the program does: what hangs cannot be ended.
void as_ranks(const RankSchedule& schedule, const std::function<void(Rank&)>& body, NcclOptions options = {},
              std::uint64_t seed = 1) {
    Exchange exchange(schedule.ranks);
    std::vector<std::future<void>> done;
    for (int rank = 0; rank < schedule.ranks; ++rank)
        done.push_back(std::async(std::launch::async, [&, rank] {
            ThreadTransport control(exchange, without_transfers(schedule), rank);
            auto queue = queue_of(rank, seed);
            {
                NcclTransport transport(control, fake_table(), queue, schedule, options);
                Rank one{control, transport, queue};
                body(one);
            }
            const auto [damaged, kept] = queue->damage();
            if (damaged > 0 || kept > 0) throw std::runtime_error("memory of the device was not looked after");
        }));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (auto& one : done)
        if (one.wait_until(until) != std::future_status::ready) {
            std::fprintf(stderr, "FAIL!  : a rank does not end\n");
            std::_Exit(1);
        }
    for (auto& one : done) one.get();
}

/// One iteration: all messages, and the sum of the stage beside them. What comes is counted apart from this call: one
/// that is left by an exception may still be delivered to.
int wrong_in_iteration(RankTransport& transport, const RankSchedule& schedule) {
    struct Counts {
        std::atomic<int> wrong{0}, came{0};
    };
    const auto counts = std::make_shared<Counts>();
    transport.begin_iteration(size_of, [counts](const Delivery& message) {
        counts->wrong += !is_right(message);
        ++counts->came;
    });
    std::future<void> sum = std::async(std::launch::async, [&] {
        std::vector<float> values(100, static_cast<float>(transport.rank() + 1));
        transport.all_reduce(0, values);
        float expected = 0;
        for (const NodeIndex node : schedule.plan.stages[0]) expected += static_cast<float>(int{node} + 1);
        counts->wrong += values != std::vector<float>(100, expected);
    });
    int due = 0;
    for (const auto& transfer : schedule.transfers) {
        if (transfer.from_node == transport.rank()) transport.send(filled(transport, transfer));
        due += transfer.to_node == transport.rank();
    }
    sum.get();
    transport.end_iteration();
    return counts->wrong + std::abs(due - counts->came);
}

}  // namespace

class TestNccl : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { reset_fake_nccl(); }
    void cleanup() {
        const auto said = fake_violations();
        QVERIFY2(said.empty(), said.empty() ? "" : said.front().c_str());
    }

    /// Messages and sums in one order, whatever the delays; what is ready together goes together.
    void messages_and_sums_share_an_order() {
        auto schedule = everybody(3, 12);
        for (const std::size_t place : {std::size_t{0}, schedule.transfers.size() / 2, schedule.transfers.size()}) {
            schedule.reduce_after = {place};
            std::atomic<int> wrong{0};
            as_ranks(
                schedule,
                [&](Rank& rank) {
                    for (int i = 0; i < 3; ++i) wrong += wrong_in_iteration(rank.transport, schedule);
                },
                {}, place + 5);
            QCOMPARE(wrong.load(), 0);
        }
        const auto counts = fake_counts();
        QCOMPARE(counts.sums, 9);
        QCOMPARE(counts.transfers, 3 * (3 * 72 + 6));  // and one to make each connection
        QVERIFY(counts.groups > 0);
    }

    /// Where no stage's gradient is to be summed its turn passes, wherever it stands.
    void a_sum_of_nothing_passes() {
        auto schedule = everybody(2, 6);
        schedule.reduce_after = {0};
        as_ranks(schedule, [&](Rank& rank) {
            rank.transport.begin_iteration(size_of, [](const Delivery&) {});
            rank.transport.all_reduce(0, {});
            for (const auto& transfer : schedule.transfers)
                if (transfer.from_node == rank.transport.rank()) rank.transport.send(filled(rank.transport, transfer));
            rank.transport.end_iteration();
        });
        QCOMPARE(fake_counts().sums, 0);
    }

    /// Messages that stay on the device: written by its queue, ready at their event, and sent on from there.
    void messages_on_the_device() {
        const auto schedule = everybody(2, 8);
        std::atomic<int> wrong{0}, on_device{0};
        as_ranks(
            schedule,
            [&](Rank& rank) {
                // Slow, so that messages are handed over long before they are written.
                auto own = std::make_shared<HostQueue>("work of " + rank.queue->identity(), HostQueueOptions{9, 3000});
                HostQueue reads("reads of " + rank.queue->identity());
                std::vector<StagingMemory> texts;  // that the queue copies later
                const auto message = [&](const RankTransfer& transfer) {
                    const auto size = size_of(transfer);
                    texts.emplace_back(own, size);
                    std::memset(texts.back().data(), transfer.number % 251, size);
                    DeviceMemory memory(own, size + Buffer::envelope_bytes);
                    own->copy(memory.data(), texts.back().data(), size);
                    const double now_s = rank.transport.now_s();
                    return Delivery{transfer, {now_s, now_s, now_s}, Buffer(std::move(memory), own->record())};
                };
                texts.reserve(schedule.transfers.size());
                rank.transport.begin_iteration(size_of, [&](Delivery come) {
                    on_device += come.bytes.kind() == MemoryKind::device;
                    Buffer host(come.bytes.size());
                    reads.wait(come.bytes.ready());
                    reads.copy(host.data(), come.bytes.data(), host.size());
                    reads.record()->wait();
                    wrong += !is_right({come.transfer, come.times, std::move(host)});
                });
                for (const auto& transfer : schedule.transfers)
                    if (transfer.from_node == rank.transport.rank()) rank.transport.send(message(transfer));
                rank.transport.end_iteration();
                own->record()->wait();
            },
            {.keeps_on_device = true});
        QCOMPARE(wrong.load(), 0);
        QCOMPARE(on_device.load(), 16);
    }

    void one_gpu_for_two_ranks_is_named() {
        const auto schedule = everybody(2, 1);
        Exchange exchange(2);
        std::vector<std::future<std::string>> said;
        for (int rank = 0; rank < 2; ++rank)
            said.push_back(std::async(std::launch::async, [&, rank]() -> std::string {
                ThreadTransport control(exchange, without_transfers(schedule), rank);
                try {
                    NcclTransport transport(control, fake_table(), queue_of(7), schedule);
                } catch (const InputError& error) {
                    return error.what();
                }
                return {};
            }));
        for (auto& one : said) QVERIFY(one.get().find("/execution/transport: ranks 0 and 1 are on one GPU") == 0);
        QCOMPARE(fake_counts().communicators, 0);
    }

    /// A GPU that takes work and does nothing: an error after a while, with what does not move.
    void what_stalls_is_named() {
        const auto schedule = everybody(2, 3);
        std::atomic<int> named{0};
        as_ranks(schedule,
                 [&](Rank& rank) {
                     rank.transport.all_gather({0});
                     fake_stall(device_of(1));
                     rank.transport.when_broken([](std::exception_ptr) {});
                     try {
                         wrong_in_iteration(rank.transport, schedule);
                     } catch (const std::exception& error) {
                         named += std::string(error.what()).find("has not moved for 0.3 s") != std::string::npos;
                         try {
                             rank.transport.end_iteration();
                         } catch (const std::exception& again) {
                             named += std::string(again.what()).find("has not moved for 0.3 s") != std::string::npos;
                         }
                     }
                     rank.transport.abort();
                 },
                 {.stalled_after_s = 0.3, .lost_within_s = 0.1});
        QVERIFY(named > 0);
    }

    /// What NCCL says of a connection ends the iteration in its words, if nobody is found to be lost.
    void an_error_of_nccl_is_told() {
        const auto schedule = everybody(2, 3);
        std::mutex mutex;
        std::vector<std::string> told;
        as_ranks(schedule,
                 [&](Rank& rank) {
                     rank.transport.all_gather({0});
                     rank.transport.when_broken([&](const std::exception_ptr& error) {
                         const std::lock_guard lock(mutex);
                         try {
                             std::rethrow_exception(error);
                         } catch (const std::exception& why) {
                             told.emplace_back(why.what());
                         }
                     });
                     rank.transport.begin_iteration(size_of, [](const Delivery&) {});
                     fake_fail(device_of(rank.transport.rank()), NcclResult::remote_error);
                     QVERIFY_THROWS_EXCEPTION(NcclFailure, rank.transport.end_iteration());
                     rank.transport.when_broken({});
                 },
                 {.lost_within_s = 0.1});
        QCOMPARE(told.size(), std::size_t{2});
        for (const auto& one : told) QVERIFY2(one.find("network error") != std::string::npos, one.c_str());
    }

    /// A rank dies while messages go, or in a sum; its peers hear of it from their sockets, or only from the control.
    /// Those who are left make new communicators and go on; then it comes back.
    void those_who_are_left_go_on_data() {
        QTest::addColumn<bool>("in_sum");
        QTest::addColumn<bool>("tells");
        for (const bool in_sum : {false, true})
            for (const bool tells : {false, true})
                QTest::addRow("in %s, %s", in_sum ? "a sum" : "a message", tells ? "sockets break" : "silence")
                    << in_sum << tells;
    }
    void those_who_are_left_go_on() {
        QFETCH(bool, in_sum);
        QFETCH(bool, tells);
        fake_tells_of_ends(tells);
        auto schedule = everybody(3, 10);
        schedule.reduce_after = {30};
        std::atomic<int> wrong{0}, went_on{0}, met_before{0};
        as_ranks(schedule, [&](Rank& rank) {
            rank.transport.outlive_losses(true);
            wrong += wrong_in_iteration(rank.transport, schedule);
            rank.transport.all_gather({0});
            ++met_before;
            if (rank.transport.rank() == 2) {
                rank.transport.begin_iteration(size_of, [](const Delivery&) {});
                for (std::size_t i = 0; i < (in_sum ? 30U : 8U); ++i)
                    if (schedule.transfers[i].from_node == 2)
                        rank.transport.send(filled(rank.transport, schedule.transfers[i]));
                std::this_thread::sleep_for(std::chrono::milliseconds(30));
                while (met_before < 3) std::this_thread::yield();
                return rank.control.die();
            }
            bool interrupted = false;
            rank.transport.when_broken([](std::exception_ptr) {});
            try {
                wrong_in_iteration(rank.transport, schedule);
            } catch (const Aborted&) {
                interrupted = true;
            }
            wrong += !interrupted || !rank.transport.must_regroup();
            rank.transport.when_broken({});
            const auto met = rank.transport.regroup();
            wrong += met.members != std::vector<int>{0, 1};
            const auto rest = without(schedule, met.members);
            rank.transport.follow(rest);
            for (int i = 0; i < 2; ++i) wrong += wrong_in_iteration(rank.transport, rest);
            rank.transport.all_gather({0});  // who leaves breaks the sockets of who is not through yet
            ++went_on;
        });
        QCOMPARE(wrong.load(), 0);
        QCOMPARE(went_on.load(), 2);
    }

    /// The engine over lanes: random plans run by the rules, as they do over other transports.
    /// What a lane has received as its rank regroups is nobody's any more: who was told of it may be gone.
    void nothing_is_delivered_after_regrouping() {
        const auto schedule = everybody(2, 1);
        Exchange exchange(2);
        std::atomic<int> late{0};
        std::vector<std::future<void>> done;
        for (int rank = 0; rank < 2; ++rank)
            done.push_back(std::async(std::launch::async, [&, rank] {
                HeldClock control(exchange, without_transfers(schedule), rank);
                NcclTransport transport(control, fake_table(), queue_of(rank), schedule);
                std::atomic<bool> over = false;
                control.hold();
                transport.begin_iteration(size_of, [&](const Delivery&) { late += over; });
                transport.send(filled(transport, schedule.transfers[static_cast<std::size_t>(rank)]));
                control.wait_until_held();
                transport.abort();
                over = true;
                transport.regroup();
            }));
        for (auto& one : done) {
            QVERIFY(one.wait_for(std::chrono::seconds(30)) == std::future_status::ready);
            one.get();
        }
        QCOMPARE(late.load(), 0);
    }

    void random_plans_run_by_the_rules() {
        int done = 0;
        for (std::uint64_t seed = 0; done < 10; ++seed) {
            auto [problem, plan] = seed % 2 == 0 ? examples::random_plan(seed) : examples::uneven_plan(seed);
            for (auto& s : problem.seconds_per_sample_per_block) s *= 1e-4;
            for (auto& hop : problem.hops) {
                hop.latency_s *= 1e-4;
                hop.seconds_per_forward *= 1e-4;
                hop.seconds_per_backward *= 1e-4;
            }
            if (problem.nodes() < 3 || !evaluate(problem, plan).complete) continue;
            ++done;
            std::vector<int> rank_of(static_cast<std::size_t>(problem.nodes()), -1);
            int next = 0;
            for (const auto& ring : plan.stages)
                for (const int node : ring) rank_of[static_cast<std::size_t>(node)] = next++ % 3;
            const auto schedule = make_schedule(problem, plan, rank_of, 3, TransferOrder::lanes);
            QVERIFY(!find_deadlock(problem, schedule));
            struct Heard final : TrainingListener {
                std::vector<Timeline> timelines;
                void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
                void iterated(const IterationReport& report) override { timelines.push_back(*report.timeline); }
            } heard;
            Experiment experiment;
            experiment.training.iterations = 2;
            experiment.execution = {.clock = Clock::wall, .compute = Compute::cost, .ranks = 3};
            as_ranks(
                schedule,
                [&](Rank& rank) {
                    const int me = rank.transport.rank();
                    CostCompute compute(problem, schedule, default_workers(experiment, schedule, me, 3));
                    train(experiment, problem, schedule, compute, rank.transport, me == 0 ? &heard : nullptr, nullptr);
                },
                {}, seed);
            QCOMPARE(heard.timelines.size(), std::size_t{2});
            for (const auto& timeline : heard.timelines) {
                const auto violations = check_plan(problem, schedule.plan, timeline);
                QVERIFY2(violations.empty(), violations.empty() ? "" : violations.front().what.c_str());
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestNccl)
#include "test_nccl.moc"
