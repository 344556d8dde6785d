// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/engine/device_readings.h"

using namespace skippipe;

namespace {

/// Two stages of two nodes; nodes 0 and 1 on rank 0, 2 and 3 on rank 1.
RankSchedule two_ranks() {
    RankSchedule schedule;
    schedule.ranks = 2;
    schedule.rank_of = {0, 0, 1, 1};
    schedule.plan.stages = {{0, 1}, {2, 3}};
    return schedule;
}

DeviceReading reading_of(const char* uuid, std::vector<int> nodes) {
    return {"here", "cuda:0", "Card", uuid, std::move(nodes), 3, {0.5, 50, 80, 300, 1e9, -1}};
}

}  // namespace

class TestDeviceReadings : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void each_rank_reads_what_its_nodes_are_on() {
        Experiment experiment;
        for (const char* device : {"cuda:1", "cpu", "cuda:0", "cuda:0"}) {
            experiment.topology.nodes.emplace_back();
            experiment.topology.nodes.back().device = device;
        }
        const std::vector<Gpu> gpus{{0, "Card", "GPU-a", 80}, {1, "Card", "GPU-b", 80}};
        const auto first = devices_of(experiment, two_ranks(), 0, "here", gpus);
        QCOMPARE(first.size(), std::size_t{1});
        QCOMPARE(first.front(), (DeviceReading{"here", "cuda:1", "Card", "GPU-b", {0}, 0, {}}));
        const auto second = devices_of(experiment, two_ranks(), 1, "here", gpus);
        QCOMPARE(second.size(), std::size_t{1});
        QCOMPARE(second.front().nodes, (std::vector<int>{2, 3}));
        QVERIFY(!uses_gpus(experiment) || experiment.execution.compute == Compute::torch);
        experiment.execution.compute = Compute::torch;
        QVERIFY(uses_gpus(experiment));
        for (auto& node : experiment.topology.nodes) node.device = "cpu";
        QVERIFY(!uses_gpus(experiment));
    }

    void text_and_back() {
        const DeviceReport report{{reading_of("GPU-a", {0, 1})}, "no more"};
        QCOMPARE(read_device_report(to_json_text(report)), report);
    }

    void what_is_no_report_is_refused() {
        const auto good = to_json_text({{reading_of("GPU-a", {0})}, ""});
        for (const auto& [from, to] :
             {std::pair{R"("nodes":[0])", R"("nodes":[-1])"}, std::pair{R"("readings":3)", R"("readings":0)"},
              std::pair{"0.5", "1.5"}, std::pair{"0.5,", ""}, std::pair{"here", "he\xff"}}) {
            auto text = QString::fromStdString(good).replace(from, to).toStdString();
            QVERIFY2(text != good, from);
            if (QByteArray(from) == "here") text = "\xff" + text;
            QVERIFY_THROWS_EXCEPTION(InputError, read_device_report(text));
        }
        QVERIFY_THROWS_EXCEPTION(InputError, read_device_report(""));
    }

    void a_gpu_of_several_ranks_is_told_once() {
        const auto all = join({{{reading_of("GPU-a", {3})}, ""},
                               {{reading_of("GPU-b", {1}), reading_of("GPU-a", {0})}, "rank 1 cannot"},
                               {{}, "nor can rank 2"}});
        QCOMPARE(all.devices.size(), std::size_t{2});
        QCOMPARE(all.devices[0].nodes, (std::vector<int>{0, 3}));
        QCOMPARE(all.devices[1].uuid, std::string("GPU-b"));
        QCOMPARE(all.trouble, std::string("rank 1 cannot"));
    }
};

QTEST_GUILESS_MAIN(TestDeviceReadings)
#include "test_device_readings.moc"
