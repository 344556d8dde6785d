// SPDX-License-Identifier: GPL-3.0-or-later
// The host device of the tests: what is queued runs later, in its order, and who does not wait is found out.
#include <QTest>

#include <atomic>
#include <cstring>
#include <vector>

#include "tests/device/host_queue.h"

using namespace skippipe;
using skippipe::testing::HostQueue;

namespace {

constexpr std::size_t bytes = 4096;

std::vector<std::byte> filled(int value) { return std::vector<std::byte>(bytes, static_cast<std::byte>(value)); }

/// Host to device on one queue, back to the host on another; what arrived. With each wait left out, as told.
struct Waits {
    bool between_queues = true, at_the_end = true, before_giving_back = true;
};
std::vector<std::byte> there_and_back(std::uint64_t seed, Waits waits) {
    auto first = std::make_shared<HostQueue>("first", testing::HostQueueOptions{seed, 300});
    HostQueue second("second", {seed + 1000, 300});
    const StagingMemory sent(first, bytes), came(first, bytes);
    std::memset(sent.data(), 7, bytes);
    std::memset(came.data(), 0, bytes);
    const auto come = [&] { return std::vector<std::byte>(came.data(), came.data() + bytes); };
    std::vector<std::byte> seen;
    {
        const DeviceMemory memory(first, bytes);
        first->copy(memory.data(), sent.data(), bytes);
        if (waits.between_queues) second.wait(first->record());
        second.copy(came.data(), memory.data(), bytes);
        const auto done = second.record();
        if (waits.before_giving_back) first->wait(done);
        if (waits.at_the_end) done->wait();
        seen = come();
    }
    for (HostQueue* queue : {first.get(), &second}) queue->record()->wait();  // what was not waited for, done here
    return waits.before_giving_back ? seen : come();
}

/// Whether any of so many transfers came wrong: how many do is the machine's scheduler's to say.
bool goes_wrong(Waits waits, std::uint64_t seeds) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed)
        if (there_and_back(seed, waits) != filled(7)) return true;
    return false;
}

}  // namespace

class TestQueue : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void with_every_wait_all_is_right() { QVERIFY(!goes_wrong({}, 40)); }

    /// Each wait that is left out shows, without a race detector too. (ThreadSanitizer would end the program.)
    void a_missing_wait_is_found() {
#ifdef __SANITIZE_THREAD__
        if (!qEnvironmentVariableIsSet("SKIPPIPE_PLANT_RACES")) QSKIP("races are planted: set SKIPPIPE_PLANT_RACES");
#endif
        QVERIFY(goes_wrong({.between_queues = false}, 2000));
        QVERIFY(goes_wrong({.at_the_end = false}, 2000));
        QVERIFY(goes_wrong({.at_the_end = false, .before_giving_back = false}, 2000));
    }

    /// As CUDA's: a copy waits for what is queued where the host's memory is any, and does not where it is the queue's.
    void copies_wait_where_memory_is_not_the_queue_s() {
        auto queue = std::make_shared<HostQueue>("one", testing::HostQueueOptions{3, 0});
        const DeviceMemory memory(queue, bytes);
        const StagingMemory staging(queue, bytes);
        auto any = filled(1);
        std::atomic<bool> may_end{false};
        queue->enqueue([&] {
            while (!may_end) std::this_thread::yield();
        });
        queue->copy(memory.data(), staging.data(), bytes);
        queue->copy(staging.data(), memory.data(), bytes);
        const auto done = queue->record();
        QVERIFY(!done->done());
        may_end = true;
        queue->copy(any.data(), memory.data(), bytes);
        QVERIFY(done->done());
    }

    void work_is_done_in_its_order() {
        HostQueue queue("one", {3, 20});
        std::vector<int> order;
        for (int i = 0; i < 100; ++i) queue.enqueue([&order, i] { order.push_back(i); });
        queue.record()->wait();
        for (int i = 0; i < 100; ++i) QCOMPARE(order[static_cast<std::size_t>(i)], i);
    }

    /// An event is stamped when the work before it is done, not when it is queued or asked.
    void events_are_stamped_at_completion() {
        HostQueue queue("one", {3, 0});
        const auto now_s = [] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
        };
        const double queued_s = now_s();
        queue.enqueue([] { std::this_thread::sleep_for(std::chrono::milliseconds(50)); });
        const auto done = queue.record();
        QVERIFY(!done->done());
        QVERIFY(now_s() - queued_s < 0.04);
        std::this_thread::sleep_for(std::chrono::milliseconds(120));
        QVERIFY(done->done());
        const double took_s = done->reached_s() - queued_s;
        QVERIFY2(took_s > 0.049 && took_s < 0.115, qPrintable(QString::number(took_s)));
    }

    void memory_begins_unwritten_and_ends_as_poison() {
        auto queue = std::make_shared<HostQueue>("one", testing::HostQueueOptions{3, 0});
        std::byte* address = nullptr;
        std::vector<std::byte> before(8), after(8);
        {
            const DeviceMemory memory(queue, 8);
            address = memory.data();
            queue->copy(before.data(), address, 8);
        }
        queue->copy(after.data(), address, 8);
        queue->record()->wait();
        QCOMPARE(before, std::vector<std::byte>(8, std::byte{HostQueue::unwritten}));
        QCOMPARE(after, std::vector<std::byte>(8, std::byte{HostQueue::poison}));
        QCOMPARE(queue->damage(), (std::pair<int, std::size_t>{0, 0}));
        queue->copy(address, before.data(), 8);  // after it was given back
        QCOMPARE(queue->damage().first, 1);
    }
};

QTEST_GUILESS_MAIN(TestQueue)
#include "test_queue.moc"
