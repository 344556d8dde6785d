// SPDX-License-Identifier: GPL-3.0-or-later
// What a rank does with its job before it trains: its nodes find their GPUs, or it says what is missing.
#include <QTest>

#include "core/experiment/io.h"
#include "core/planner/timeline/memory.h"
#include "core/run/coordinator.h"
#include "core/run/session.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

/// One rank that trains four nodes on GPUs.
RunJob job_on_gpus() {
    RunJob job;
    job.experiment = parse_experiment(samples::small()).experiment;
    for (auto& node : job.experiment.topology.nodes) node.device = "cuda";
    job.experiment.execution.compute = Compute::torch;
    job.problem = make_problem(job.experiment);
    job.plan = {.stages = {{0, 1}, {2, 3}}, .blocks = {2, 2}};
    for (int m = 0; m < job.problem.microbatches; ++m)
        job.plan.paths.push_back({MicrobatchIndex(m), {NodeIndex(m % 2), NodeIndex(2 + m % 2)}});
    return job;
}

AttachedGpus one_gpu(double bytes) {
    AttachedGpus attached;
    attached.list.push_back({0, "Card", "GPU-1", bytes, {}});
    return attached;
}

}  // namespace

class TestPlacing : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_job_says_whether_memory_counts() {
        RunJob job = job_on_gpus();
        QVERIFY(!protocol::decode_job(protocol::encode(worker_job(job))).ignore_memory);
        job.ignore_memory = true;
        QVERIFY(protocol::decode_job(protocol::encode(worker_job(job))).ignore_memory);
    }

    /// Of a rank that a launcher started, too: nobody looked at its GPUs before it did.
    void a_rank_refuses_a_gpu_that_is_too_small() {
        const Work work = understand(worker_job(job_on_gpus()));
        const auto schedule = schedule_of(work);
        const auto needs = memory_needed(work.experiment, work.problem, work.plan);
        const double bytes = memory_together(needs, static_cast<int>(needs.size()));
        const auto place = [&](double has, bool check_memory) {
            Work placed = work;
            place_on_devices(placed, schedule, 0, {0, 1}, check_memory, [&] { return one_gpu(has); });
            return placed.experiment.topology.nodes[3].device;
        };
        QCOMPARE(place(bytes, true), std::string("cuda:0"));
        QCOMPARE(place(bytes - 1, false), std::string("cuda:0"));
        try {
            place(bytes - 1, true);
            QFAIL("it was taken");
        } catch (const InputError& error) {
            QVERIFY2(error.faults()[0].what.find("4 nodes on cuda:0 (Card) need") == 0, error.faults()[0].what.c_str());
        }
    }

    void who_needs_no_gpu_does_not_look_for_one() {
        Work work = understand(worker_job(job_on_gpus()));
        for (auto& node : work.experiment.topology.nodes) node.device = "cpu";
        bool looked = false;
        place_on_devices(work, schedule_of(work), 0, {0, 1}, true, [&] {
            looked = true;
            return one_gpu(0);
        });
        QVERIFY(!looked);
    }
};

QTEST_GUILESS_MAIN(TestPlacing)
#include "test_placing.moc"
