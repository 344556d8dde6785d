// SPDX-License-Identifier: GPL-3.0-or-later
// Operations that only queue their work on a device: what they tell is of the device, not of the queueing.
#include <QTest>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

#include "core/engine/device_task.h"
#include "tests/device/host_queue.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr auto long_work = std::chrono::milliseconds(40);

void take_long() { std::this_thread::sleep_for(long_work); }

/// A device whose driver gives up.
class Broken final : public DeviceQueue {
public:
    const std::string& name() const override { return name_; }
    const std::string& identity() const override { return name_; }
    std::byte* allocate(std::size_t) override { return nullptr; }
    void free(std::byte*) noexcept override {}
    std::byte* allocate_host(std::size_t) override { return nullptr; }
    void free_host(std::byte*) noexcept override {}
    void copy(std::byte*, const std::byte*, std::size_t) override {}
    EventPointer record() override { throw std::runtime_error("the device fell off the bus"); }
    void wait(const EventPointer&) override {}
    void make_current() override {}
    void* native() override { return nullptr; }

private:
    std::string name_ = "broken";
};

}  // namespace

class TestDeviceTask : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void it_ends_when_the_device_is_through() {
        HostQueue queue("a");
        std::optional<TaskEnd> told;
        double queued_s = 0;
        run_on_device(
            "F0 on n0",
            [&] {
                queue.enqueue(take_long);
                queued_s = steady_s();
            },
            [&](const TaskEnd& end) { told = end; }, queue);
        QVERIFY(told && !told->error);
        const double took_s = std::chrono::duration<double>(long_work).count();
        QVERIFY(told->end_s - told->start_s >= took_s);
        QVERIFY(told->end_s >= queued_s + 0.9 * took_s);
        QVERIFY(told->end_s <= steady_s());
    }

    /// What is before it in the queue is not its own time.
    void it_begins_when_the_device_comes_to_it() {
        HostQueue queue("a");
        const double before_s = steady_s();
        queue.enqueue(take_long);
        std::optional<TaskEnd> told;
        run_on_device(
            "F0 on n0", [] {}, [&](const TaskEnd& end) { told = end; }, queue);
        QVERIFY(told->start_s >= before_s + std::chrono::duration<double>(long_work).count());
        QVERIFY(told->end_s >= told->start_s);
    }

    void the_device_is_the_thread_s_while_it_queues() {
        HostQueue queue("the device");
        std::string during;
        run_on_device(
            "F0 on n0", [&] { during = current_device(); }, {}, queue);
        QCOMPARE(during, std::string("the device"));
    }

    void what_fails_is_named() {
        HostQueue queue("a");
        Broken broken;
        int told = 0;
        const auto tell = [&](const TaskEnd& end) { told += end.error != nullptr && end.end_s >= end.start_s; };
        const auto fails = [] { throw std::runtime_error("out of memory"); };
        QVERIFY_THROWS_EXCEPTION(ComputeError, run_on_device("F0 on n0", fails, tell, queue));
        QVERIFY_THROWS_EXCEPTION(ComputeError, run_on_device(
                                                   "F0 on n0", [] {}, tell, broken));
        QCOMPARE(told, 2);
    }

    /// Not by a name of C++.
    void memory_that_ran_out_is_told_in_words() {
        try {
            run_task("F0 on n0", [] { throw std::bad_alloc(); }, {});
            QFAIL("it went on");
        } catch (const ComputeError& error) {
            QCOMPARE(std::string(error.what()), std::string("F0 on n0: memory ran out"));
        }
    }
};

QTEST_GUILESS_MAIN(TestDeviceTask)
#include "test_device_task.moc"
