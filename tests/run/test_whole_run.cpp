// SPDX-License-Identifier: GPL-3.0-or-later
// A whole run in one process: coordinator, sessions of all ranks, record; and what happens when something throws.
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>
#include <vector>

#include "core/base/index.h"
#include "core/base/subprocess.h"
#include "core/engine/build_id.h"
#include "core/engine/cost_compute.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/run/coordinator.h"
#include "tests/run/ranks_in_process.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

/// What is to go wrong, once, at the named node.
struct Breakage {
    enum class At { nothing, operation, message, reduction, step, validation, no_number, loss, pause } at = At::nothing;
    OpKind kind = OpKind::F;
    int node = -1;
    int iteration = 1;
};

/// Does nothing, as CostCompute, until it throws as an allocation does that fails.
class Fragile final : public ComputeBackend {
public:
    Fragile(const Problem& problem, const RankSchedule& schedule, int workers, Breakage fault)
        : problem_(problem),
          costs_(problem, schedule, workers),
          schedule_(schedule),
          fault_(fault),
          graph_(workers, [] {}) {}

    void follow(const RankSchedule& schedule) override { costs_.follow(schedule); }
    void begin_iteration(int iteration) override {
        now_ = iteration == fault_.iteration;
        // Long enough for some readings.
        if (now_ && fault_.at == Breakage::At::pause) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    void submit(const ComputeTask& task, Buffer, Completion completed) override {
        const bool breaks = now_ && fault_.at == Breakage::At::operation && task.node == fault_.node &&
                            task.operation.kind == fault_.kind;
        const auto name = name_of(task, problem_.node_ids[static_cast<std::size_t>(task.node)]);
        graph_.add([breaks, name, completed] {
            run_task(
                name,
                [breaks] {
                    if (breaks) throw std::bad_alloc();
                },
                completed);
        });
    }
    std::size_t message_bytes(const Operation& operation) const override { return costs_.message_bytes(operation); }
    Buffer take_message(const RankTransfer& transfer) override {
        if (now_ && fault_.at == Breakage::At::message && transfer.from_node == fault_.node) throw std::bad_alloc();
        return costs_.take_message(transfer);
    }
    void wait() override { graph_.wait(); }
    StageSum reduce(int stage, RankTransport& transport) override {
        if (now_ && fault_.at == Breakage::At::reduction && hosts_faulty(stage))
            throw ComputeError("reducing stage " + std::to_string(stage), "out of memory");
        return costs_.reduce(stage, transport);
    }
    RankLoss loss() const override {
        if (fault_.at != Breakage::At::loss) return {};
        return {now_ ? 90.0 : 30.0, 10};
    }
    void step(int, const std::vector<StageSum>&) override {
        if (now_ && fault_.at == Breakage::At::step && hosts_faulty(-1)) throw ComputeError("step", "out of memory");
    }
    ValidationResult validate(RankTransport& transport) override {
        transport.all_gather({0});
        if (fault_.at == Breakage::At::validation && hosts_faulty(-1))
            throw ComputeError("validation", "out of memory");
        transport.all_gather({0});
        if (now_ && fault_.at == Breakage::At::no_number)
            return {.loss_nats = std::nan(""), .bits_per_byte = std::nan("")};
        return {};
    }
    std::vector<float> weights(int) const override { return {}; }
    StageState state(int) const override { return {}; }
    void set_state(int, const StageState&) override {}
    RoundingResiduals residuals() const override { return {}; }
    void set_residuals(const RoundingResiduals&) override {}

private:
    bool hosts_faulty(int stage) const {
        for (std::size_t s = 0; s < schedule_.plan.stages.size(); ++s)
            for (const int node : schedule_.plan.stages[s])
                if (node == fault_.node && (stage < 0 || stage == static_cast<int>(s)) && mine_) return true;
        return false;
    }

public:
    bool mine_ = false;  ///< this rank hosts the node

private:
    const Problem& problem_;
    CostCompute costs_;
    RankSchedule schedule_;
    Breakage fault_;
    std::atomic<bool> now_ = false;
    TaskGraph graph_;
};

/// Makes back ends that break as told.
class FragileBackend final : public RankBackend {
public:
    explicit FragileBackend(Breakage fault = {}) : fault_(fault) {}
    std::string versions_json() const override { return "{}"; }
    double blas_gflops() const override { return 1; }
    std::int64_t peak_memory_bytes() const override { return 1; }
    Made make(const protocol::Job&, const Work& work, const RankSchedule& schedule, int rank, int workers,
              const TellProgress&) override {
        auto compute = std::make_unique<Fragile>(work.problem, schedule, workers, fault_);
        compute->mine_ = fault_.node >= 0 && schedule.rank_of[static_cast<std::size_t>(fault_.node)] == rank;
        return {std::move(compute), "nothing"};
    }
    void measure_nodes(const Work&, const RankSchedule&, int, const std::function<void()>&, int, RankProbe&) override {}
    void save_weights(const std::filesystem::path&, const Work&,
                      const std::function<std::vector<float>(int)>&) override {}
    protocol::Evaluated evaluate(const protocol::Job&, const Work&, int, const TellProgress&) override {
        throw std::bad_alloc();
    }

private:
    Breakage fault_;
};

constexpr int nodes = 4;

/// Two stages of two nodes, milliseconds an operation.
Experiment experiment_of(int ranks, Clock clock, Compute compute, bool split) {
    Experiment experiment;
    experiment.name = "whole run";
    experiment.topology.regions = {{"here"}};
    for (int n = 0; n < nodes; ++n)
        experiment.topology.nodes.push_back(
            {.id = "node-" + std::to_string(n + 1), .region = "here", .seconds_per_sample_per_block = 1e-4});
    experiment.model = {.blocks = 2, .width = 32, .heads = 2, .vocabulary = 256, .sequence = 16};
    experiment.pipeline.stages = 2;
    experiment.pipeline.stage_sizes = {2, 2};
    experiment.pipeline.microbatches = 8;
    experiment.pipeline.skip_ratio = 0;
    experiment.pipeline.split_backward = split;
    experiment.training.iterations = 4;
    experiment.training.validate_every = 2;
    experiment.execution.clock = clock;
    experiment.execution.compute = compute;
    experiment.execution.ranks = ranks;
    experiment.execution.transport = ranks > 1 ? Transport::gloo : Transport::local;
    return experiment;
}

Plan plan_of(bool split) {
    Plan plan{.planner = "test", .split_backward = split, .stages = {{0, 1}, {2, 3}}, .blocks = {1, 1}};
    for (MicrobatchIndex m = 0; m < 8; ++m) plan.paths.push_back({m, {NodeIndex(m % 2), NodeIndex(2 + (m / 2) % 2)}});
    return plan;
}

}  // namespace

