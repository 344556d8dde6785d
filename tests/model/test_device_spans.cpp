// SPDX-License-Identifier: GPL-3.0-or-later
// Spans of nodes on a device that works beside the host: stamped by its events, and the step waits for it.
#include <QTest>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/model/torch_compute.h"
#include "tests/device/host_queue.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

constexpr auto long_work = std::chrono::milliseconds(40);

void take_long() { std::this_thread::sleep_for(long_work); }

/// The queues that were asked for, in that order, and what for.
struct Queues {
    QueueOfDevice give() {
        return [this](const std::string& device) -> std::shared_ptr<DeviceQueue> {
            devices.push_back(device);
            all.push_back(std::make_shared<HostQueue>("queue " + std::to_string(all.size())));
            return all.back();
        };
    }
    std::vector<std::shared_ptr<HostQueue>> all;
    std::vector<std::string> devices;
};

/// One iteration of a plan's operations, each behind something long in the queue of its node (`queue_of`, by node).
/// True where each began when its device came to it.
bool begin_on_their_devices(TorchCompute& compute, const Plan& plan,
                            const std::map<int, std::shared_ptr<HostQueue>>& queue_of) {
    bool all = true;
    compute.begin_iteration(0);
    for (const auto& task : tasks_of(plan, false, Rng(1))) {
        std::promise<TaskEnd> ended;
        const double before_s = steady_s();
        queue_of.at(task.node)->enqueue(take_long);
        compute.submit(task, {}, [&](const TaskEnd& end) { ended.set_value(end); });
        const auto told = ended.get_future().get();
        all = all && told.start_s >= before_s + std::chrono::duration<double>(long_work).count() &&
              told.end_s >= told.start_s;
    }
    compute.wait();
    return all;
}

}  // namespace

class TestDeviceSpans : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void operations_and_steps_wait_for_their_device() {
        auto experiment = small_experiment(2, 2);
        experiment.pipeline.microbatches = 1;
        const auto plan = make_plan({{0}, {1}}, {{0, 1}});
        Queues queues;
        TorchCompute compute(experiment, one_rank_schedule(2, plan), 0, make_batches(experiment), 1, queues.give());
        QCOMPARE(queues.devices, (std::vector<std::string>{"cpu", "cpu"}));
        QVERIFY(begin_on_their_devices(compute, plan, {{0, queues.all[0]}, {1, queues.all[1]}}));
        LocalTransport alone;
        const std::vector<StageSum> sums{compute.reduce(0, alone), compute.reduce(1, alone)};
        std::atomic<bool> done = false;
        queues.all[1]->enqueue([&] {
            take_long();
            done = true;
        });
        compute.step(0, sums);
        QVERIFY2(done, "the step ended before its device");
    }

    void a_node_that_comes_later_has_a_queue_as_well() {
        auto experiment = small_experiment(2, 3);
        experiment.pipeline.microbatches = 1;
        const auto before = make_plan({{0}, {1}}, {{0, 1}}), after = make_plan({{0}, {2}}, {{0, 2}});
        Queues queues;
        TorchCompute compute(experiment, one_rank_schedule(3, before), 0, make_batches(experiment), 1, queues.give());
        QCOMPARE(queues.all.size(), std::size_t{2});
        compute.move(one_rank_schedule(3, after), {{2, 1, 1}, {1, -1, -1}});
        QCOMPARE(queues.all.size(), std::size_t{3});
        QVERIFY(begin_on_their_devices(compute, after, {{0, queues.all[0]}, {2, queues.all[2]}}));
    }

    /// Queues change when operations end, and nothing that is computed.
    void losses_are_the_same_to_the_bit() {
        const auto experiment = small_experiment(2, 2);
        const auto plan = make_plan({{0}, {1}}, {{0, 1}, {0, 1}});
        const auto trained = [&](const QueueOfDevice& queues) {
            TorchCompute compute(experiment, one_rank_schedule(2, plan), 0, make_batches(experiment), 2, queues);
            LocalTransport alone;
            std::vector<double> losses;
            for (int i = 0; i < 3; ++i) {
                compute.begin_iteration(i);
                for (const auto& task : tasks_of(plan, false, Rng(1))) compute.submit(task);
                compute.wait();
                losses.push_back(compute.loss().sum_nats);
                compute.step(i, {compute.reduce(0, alone), compute.reduce(1, alone)});
            }
            return losses;
        };
        const auto with = trained([](const std::string&) { return std::make_shared<HostQueue>("a"); });
        QCOMPARE(with, trained({}));
    }
};

QTEST_GUILESS_MAIN(TestDeviceSpans)
#include "test_device_spans.moc"
