// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <atomic>
#include <stdexcept>

#include "core/device/device_meter.h"

using namespace skippipe;

namespace {

DeviceReading device_of(const std::string& uuid) { return {"here", "cuda:0", "Card", uuid, {1, 2}, 0, {}}; }

constexpr std::chrono::milliseconds often{1};

}  // namespace

class TestMeter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void means_of_what_was_read_between_begin_and_end() {
        std::atomic<int> asked = 0, answered = 0;
        DeviceMeter meter(
            {device_of("GPU-a")},
            [&](const std::string&) {
                const int n = ++asked;
                if (n > 2) QTest::qSleep(1);
                ++answered;
                return n == 1 ? GpuReading{0.2, 70, 80, 100, 1e9, -1} : GpuReading{0.6, 50, 80, 100, 1e9, -1};
            },
            often);
        QTest::qWait(20);
        QCOMPARE(asked.load(), 0);  // nothing runs
        meter.begin();
        QTRY_VERIFY(answered >= 3);
        const auto read = meter.end();
        QCOMPARE(read.size(), std::size_t{1});
        QCOMPARE(read.front().nodes, (std::vector<int>{1, 2}));
        QVERIFY(read.front().readings >= 2);
        QVERIFY(read.front().gpu.busy > 0.2 && read.front().gpu.busy < 0.6);
        QCOMPARE(read.front().gpu.memory_used_bytes, 70.0);  // the most
        QTRY_COMPARE(answered.load(), asked.load());
        const int before = asked;
        QTest::qWait(20);
        QVERIFY(asked <= before + 1);  // one may have been on its way
        meter.begin();
        QTRY_VERIFY(answered > before + 2);
        QCOMPARE(meter.end().front().gpu.memory_used_bytes, 50.0);  // the first period is forgotten
    }

    /// A driver that takes its time holds nobody up, and what it says late counts for nobody.
    void a_slow_reading_is_not_waited_for() {
        std::atomic<int> asked = 0;
        std::atomic<bool> go_on = false;
        DeviceMeter meter(
            {device_of("GPU-a")},
            [&](const std::string&) {
                const bool slow = ++asked == 1;
                while (slow && !go_on) QTest::qSleep(1);
                return GpuReading{slow ? 1 : 0.5, 1, 1, 1, 1, 1};
            },
            often);
        meter.begin();
        QTRY_COMPARE(asked.load(), 1);
        QVERIFY(meter.end().empty());
        meter.begin();
        go_on = true;
        QTRY_VERIFY(asked >= 4);
        QCOMPARE(meter.end().front().gpu.busy, 0.5);
    }

    void one_device_of_two_that_cannot_be_read() {
        DeviceMeter meter(
            {device_of("GPU-a"), device_of("GPU-b")},
            [](const std::string& uuid) -> GpuReading {
                if (uuid == "GPU-b") throw std::runtime_error("GPU-b is lost");
                return {0.5, 1, 1, 1, 1, 1};
            },
            often);
        meter.begin();
        QTRY_COMPARE(meter.trouble(), std::string("GPU-b is lost"));
        const auto read = meter.end();
        QCOMPARE(read.size(), std::size_t{1});
        QCOMPARE(read.front().uuid, std::string("GPU-a"));
        QCOMPARE(read.front().readings, 1);
    }
};

QTEST_GUILESS_MAIN(TestMeter)
#include "test_meter.moc"
