// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <stdexcept>
#include <string>

#include "core/device/nvml.h"

using namespace skippipe;

namespace {

/// A driver with one card, which tells no memory clock.
Nvml one_card() {
    Nvml table{};
    table.error_string = [](NvmlResult) { return "Not Found"; };
    table.device_by_uuid = [](const char* uuid, NvmlDevice** device) {
        static char card = 0;
        *device = reinterpret_cast<NvmlDevice*>(&card);
        return std::string(uuid) == "GPU-1" ? 0 : 6;
    };
    table.utilization = [](NvmlDevice*, NvmlUtilization* share) { return *share = {37, 12}, 0; };
    table.memory = [](NvmlDevice*, NvmlMemory* memory) { return *memory = {80, 30, 50}, 0; };
    table.power_mw = [](NvmlDevice*, unsigned* milliwatts) { return *milliwatts = 412'500, 0; };
    table.clock_mhz = [](NvmlDevice*, NvmlClock clock, unsigned* mhz) {
        *mhz = 1980;
        return clock == NvmlClock::sm ? 0 : 3;
    };
    return table;
}

}  // namespace

class TestNvml : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_reading_has_units_and_gaps() {
        const auto reading = read_gpu(one_card(), "GPU-1");
        QCOMPARE(reading.busy, 0.37);
        QCOMPARE(reading.memory_used_bytes, 50.0);
        QCOMPARE(reading.memory_total_bytes, 80.0);
        QCOMPARE(reading.power_w, 412.5);
        QCOMPARE(reading.clock_hz, 1.98e9);
        QVERIFY(reading.memory_clock_hz < 0);
    }

    void a_card_that_is_not_there_is_named() {
        try {
            read_gpu(one_card(), "GPU-2");
            QFAIL("it was read");
        } catch (const std::runtime_error& error) {
            QCOMPARE(std::string(error.what()), std::string("NVML does not find GPU-2: Not Found"));
        }
    }

    void free_memory_is_told_of_those_that_are_found() {
        std::vector<Gpu> gpus{{0, "Card", "GPU-1", 80, {}}, {1, "Other", "GPU-2", 80, 7.0}};
        read_free_memory(one_card(), gpus);
        QCOMPARE(gpus[0].free_bytes, std::optional(30.0));
        QVERIFY(!gpus[1].free_bytes);
        auto mute = one_card();
        mute.memory = [](NvmlDevice*, NvmlMemory*) { return 3; };
        read_free_memory(mute, gpus);
        QVERIFY(!gpus[0].free_bytes);
    }

    void readings_are_joined_over_what_was_told() {
        GpuReadings readings;
        QVERIFY(readings.empty());
        readings.add({0.2, 10, 80, 100, 1e9, -1});
        readings.add({0.6, -1, 80, 300, 2e9, -1});
        QCOMPARE(readings.mean(), (GpuReading{0.4, 10, 80, 200, 1.5e9, -1}));
        QCOMPARE(readings.largest(), (GpuReading{0.6, 10, 80, 300, 2e9, -1}));
    }
};

QTEST_GUILESS_MAIN(TestNvml)
#include "test_nvml.moc"