class TestWholeRun : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    RunJob job_of(int ranks, Clock clock, Compute compute = Compute::cost, bool split = false) const {
        RunJob job;
        job.experiment = experiment_of(ranks, clock, compute, split);
        job.problem = make_problem(job.experiment);
        job.plan = plan_of(split);
        job.record = folder_.filePath("record.sqlite").toStdString();
        job.base_dir = folder_.path().toStdString();
        return job;
    }

    static RunOutcome execute(const RunJob& job, RankBackend& backend, const RunProgress& progress = {},
                              const GpuSource& gpus = {}) {
        Recorder recorder(job.record);
        RanksInProcess ranks(worker_job(job), backend, gpus);
        return coordinate(job, recorder, ranks, progress);
    }

private Q_SLOTS:
    void every_clock_and_number_of_ranks_comes_to_its_end_data() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<bool>("virtual_time");
        QTest::newRow("virtual clock") << 1 << true;
        QTest::newRow("wall clock, one rank") << 1 << false;
        QTest::newRow("wall clock, three ranks") << 3 << false;
    }
    void every_clock_and_number_of_ranks_comes_to_its_end() {
        QFETCH(int, ranks);
        QFETCH(bool, virtual_time);
        const auto job = job_of(ranks, virtual_time ? Clock::virtual_time : Clock::wall);
        FragileBackend backend;
        int iterations = 0;
        RunProgress progress;
        progress.iterated = [&](const protocol::Iterated&) { ++iterations; };
        const auto outcome = execute(job, backend, progress);
        QVERIFY2(outcome.state == RunState::finished, outcome.info.error.c_str());
        QCOMPARE(iterations, 4);
        Reader reader(job.record);
        const auto run = reader.run(outcome.run);
        QVERIFY(run.has_value());
        QCOMPARE(run->state, RunState::finished);
        QCOMPARE(run->iterations_done, 4);
        const auto spans = reader.spans(outcome.run, 3);
        std::size_t operations = 0;
        for (const auto& span : spans) operations += is_compute(span.span.kind) ? 1 : 0;
        QCOMPARE(operations, std::size_t{8 * 5});
        if (virtual_time)
            QCOMPARE(*run->iteration_s, evaluate(job.problem, job.plan).iteration_s);
        else
            QVERIFY(!outcome.differences.empty());
    }

    /// What GPUs say while an iteration runs comes to the record from every rank, each GPU once.
    void devices_are_recorded_data() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<bool>("virtual_time");
        QTest::newRow("virtual clock") << 1 << true;
        QTest::newRow("wall clock, three ranks") << 3 << false;
    }
    void devices_are_recorded() {
        QFETCH(int, ranks);
        QFETCH(bool, virtual_time);
        auto job = job_of(ranks, virtual_time ? Clock::virtual_time : Clock::wall, Compute::torch);
        for (int node = 0; node < nodes; ++node) job.experiment.topology.nodes[at(node)].device = "cuda:1";
        job.experiment.topology.nodes[3].device = "cpu";
        job.experiment.training.iterations = 8;
        FragileBackend backend({.at = Breakage::At::pause, .iteration = 0});
        const GpuSource gpus{[] {
                                 return AttachedGpus{{{0, "Card", "GPU-a", 80}, {1, "Card", "GPU-b", 80}}, {}};
                             },
                             [](const std::string& uuid) {
                                 if (uuid != "GPU-b") throw std::runtime_error("nobody is on " + uuid);
                                 return GpuReading{0.75, 50, 80, 300, 1e9, -1};
                             }};
        const auto outcome = execute(job, backend, {}, gpus);
        QVERIFY2(outcome.state == RunState::finished, outcome.info.error.c_str());
        Reader reader(job.record);
        const auto recorded = reader.devices(outcome.run);
        QVERIFY(!recorded.empty());
        for (const auto& iteration : recorded) {
            QCOMPARE(iteration.devices.size(), std::size_t{1});
            const auto& device = iteration.devices.front();
            QCOMPARE(device.device, std::string("cuda:1"));
            QCOMPARE(device.uuid, std::string("GPU-b"));
            QVERIFY(!device.host.empty());
            QVERIFY(device.readings > 0);
            QCOMPARE(device.gpu, (GpuReading{0.75, 50, 80, 300, 1e9, -1}));
        }
        QCOMPARE(recorded.front().devices.front().nodes, (std::vector<int>{0, 1, 2}));
    }

    /// Training goes on where its GPUs cannot be read; that is said once.
    void devices_that_cannot_be_read_are_told_once() {
        auto job = job_of(1, Clock::virtual_time, Compute::torch);
        job.experiment.topology.nodes[0].device = "cuda:0";
        FragileBackend backend({.at = Breakage::At::pause, .iteration = 0});
        std::vector<Fault> warnings;
        RunProgress progress;
        progress.warned = [&](const Fault& fault) { warnings.push_back(fault); };
        const GpuSource gpus{[] {
                                 return AttachedGpus{{{0, "Card", "GPU-a", 80}}, {}};
                             },
                             [](const std::string&) -> GpuReading { throw std::runtime_error("it fell off the bus"); }};
        const auto outcome = execute(job, backend, progress, gpus);
        QCOMPARE(outcome.state, RunState::finished);
        QCOMPARE(warnings.size(), std::size_t{1});
        QVERIFY(QString::fromStdString(warnings.front().what).contains("fell off the bus"));
        QVERIFY(Reader(job.record).devices(outcome.run).empty());
    }

    /// A loss that jumps is told, kept in the record, and ends the run where that was asked for.
    void a_loss_that_jumps() {
        for (const bool stops : {true, false}) {
            auto job = job_of(1, Clock::virtual_time, Compute::torch);
            job.experiment.training.iterations = stops ? 100'000 : 50;
            job.experiment.training.validate_every = 0;
            if (stops) job.stop_on = {AlarmKind::spike};
            FragileBackend backend({.at = Breakage::At::loss, .iteration = 20});
            std::vector<Fault> warnings;
            RunProgress progress;
            progress.warned = [&](const Fault& fault) { warnings.push_back(fault); };
            const auto outcome = execute(job, backend, progress);
            QCOMPARE(warnings.size(), std::size_t{1});
            QCOMPARE(warnings.front().pointer, std::string("iteration 21"));
            QCOMPARE(outcome.state, stops ? RunState::stopped : RunState::finished);
            QVERIFY(outcome.info.iterations_done > 20);
            if (stops) QVERIFY(outcome.info.iterations_done < 100'000);
            Reader reader(job.record);
            QVERIFY(reader.run(outcome.run)->warning.starts_with("iteration 21: the loss is 9.000, after 3.000"));
        }
    }

    /// Whatever throws, wherever: the run ends within 5 s, says who it was, and every rank's threads end.
    void what_throws_ends_the_run_and_is_named_data() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("at");
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("node");
        QTest::addColumn<QString>("named");
        using At = Breakage::At;
        const auto row = [](int ranks, At at, OpKind kind, int node, const char* named) {
            const auto name = QString("%1 ranks, %2 %3 on node %4")
                                  .arg(ranks)
                                  .arg(static_cast<int>(at))
                                  .arg(QString::fromStdString(to_string({kind, 0})))
                                  .arg(node);
            QTest::newRow(qPrintable(name)) << ranks << static_cast<int>(at) << static_cast<int>(kind) << node << named;
        };
        for (const int ranks : {0, 1, 2, 3})  // 0: the virtual clock
            for (const auto kind : {OpKind::F, OpKind::L, OpKind::I, OpKind::W})
                for (const int node : {0, 1, 3})
                    if (kind != OpKind::L || node < 2)
                        row(ranks, At::operation, kind, node, node == 0 ? "node-1" : node == 1 ? "node-2" : "node-4");
        for (const int ranks : {2, 3}) {
            for (const int node : {0, 1, 3}) row(ranks, At::message, OpKind::F, node, "sending");
            row(ranks, At::reduction, OpKind::F, 3, "reducing stage 1");
            row(ranks, At::step, OpKind::F, 3, "step");
            row(ranks, At::validation, OpKind::F, 3, "validation");
            row(ranks, At::no_number, OpKind::F, 3, "training diverged");
        }
    }
    void what_throws_ends_the_run_and_is_named() {
        QFETCH(int, ranks);
        QFETCH(int, at);
        QFETCH(int, kind);
        QFETCH(int, node);
        QFETCH(QString, named);
        const auto job =
            job_of(std::max(1, ranks), ranks == 0 ? Clock::virtual_time : Clock::wall, Compute::torch, true);
        FragileBackend backend({static_cast<Breakage::At>(at), static_cast<OpKind>(kind), node, 1});
        QElapsedTimer timer;
        timer.start();
        const auto outcome = execute(job, backend);
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString("%1 ms").arg(timer.elapsed())));
        QCOMPARE(outcome.state, RunState::failed);
        QVERIFY2(QString::fromStdString(outcome.info.error).contains(named), outcome.info.error.c_str());
        Reader reader(job.record);
        QCOMPARE(reader.run(outcome.run)->state, RunState::failed);
    }

    /// Commands of a window reach the ranks, whatever their number, and the record says how it ended.
    void a_run_is_paused_resumed_and_stopped() {
        for (const int ranks : {1, 2}) {
            auto job = job_of(ranks, Clock::wall);
            job.experiment.training.iterations = 100'000;
            FragileBackend backend;
            RunProgress progress;
            RunId run = 0;
            int done = 0, paused_at = -1, resumed_at = -1;
            progress.started = [&](RunId id) { run = id; };
            progress.iterated = [&](const protocol::Iterated& m) {
                done = m.iteration + 1;
                if (done == 3) Reader(job.record).send_command(run, "pause");
                if (resumed_at >= 0 && done == resumed_at + 3) Reader(job.record).send_command(run, "stop");
            };
            progress.paused = [&](bool paused) {
                (paused ? paused_at : resumed_at) = done;
                if (paused) Reader(job.record).send_command(run, "resume");
            };
            const auto outcome = execute(job, backend, progress);
            QCOMPARE(outcome.state, RunState::stopped);
            QVERIFY(paused_at >= 3 && resumed_at == paused_at);
            QVERIFY(outcome.info.iterations_done >= resumed_at + 3);
        }
    }

    /// All ranks go on where the shorter one would have ended, and the record has the longer experiment.
    void a_run_is_extended() {
        for (const int ranks : {1, 2}) {
            auto job = job_of(ranks, Clock::wall);
            job.experiment.training.iterations = 2000;
            FragileBackend backend;
            RunProgress progress;
            RunId run = 0;
            std::vector<int> told;
            int warnings = 0;
            progress.started = [&](RunId id) { run = id; };
            progress.iterated = [&](const protocol::Iterated& m) {
                Reader reader(job.record);
                if (m.iteration != 0) return;
                reader.send_command(run, "pause");  // so that they are sure to come before the end
            };
            progress.paused = [&](bool paused) {
                if (!paused) return;
                Reader reader(job.record);
                for (const char* payload : {"{\"iterations\": 3}", "{\"iterations\": \"9\"}", "nonsense",
                                            "{\"iterations\": 2009}", "{\"iterations\": 2007}"})
                    reader.send_command(run, "extend", payload);
                reader.send_command(run, "resume");
            };
            progress.extended = [&](int iterations) { told.push_back(iterations); };
            progress.warned = [&](const Fault& fault) { warnings += fault.pointer == "extend" ? 1 : 0; };
            const auto outcome = execute(job, backend, progress);
            QCOMPARE(outcome.state, RunState::finished);
            QCOMPARE(outcome.info.iterations_done, 2009);
            QCOMPARE(told, std::vector<int>{2009});
            QVERIFY2(warnings == 4, "fewer, no number, no JSON, and fewer than it was extended to");
            Reader reader(job.record);
            QCOMPARE(reader.run(run)->iterations, 2009);
            QCOMPARE(parse_experiment(reader.experiment_json(run)).experiment.training.iterations, 2009);
        }
    }

    /// Of the newest iterations, or of each so-many-th, as the document says.
    void spans_are_thinned() {
        auto job = job_of(1, Clock::virtual_time);
        job.experiment.training.iterations = 9;
        job.experiment.execution.keep_spans = KeepSpans::newest;
        job.experiment.execution.keep_spans_of = 3;
        FragileBackend backend;
        const auto newest = execute(job, backend).run;
        job.experiment.execution.keep_spans = KeepSpans::every;
        job.experiment.execution.keep_spans_of = 4;
        const auto every = execute(job, backend).run;
        Reader reader(job.record);
        const auto kept = [&](RunId run) {
            std::vector<int> iterations;
            for (const auto& rows : reader.iteration_rows(run)) {
                iterations.push_back(rows.iteration);
                if (reader.spans(run, rows.iteration).empty()) iterations.push_back(-1);
            }
            return iterations;
        };
        QCOMPARE(kept(newest), (std::vector<int>{6, 7, 8}));
        QCOMPARE(kept(every), (std::vector<int>{0, 4, 7, 8}));
        QCOMPARE(reader.kept_iterations(every), 4);
        for (const auto& span : reader.spans(newest)) QVERIFY(span.iteration >= 6);
        QCOMPARE(reader.run(newest)->iterations_done, 9);
    }

    /// Of an evaluation too: it is no training, and the message must not say that it was one.
    void what_throws_in_an_evaluation_is_told_as_such() {
        auto job = worker_job(job_of(1, Clock::virtual_time));
        job.omitted = {{}, {1}};
        FragileBackend backend;
        RanksInProcess rank(job, backend);
        protocol::Message message;
        while (rank.read(message, 10) == RankGroup::Read::message && !std::holds_alternative<protocol::Failed>(message))
            ;
        const auto* failed = std::get_if<protocol::Failed>(&message);
        QVERIFY(failed != nullptr);
        const auto& fault = failed->faults.front();
        QCOMPARE(fault.pointer, std::string("evaluation"));
        QVERIFY2(fault.why.find("training") == std::string::npos, fault.why.c_str());
        QVERIFY2(fault.remedy.find("--threads") != std::string::npos, fault.remedy.c_str());
    }

    void a_worker_of_another_build_is_refused() {
        const auto job = job_of(1, Clock::virtual_time);
        struct Foreign final : RankGroup {
            bool said = false;
            Read read(protocol::Message& message, double) override {
                if (std::exchange(said, true)) return Read::closed;
                message = protocol::Hello{.build = "0.0.1 of long ago", .versions_json = "{}"};
                return Read::message;
            }
            bool send(const protocol::Command&) override { return true; }
            std::optional<Fault> lost_rank() override { return std::nullopt; }
            std::string wait(double) override { return ""; }
        } foreign;
        Recorder recorder(job.record);
        const auto outcome = coordinate(job, recorder, foreign, {});
        QCOMPARE(outcome.state, RunState::failed);
        QVERIFY(outcome.info.error.find("another build") != std::string::npos);
    }

    /// A worker that was stopped says nothing: it is told of, then ended; before its first word it has more time.
    void a_silent_worker_is_noticed_data() {
        QTest::addColumn<bool>("speaks");
        QTest::addColumn<double>("least_s");
        QTest::newRow("after its first word") << true << 0.5;
        QTest::newRow("before it") << false << 1.5;
    }
    void a_silent_worker_is_noticed() {
        QFETCH(bool, speaks);
        QFETCH(double, least_s);
        auto job = job_of(1, Clock::virtual_time);
        job.silence_warning_s = 0.2;
        job.silence_limit_s = 0.5;
        job.first_word_limit_s = 1.5;
        struct Silent final : RankGroup {
            explicit Silent(bool speaks) : said(!speaks) {}
            bool said;
            Read read(protocol::Message& message, double timeout_s) override {
                if (std::exchange(said, true)) {
                    QTest::qSleep(static_cast<int>(timeout_s * 1000));
                    return Read::timeout;
                }
                message = protocol::Hello{.build = build_id(), .versions_json = "{}"};
                return Read::message;
            }
            bool send(const protocol::Command&) override { return true; }
            std::optional<Fault> lost_rank() override { return std::nullopt; }
            std::string wait(double) override { return "was killed by signal 9"; }
        } silent(speaks);
        int warnings = 0;
        QElapsedTimer timer;
        timer.start();
        RunProgress progress;
        progress.warned = [&](const Fault&) { ++warnings; };
        Recorder recorder(job.record);
        const auto outcome = coordinate(job, recorder, silent, progress);
        QCOMPARE(outcome.state, RunState::failed);
        QCOMPARE(warnings, 1);
        QVERIFY(outcome.info.error.find("said nothing") != std::string::npos);
        QVERIFY(timer.elapsed() > 1000 * least_s);
        if (!speaks) return;
        const auto warning = Reader(job.record).run(outcome.run)->warning;
        QVERIFY2(warning.find("has said nothing") != std::string::npos, warning.c_str());
    }

    void a_worker_that_dies_of_its_data_says_so() {
        struct Dead final : RankGroup {
            std::string end;
            Read read(protocol::Message&, double) override { return Read::closed; }
            bool send(const protocol::Command&) override { return false; }
            std::optional<Fault> lost_rank() override { return std::nullopt; }
            std::string wait(double) override { return end; }
        } ranks;
        const auto remedy = [&](int signal) {
            const auto job = job_of(1, Clock::virtual_time);
            ranks.end = ProcessEnd{-1, signal}.describe();
            Recorder recorder(job.record);
            const auto outcome = coordinate(job, recorder, ranks, {});
            return outcome.weights_saved ? std::string() : outcome.faults.at(0).remedy;
        };
        QVERIFY(remedy(SIGBUS).find("was cut off while it was read") != std::string::npos);
        QVERIFY(remedy(SIGKILL).find("if memory ran out") != std::string::npos);
    }

    /// It is told of in the record, where windows read it, until it speaks again; --stop-on silence ends the run.
    void a_silence_is_an_alarm() {
        auto job = job_of(1, Clock::virtual_time);
        job.silence_warning_s = 0.2;
        job.silence_limit_s = 20;
        job.stop_on = {AlarmKind::silence};
        struct Pausing final : RankGroup {
            std::filesystem::path record;
            int said = 0, stops = 0;
            std::string warned, later;
            std::string warning() const { return Reader(record).runs().front().warning; }
            Read read(protocol::Message& message, double) override {
                QTest::qSleep(20);
                if (said == 0) {
                    message = protocol::Hello{.build = build_id(), .versions_json = "{}"};
                    return ++said, Read::message;
                }
                if (said == 1) {
                    if ((warned = warning()).empty()) return Read::timeout;
                    message = protocol::Heartbeat{};
                    return ++said, Read::message;
                }
                if (said == 2 && !(later = warning()).empty()) {  // it is not silent meanwhile
                    message = protocol::Heartbeat{};
                    return Read::message;
                }
                message = protocol::Done{true};
                return ++said, Read::message;
            }
            bool send(const protocol::Command& command) override {
                stops += std::holds_alternative<protocol::Stop>(command) ? 1 : 0;
                return true;
            }
            std::optional<Fault> lost_rank() override { return std::nullopt; }
            std::string wait(double) override { return {}; }
        } ranks;
        ranks.record = job.record;
        Recorder recorder(job.record);
        const auto outcome = coordinate(job, recorder, ranks, {});
        QVERIFY2(outcome.state == RunState::stopped, outcome.info.error.c_str());
        QVERIFY2(ranks.warned.find("has said nothing") != std::string::npos, ranks.warned.c_str());
        QCOMPARE(ranks.later, std::string());
        QCOMPARE(ranks.stops, 1);
    }
};

QTEST_GUILESS_MAIN(TestWholeRun)
#include "test_whole_run.moc"
