// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/analysis/device_use.h"

using namespace skippipe;

namespace {

DeviceReading on(const char* device, std::vector<int> nodes, int readings, GpuReading gpu) {
    return {"here", device, "Card", std::string("GPU-") + device, std::move(nodes), readings, gpu};
}

}  // namespace

class TestDeviceUse : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void means_over_readings_not_over_iterations() {
        const auto all = device_use(
            {{0, {on("cuda:1", {3}, 1, {0.25, 90, 100, 100, 1e9, -1})}},
             {5, {on("cuda:0", {0}, 1, {1, 1, 1, 1, 1, 1}), on("cuda:1", {2}, 3, {0.75, 70, 100, 300, 2e9, -1})}}});
        QCOMPARE(all.size(), std::size_t{2});
        QCOMPARE(all[0].device, std::string("cuda:0"));
        QCOMPARE(all[1].readings, 4);
        QCOMPARE(all[1].nodes, (std::vector<int>{2, 3}));
        QCOMPARE(all[1].gpu, (GpuReading{0.625, 90, 100, 250, 1.75e9, -1}));
    }

    void what_is_told_later_counts() {
        const auto all = device_use({{0, {on("cuda:0", {0}, 2, {-1, -1, -1, -1, -1, -1})}},
                                     {1, {on("cuda:0", {0}, 2, {0.5, 10, 20, 30, 40, 50})}}});
        QCOMPARE(all.front().gpu, (GpuReading{0.5, 10, 20, 30, 40, 50}));
    }

    void those_of_some_nodes() {
        const auto all = device_use({{0, {on("cuda:0", {0, 1}, 1, {}), on("cuda:1", {2}, 1, {})}}});
        QCOMPARE(devices_of_nodes(all, {1}).size(), std::size_t{1});
        QCOMPARE(devices_of_nodes(all, {1, 2}).size(), std::size_t{2});
        QVERIFY(devices_of_nodes(all, {7}).empty());
    }
};

QTEST_GUILESS_MAIN(TestDeviceUse)
#include "test_device_use.moc"
