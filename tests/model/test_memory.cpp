// SPDX-License-Identifier: GPL-3.0-or-later
// What training holds: predicted, counted, measured. `test_memory --rise TRAINING` prints what that training takes,
// measured in a process that did nothing before: what an earlier one gave back would hide its heap.
#include <QCoreApplication>
#include <QProcess>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>

#include <malloc.h>

#include "core/planner/timeline/memory.h"
#include "core/engine/virtual_clock.h"
#include "core/experiment/validate.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/buffers.h"
#include "core/model/torch_compat.h"
#include "tests/model/training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

double status_bytes(const std::string& key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(key + ":")) return std::stod(line.substr(key.size() + 1)) * 1024;
    return 0;
}

/// From here on VmHWM is the peak since.
bool forget_peak() {
    std::ofstream clear("/proc/self/clear_refs");
    return static_cast<bool>(clear << 5 << std::flush);
}

constexpr int stages = 3, held = 3;
constexpr std::size_t text_bytes = 200'000;  // enough for validation samples that fill every worker's scratch

/// Slow links: every node fills up before the first gradient comes back.
Experiment large_experiment(int samples, int width) {
    auto experiment = small_experiment(stages, stages);
    experiment.model = {.blocks = 2 * stages, .width = width, .heads = width / 32, .vocabulary = 256, .sequence = 128};
    experiment.pipeline.microbatch_samples = samples;
    experiment.pipeline.microbatches = 5;
    experiment.data.validation_samples = 2 * samples;
    experiment.pipeline.memory_microbatches = held;
    experiment.topology.hop_matrix_s.assign(stages, std::vector<double>(stages, 100));
    for (std::size_t i = 0; i < stages; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    return experiment;
}

Plan plan_of(const Experiment& experiment) {
    auto plan = make_plan({{0}, {1}, {2}}, std::vector<std::vector<NodeIndex>>(5, {0, 1, 2}));
    plan.blocks.assign(stages, 2);
    plan.split_backward = experiment.pipeline.split_backward;
    return plan;
}

/// Trains under the virtual clock.
struct Run {
    explicit Run(const Experiment& given, int threads = 2)
        : experiment(given),
          plan(plan_of(given)),
          problem(make_problem(given)),
          compute(given, plan, make_batches(given, 11, text_bytes), 1, threads),
          driver(problem, plan, compute) {}
    double iterate() { return driver.train(iteration++).loss_sum_nats; }
    Experiment experiment;
    Plan plan;
    Problem problem;
    TorchCompute compute;
    VirtualDriver driver;
    int iteration = 0;
};

constexpr int workers = 2;

double predicted_bytes(const Experiment& experiment, int threads) {
    return memory_together(memory_needed(experiment, make_problem(experiment), plan_of(experiment)), threads);
}

Experiment experiment_of(const std::string& training) {
    auto experiment = large_experiment(16, 256);
    experiment.training.recompute = training == "recomputed";
    experiment.pipeline.split_backward = training == "split";
    if (training == "large vocabulary") experiment.model.vocabulary = 16'000;
    if (training == "long sequence") {  // what grows with its square would outweigh all else
        experiment.model.width = 64;
        experiment.model.heads = 2;
        experiment.model.sequence = 2048;
        experiment.pipeline.microbatch_samples = 1;
        experiment.data.validation_samples = 2;
    }
    if (training == "failures")  // that do not happen, but might
        experiment.failures.push_back({.kind = FailureKind::crash, .target = "n0", .at_iteration = 1'000'000});
    if (training.starts_with("grouped")) {
        experiment = large_experiment(2, 128);
        experiment.model.sequence = 512;
        experiment.model.kv_heads = 1;
        experiment.training.recompute = training == "grouped, recomputed";
        experiment.pipeline.split_backward = training == "grouped, split";
    }
    if (training == "int8 messages") experiment.costs.wire = WireType::int8;
    return experiment;
}

/// Bytes that three iterations take at their peak over what the process had before; NaN where it cannot forget its
/// peak.
double risen_bytes(const Experiment& experiment) {
    {
        auto warm = large_experiment(1, 256);  // code, thread stacks and the BLAS' own buffers
        Run run(warm, workers);
        run.iterate();
    }
    malloc_trim(0);
    if (!forget_peak()) return NAN;
    const double before = status_bytes("VmRSS");
    Run run(experiment, workers);
    validate(run.compute);
    for (int i = 0; i < 3; ++i) run.iterate();
    for (int node = 0; node < stages; ++node)
        if (run.compute.most_held(node) != held) throw std::logic_error("a node did not fill up");
    return status_bytes("VmHWM") - before;
}

/// The same, by a process of its own. Throws where that fails.
double risen_bytes_alone(const QString& training) {
    QProcess alone;
    alone.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    alone.start(QCoreApplication::applicationFilePath(), {"--rise", training});
    if (!alone.waitForFinished(120'000) || alone.exitStatus() != QProcess::NormalExit || alone.exitCode() != 0)
        throw std::runtime_error("it could not be measured");
    return alone.readAllStandardOutput().trimmed().toDouble();  // "nan" is known without blanks only
}

}  // namespace

class TestMemory : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// First: while the heap ends where it is used.
    void freed_tensors_leave_room_for_the_next() {
        constexpr std::int64_t floats = 1 << 19;
        std::vector<torch::Tensor> tensors;
        for (int i = 0; i < 20; ++i) tensors.push_back(torch::empty({floats}));
        const auto heap_bytes = mallinfo2().arena;
        for (std::size_t i = 1; i < tensors.size(); i += 2) tensors[i].reset();
        for (std::size_t i = 1; i < tensors.size(); i += 2) tensors[i] = torch::empty({floats});
        QCOMPARE(mallinfo2().arena, heap_bytes);
        for (const auto& tensor : tensors)
            QCOMPARE(reinterpret_cast<std::uintptr_t>(tensor.data_ptr()) % 64, std::uintptr_t{0});
    }

    void rises_as_predicted_data() {
        QTest::addColumn<QString>("training");
        for (const char* training : {"kept", "recomputed", "split", "int8 messages", "large vocabulary",
                                     "long sequence", "failures", "grouped", "grouped, recomputed", "grouped, split"})
            QTest::newRow(training) << training;
    }
    void rises_as_predicted() {
        QFETCH(QString, training);
        const auto experiment = experiment_of(training.toStdString());
        const double measured = risen_bytes_alone(training), predicted = predicted_bytes(experiment, workers);
        if (std::isnan(measured)) QSKIP("this system does not let a process forget its peak");
        qInfo("predicted %.1f MB, measured %.1f MB (%+.1f %%)", predicted / 1e6, measured / 1e6,
              100 * (measured / predicted - 1));
        // On a busy machine the workers may never have been at work at once: then the scratch of one of them was not
        // touched.
        QVERIFY2(measured < 1.1 * predicted && measured > 0.9 * predicted_bytes(experiment, 1),
                 qPrintable(QString("predicted %1, measured %2").arg(predicted).arg(measured)));
    }

    /// Messages under way at once depend on chance, up to what the plan allows: their buffers are made once and used
    /// again; so are those of results that are kept for who might be lost.
    void is_flat_after_three_iterations_data() {
        QTest::addColumn<bool>("might_fail");
        QTest::newRow("nothing fails") << false;
        QTest::newRow("a crash that never comes") << true;
    }
    void is_flat_after_three_iterations() {
        QFETCH(bool, might_fail);
        auto experiment = large_experiment(4, 128);
        if (might_fail)
            experiment.failures.push_back({.kind = FailureKind::crash, .target = "n0", .at_iteration = 1'000'000});
        Run run(experiment);
        const double message =
            4.0 * experiment.pipeline.microbatch_samples * experiment.model.sequence * experiment.model.width;
        const auto grows_by = [&](int iterations) {
            const double before = status_bytes("VmRSS");
            for (int i = 0; i < iterations; ++i) run.iterate();
            return status_bytes("VmRSS") - before;
        };
        grows_by(3);
        const double first = grows_by(30), later = grows_by(90);
        qInfo("%.0f kB in 30 iterations, %.0f kB in 90 more", first / 1024, later / 1024);
        // One tensor a microbatch that is not given back would be 600 messages.
        QVERIFY(first + later < 16 * message);
    }

    /// A node takes them for microbatches of any size, and gives them back in any order.
    void buffers_of_unequal_sizes_are_used_again() {
        BufferPool pool;
        std::set<const void*> seen;
        const auto take_and_give = [&](bool turned) {
            auto large = pool.take(8), small = pool.take(1);
            for (const auto* buffer : {&large, &small}) seen.insert(buffer->data_ptr());
            if (turned) std::swap(large, small);
            pool.give(large);
            pool.give(small);
        };
        for (int i = 0; i < 4; ++i) take_and_give(i % 2 == 1);
        const auto first = seen.size();
        for (int i = 0; i < 100; ++i) take_and_give(i % 2 == 1);
        QCOMPARE(seen.size(), first);
        pool.give(torch::empty({2}));
        QVERIFY(pool.take(9).numel() >= 9);
        QVERIFY(pool.take(8).numel() >= 8);
    }

    /// What is kept for who might be lost is there until the step, and gone after it.
    void what_is_kept_is_released_by_the_step() {
        auto experiment = experiment_of("failures");
        experiment.pipeline.microbatch_samples = 1;
        Run run(experiment);
        run.compute.begin_iteration(0);
        const auto ran = run.driver.run(0);
        const double message = 4.0 * experiment.model.sequence * experiment.model.width;
        QCOMPARE(run.compute.kept_bytes(), 5 * 2 * stages * message);
        LocalTransport alone;
        finish_iteration(0, run.compute.schedule(), ran.sums, run.compute, alone);
        QCOMPARE(run.compute.kept_bytes(), 0.0);
    }

    void no_node_holds_more_than_its_microbatches() {
        for (const int most : {1, 2, 4}) {
            auto experiment = large_experiment(1, 64);
            experiment.pipeline.memory_microbatches = most;
            Run run(experiment);
            for (int i = 0; i < 2; ++i) run.iterate();
            for (int node = 0; node < stages; ++node) QCOMPARE(run.compute.most_held(node), most);
        }
    }

    void recomputing_changes_no_bit() {
        for (const bool split : {false, true}) {
            auto experiment = large_experiment(1, 64);
            experiment.pipeline.split_backward = split;
            Run kept(experiment);
            experiment.training.recompute = true;
            Run recomputed(experiment);
            for (int i = 0; i < 3; ++i) QCOMPARE(recomputed.iterate(), kept.iterate());
            for (int node = 0; node < stages; ++node)
                QVERIFY(recomputed.compute.weights(node) == kept.compute.weights(node));
        }
    }
};

int main(int count, char** arguments) {
    keep_freed_memory();
    use_one_thread();
    prepare_blas();
    if (count == 3 && std::string(arguments[1]) == "--rise") {
        std::printf("%.0f\n", risen_bytes(experiment_of(arguments[2])));
        return 0;
    }
    QCoreApplication application(count, arguments);
    TestMemory test;
    return QTest::qExec(&test, count, arguments);
}

#include "test_memory.moc"
