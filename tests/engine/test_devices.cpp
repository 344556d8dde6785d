// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes on GPUs: who gets which, and what is said where one is missing or too small.
#include <QTest>

#include "core/engine/devices.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/memory.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

AttachedGpus gpus(int count, double bytes = 80e9) {
    AttachedGpus attached;
    for (int i = 0; i < count; ++i)
        attached.list.push_back({i, "Card " + std::to_string(i), "GPU-" + std::to_string(i), bytes, {}});
    if (count == 0) attached.none = {{"device", "the NVIDIA driver is missing", "no such file", "Install it"}};
    return attached;
}

/// Four nodes in two stages of two; `devices` of a to d.
struct Scene {
    Experiment experiment = parse_experiment(samples::small()).experiment;
    Problem problem = make_problem(experiment);
    Plan plan{.stages = {{0, 1}, {2, 3}}, .blocks = {2, 2}};

    explicit Scene(const std::vector<std::string>& devices) {
        for (std::size_t i = 0; i < devices.size(); ++i) experiment.topology.nodes[i].device = devices[i];
        for (int m = 0; m < problem.microbatches; ++m)
            plan.paths.push_back({MicrobatchIndex(m), {NodeIndex(m % 2), NodeIndex(2 + m % 2)}});
    }
    RankSchedule on(std::vector<int> rank_of, int ranks) const {
        RankSchedule schedule{.ranks = ranks, .plan = plan, .rank_of = std::move(rank_of)};
        return schedule;
    }
    std::vector<std::string> dealt(const RankSchedule& schedule, int rank, LocalRank local, int count) const {
        return deal_devices(experiment.topology, schedule, rank, local, gpus(count));
    }
};

using Names = std::vector<std::string>;

}  // namespace

class TestDevices : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void nodes_are_dealt_out_over_what_is_attached() {
        const Scene any({"cuda", "cuda", "cuda", "cuda"});
        const auto alone = any.on({0, 0, 0, 0}, 1), two = any.on({0, 1, 0, 1}, 2);
        QCOMPARE(any.dealt(alone, 0, {0, 1}, 2), (Names{"cuda:0", "cuda:0", "cuda:1", "cuda:1"}));
        QCOMPARE(any.dealt(alone, 0, {0, 1}, 3), (Names{"cuda:0", "cuda:0", "cuda:1", "cuda:2"}));
        QCOMPARE(any.dealt(alone, 0, {0, 1}, 8), (Names{"cuda:0", "cuda:2", "cuda:4", "cuda:6"}));
        QCOMPARE(any.dealt(two, 0, {0, 2}, 2), (Names{"cuda:0", "", "cuda:0", ""}));
        QCOMPARE(any.dealt(two, 1, {1, 2}, 2), (Names{"", "cuda:1", "", "cuda:1"}));
        QCOMPARE(any.dealt(two, 1, {3, 4}, 2), (Names{"", "cuda:1", "", "cuda:1"}));  // another host's ranks before it
        const Scene named({"cuda:1", "cpu", "cuda", "cuda:0"});
        QCOMPARE(named.dealt(alone, 0, {0, 1}, 2), (Names{"cuda:1", "cpu", "cuda:0", "cuda:0"}));
        Scene spare({"cuda", "cuda", "cuda", "cuda"});  // one that may get a stage has a device as well
        spare.plan.stages = {{0, 1}, {2}};
        QCOMPARE(spare.dealt(spare.on({0, 0, 0, 1}, 2), 1, {1, 2}, 2), (Names{"", "", "", "cuda:1"}));
        QCOMPARE(spare.dealt(spare.on({0, 0, 0, -1}, 1), 0, {0, 1}, 1), (Names{"cuda:0", "cuda:0", "cuda:0", ""}));
    }

    void a_missing_gpu_is_named() {
        const Scene scene({"cpu", "cuda:2", "cuda", "cpu"});
        const auto alone = scene.on({0, 0, 0, 0}, 1);
        const auto none = check_devices(scene.experiment, alone, 0, {0, 1}, gpus(0));
        QCOMPARE(none.size(), std::size_t{1});
        QCOMPARE(none[0].pointer, std::string("/topology/nodes/1/device"));
        QVERIFY(none[0].what.find("b is to live on \"cuda:2\"") == 0);
        QVERIFY(none[0].why.find("the NVIDIA driver is missing") == 0);
        const auto two = check_devices(scene.experiment, alone, 0, {0, 1}, gpus(2));
        QCOMPARE(two.size(), std::size_t{1});
        QCOMPARE(two[0].why, std::string("this machine has cuda:0 (Card 0), cuda:1 (Card 1)"));
        QVERIFY(check_devices(scene.experiment, alone, 0, {0, 1}, gpus(3)).empty());
        // Another rank's GPU is no concern of this one.
        QVERIFY(check_devices(scene.experiment, scene.on({0, 1, 0, 0}, 2), 0, {0, 1}, gpus(1)).empty());
    }

    void nccl_has_one_gpu_a_rank() {
        Scene scene({"cuda:0", "cuda:1", "cuda:0", "cuda:1"});
        scene.experiment.execution.transport = Transport::nccl;
        QVERIFY(check_devices(scene.experiment, scene.on({0, 1, 0, 1}, 2), 1, {1, 2}, gpus(2)).empty());
        const auto both = check_devices(scene.experiment, scene.on({0, 0, 1, 1}, 2), 1, {1, 2}, gpus(2));
        QCOMPARE(both.size(), std::size_t{1});
        QCOMPARE(both[0].pointer, std::string("/execution/transport"));
        scene.experiment.topology.nodes[1].device = "cpu";
        const auto host = check_devices(scene.experiment, scene.on({0, 1, 0, 1}, 2), 1, {1, 2}, gpus(2));
        QCOMPARE(host.size(), std::size_t{1});
        QVERIFY2(host[0].what == "NCCL, and b is on no GPU", host[0].what.c_str());
    }

    /// What the nodes of one GPU need together is what counts, to the byte.
    void memory_of_gpus_is_counted() {
        const Scene scene({"cuda:0", "cuda:1", "cuda:0", "cpu"});
        const Names devices{"cuda:0", "cuda:1", "cuda:0", "cpu"};
        std::vector<NodeMemory> together;
        for (const auto& need : memory_needed(scene.experiment, scene.problem, scene.plan))
            if (need.node == 0 || need.node == 2) together.push_back(need);
        QCOMPARE(together.size(), std::size_t{2});
        const double bytes = memory_together(together, 2);
        const auto check = [&](double has) {
            return check_gpu_memory(scene.experiment, scene.problem, scene.plan, devices, gpus(2, has));
        };
        QVERIFY(check(bytes).empty());
        const auto faults = check(bytes - 1);
        QCOMPARE(faults.size(), std::size_t{1});
        QVERIFY2(faults[0].what.find("2 nodes on cuda:0 (Card 0) need") == 0, faults[0].what.c_str());
        // Products in bf16 read weights of their own.
        auto rounded = scene.experiment;
        rounded.execution.products = ProductType::bf16;
        double more = 0;
        for (const auto& need : together) more += need.state / 16 * 2;
        const auto check_rounded = [&](double has) {
            return check_gpu_memory(rounded, scene.problem, scene.plan, devices, gpus(2, has));
        };
        QVERIFY(check_rounded(bytes + more).empty());
        QCOMPARE(check_rounded(bytes + more - 1).size(), std::size_t{1});
        // What others hold of it is not there for this.
        auto held = gpus(2, 2 * bytes);
        held.list[0].free_bytes = bytes;
        const auto check_held = [&] {
            return check_gpu_memory(scene.experiment, scene.problem, scene.plan, devices, held);
        };
        QVERIFY(check_held().empty());
        held.list[0].free_bytes = bytes - 1;
        QCOMPARE(check_held().size(), std::size_t{1});
        QVERIFY2(check_held()[0].what.find(" are free: ") != std::string::npos, check_held()[0].what.c_str());
    }
};

QTEST_GUILESS_MAIN(TestDevices)
#include "test_devices.moc"
