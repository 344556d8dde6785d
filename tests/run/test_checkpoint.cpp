// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints: what is in a folder, what is found wrong with it, and runs in one process that write them and go on.
#include <QTemporaryDir>
#include <QTest>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fstream>
#include <limits>

#include <nlohmann/json.hpp>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/engine/cost_compute.h"
#include "core/experiment/io.h"
#include "core/record/checkpoints.h"
#include "core/record/log.h"
#include "core/run/checkpoint_store.h"
#include "core/run/checkpoint_writer.h"
#include "core/run/coordinator.h"
#include "tests/run/ranks_in_process.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace fs = std::filesystem;

namespace {

constexpr int nodes = 4, stages = 2, floats_each = 1000;

/// A model that needs no LibTorch: every step adds to the weights what the iteration and the stage say. What a step of
/// the one loses another one's losses show.
class Adding final : public ComputeBackend {
public:
    Adding(const Problem& problem, const RankSchedule& schedule, int rank, std::function<void(int)> before)
        : costs_(problem, schedule, 1), before_(std::move(before)) {
        for (int s = 0; s < stages; ++s)
            for (const int n : schedule.plan.stages[static_cast<std::size_t>(s)])
                if (schedule.rank_of[static_cast<std::size_t>(n)] == rank) {
                    states_[n] = {std::vector<float>(floats_each, 1.0F + static_cast<float>(s)),
                                  std::vector<float>(floats_each), std::vector<float>(floats_each), 0};
                }
    }
    void follow(const RankSchedule& schedule) override { costs_.follow(schedule); }
    void begin_iteration(int iteration) override {
        if (before_) before_(iteration);
    }
    void submit(const ComputeTask& task, Buffer input, Completion completed) override {
        costs_.submit(task, std::move(input), std::move(completed));
    }
    std::size_t message_bytes(const Operation& operation) const override { return costs_.message_bytes(operation); }
    Buffer take_message(const RankTransfer& transfer) override { return costs_.take_message(transfer); }
    void wait() override { costs_.wait(); }
    StageSum reduce(int, RankTransport&) override { return {.tokens = 8, .squared_norm = 1}; }
    RankLoss loss() const override {
        double sum = 0;
        for (const auto& [node, state] : states_)
            for (const float weight : state.weights) sum += weight;
        return {sum, 8};
    }
    void step(int iteration, const std::vector<StageSum>&) override {
        for (auto& [node, state] : states_) {
            ++state.steps;
            for (std::size_t i = 0; i < state.weights.size(); ++i) {
                state.m[i] = 0.9F * state.m[i] + static_cast<float>(iteration % 7) * 0.01F;
                state.v[i] += state.m[i] * state.m[i];
                state.weights[i] += state.m[i] / (1 + state.v[i]) / static_cast<float>(state.steps);
            }
        }
        residual_ += 0.1F;
    }
    ValidationResult validate(RankTransport& transport) override {
        double sum = 0;
        for (const auto& of_rank : transport.all_gather({loss().sum_nats})) sum += of_rank[0];
        return {.loss_nats = sum / 8, .bits_per_byte = sum / 80};
    }
    std::vector<float> weights(int node) const override { return states_.at(node).weights; }
    StageState state(int node) const override { return states_.at(node); }
    void set_state(int node, const StageState& state) override { states_.at(node) = state; }
    RoundingResiduals residuals() const override {
        RoundingResiduals all;
        for (const auto& [node, state] : states_)
            all.messages.push_back({node, node, 0, node > 1, {residual_, -residual_}});
        return all;
    }
    void set_residuals(const RoundingResiduals& residuals) override {
        for (const auto& one : residuals.messages)
            if (states_.contains(one.from_node)) residual_ = one.values.at(0);
    }

private:
    CostCompute costs_;
    std::function<void(int)> before_;
    std::map<int, StageState> states_;
    float residual_ = 0;
};

std::string what_is_read = "numbers";

class AddingBackend final : public RankBackend {
public:
    explicit AddingBackend(std::function<void(int)> before) : before_(std::move(before)) {}
    std::string versions_json() const override { return "{}"; }
    double blas_gflops() const override { return 1; }
    std::int64_t peak_memory_bytes() const override { return 1; }
    Made make(const protocol::Job&, const Work& work, const RankSchedule& schedule, int rank, int,
              const TellProgress&) override {
        return {std::make_unique<Adding>(work.problem, schedule, rank, before_), what_is_read};
    }
    void measure_nodes(const Work&, const RankSchedule&, int, const std::function<void()>&, int, RankProbe&) override {}
    void save_weights(const fs::path& file, const Work&,
                      const std::function<std::vector<float>(int)>& weights) override {
        std::ofstream out{file, std::ios::binary};
        for (int s = 0; s < stages; ++s) {
            const auto values = weights(s);
            out.write(reinterpret_cast<const char*>(values.data()),
                      static_cast<std::streamsize>(values.size() * sizeof(float)));
        }
    }

private:
    std::function<void(int)> before_;
};

Experiment experiment_of(int ranks, int every, int iterations) {
    Experiment experiment;
    experiment.name = "kept";
    experiment.topology.regions = {{"here"}};
    for (int n = 0; n < nodes; ++n)
        experiment.topology.nodes.push_back(
            {.id = "node-" + std::to_string(n + 1), .region = "here", .seconds_per_sample_per_block = 1e-4});
    experiment.model = {.blocks = stages, .width = 32, .heads = 2, .vocabulary = 256, .sequence = 16};
    experiment.pipeline.stages = stages;
    experiment.pipeline.stage_sizes = {2, 2};
    experiment.pipeline.microbatches = 4;
    experiment.training.iterations = iterations;
    experiment.training.validate_every = 4;
    experiment.training.checkpoint_every = every;
    experiment.execution.clock = ranks > 1 ? Clock::wall : Clock::virtual_time;
    experiment.execution.ranks = ranks;
    experiment.execution.transport = ranks > 1 ? Transport::gloo : Transport::local;
    return experiment;
}

RunJob job_of(const fs::path& folder, const Experiment& experiment) {
    RunJob job;
    job.experiment = experiment;
    job.problem = make_problem(experiment);
    job.plan = {.planner = "test", .stages = {{0, 1}, {2, 3}}, .blocks = {1, 1}};
    for (MicrobatchIndex m = 0; m < 4; ++m)
        job.plan.paths.push_back({m, {NodeIndex(m % 2), NodeIndex(2 + (m / 2) % 2)}});
    job.record = folder / "record.sqlite";
    job.base_dir = folder;
    job.save_weights = folder / "weights";
    return job;
}

/// Under the virtual clock an iteration takes microseconds: each waits for the checkpoint that was due before it, or
/// for a warning instead.
RunOutcome execute(RunJob job, RunProgress progress = {}) {
    std::atomic<bool> warned = false;
    progress.warned = [&warned, told = progress.warned](const Fault& fault) {
        if (told) told(fault);
        warned = true;
    };
    const int every = job.experiment.training.checkpoint_every;
    std::function<void(int)> before;
    if (job.experiment.execution.ranks == 1 && every > 0)
        before = [&, file = job.record](int iteration) {
            const auto is_there = [&](RunId run) {
                return fs::exists(checkpoints_path(file, run) / checkpoint_name(iteration));
            };
            for (int patience = 5000; iteration > 0 && iteration % every == 0 && patience > 0; --patience) {
                if (warned || is_there(1) || is_there(2)) break;
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
        };
    AddingBackend backend(before);
    Recorder recorder(job.record);
    const CheckpointStore store(job.record, job.experiment.training.checkpoint_every > 0);
    job.checkpoints = store.staging();
    RanksInProcess ranks(worker_job(job), backend);
    return coordinate(job, recorder, ranks, progress);
}

/// What the record has that no machine's clock changes.
std::vector<std::tuple<int, std::string, double>> results_of(const fs::path& record, RunId run, bool wall) {
    std::vector<std::tuple<int, std::string, double>> all;
    Reader reader(record);
    for (const auto& m : reader.metrics(run)) {
        if (m.name == "tokens_per_second" || (wall && m.name.ends_with("iteration_s"))) continue;
        all.emplace_back(m.iteration, m.name, m.value);
        if (!wall) all.back() = {m.iteration, m.name, m.value + 1e3 * m.network_s};
    }
    return all;
}

std::string bytes_of(const fs::path& file) {
    std::ifstream in{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{in}, {}};
}

RunJob resumed(RunJob job, RunId run, Faults* passed_over = nullptr) {
    Reader reader(job.record);
    Faults faults;
    const auto from = newest_checkpoint(job.record, *reader.run(run), reader.experiment_json(run),
                                        passed_over ? *passed_over : faults);
    job.plan = parse_plan(parse_json(from.manifest.plan_json, faults), job.problem, faults);
    job.origin = RunOrigin{run, from.folder, from.manifest.position};
    return job;
}

std::vector<int> numbers(const fs::path& record, RunId run) {
    std::vector<int> found;
    for (const auto& one : list_checkpoints(record, run)) found.push_back(one.iterations_done);
    return found;
}

/// One byte in the middle is another one.
void damage(const fs::path& file) {
    std::fstream out{file, std::ios::in | std::ios::out | std::ios::binary};
    const auto middle = static_cast<std::streamoff>(fs::file_size(file) * 3 / 4);
    out.seekg(middle);
    const auto byte = static_cast<char>(out.get() ^ 1);
    out.seekp(middle);
    out.put(byte);
}

bool mount_small_disk(const fs::path& place, const char* options) {
    if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    return ::mount("tmpfs", place.c_str(), "tmpfs", 0, options) == 0;
}

constexpr int cannot_mount = 77;

/// What the child of `a_full_disk_ends_no_training` does; its exit code is the first thing that was wrong.
int train_on_a_full_disk(const fs::path& place) try {
    const auto checkpoints = place / "checkpoints";
    fs::create_directory(checkpoints);
    if (!mount_small_disk(checkpoints, "size=60k")) return cannot_mount;
    auto job = job_of(place, experiment_of(1, 3, 12));
    std::vector<std::string> warnings;
    RunProgress progress;
    progress.warned = [&](const Fault& fault) { warnings.push_back(to_string(fault)); };
    const auto outcome = execute(job, progress);
    if (outcome.state != RunState::finished) return 2;
    if (warnings.size() != 1 || warnings[0].find("No space left") == std::string::npos ||
        warnings[0].find(checkpoints.string()) == std::string::npos ||
        warnings[0].find("Make room") == std::string::npos)
        return 3;
    if (Reader(job.record).metrics(outcome.run).empty() || bytes_of(job.save_weights).empty()) return 4;
    // One fits: it is there, and it is whole.
    const auto there = list_checkpoints(job.record, outcome.run);
    if (there.size() != 1) return 5;
    verify_checkpoint(there[0].folder, read_manifest(there[0].folder));
    if (bytes_of(log_path(job.record, outcome.run)).find("No space left") == std::string::npos) return 6;
    return 0;
} catch (const std::exception& error) {
    qWarning("%s", error.what());
    return 1;
}

/// What the child of `a_folder_that_becomes_read_only` does, alike: nobody may write there once there is one
/// checkpoint.
int train_while_the_folder_becomes_read_only(const fs::path& place) try {
    const auto checkpoints = place / "checkpoints";
    fs::create_directory(checkpoints);
    if (!mount_small_disk(checkpoints, "size=10m")) return cannot_mount;
    auto job = job_of(place, experiment_of(1, 3, 12));
    std::vector<std::string> warnings;
    int written = 0;
    bool is_read_only = false;
    RunProgress progress;
    progress.warned = [&](const Fault& fault) { warnings.push_back(to_string(fault)); };
    progress.checkpointed = [&](const protocol::Checkpointed&) {
        if (++written > 1) return;
        const char* folder = checkpoints.c_str();
        is_read_only = ::mount(folder, folder, nullptr, MS_BIND, nullptr) == 0 &&
                       ::mount(nullptr, folder, nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) == 0;
    };
    const auto outcome = execute(job, progress);
    if (!is_read_only) return cannot_mount;
    if (outcome.state != RunState::finished) return 2;
    if (written != 1 || warnings.size() != 1 || warnings[0].find("Read-only file system") == std::string::npos ||
        warnings[0].find(checkpoints.string()) == std::string::npos ||
        warnings[0].find("make the folder writable") == std::string::npos)
        return 3;
    int losses = 0;
    for (const auto& metric : Reader(job.record).metrics(outcome.run)) losses += metric.name == "loss";
    if (losses != 12 || bytes_of(job.save_weights).empty()) return 4;
    const auto there = list_checkpoints(job.record, outcome.run);
    if (there.size() != 1 || there[0].iterations_done != 3) return 5;
    verify_checkpoint(there[0].folder, read_manifest(there[0].folder));
    return 0;
} catch (const std::exception& error) {
    qWarning("%s", error.what());
    return 1;
}

/// In a process of its own, whose mounts nobody else sees.
void check_in_a_child(int (*train)(const fs::path&), const fs::path& place) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(train(place));
    int status = 0;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY(WIFEXITED(status));
    if (WEXITSTATUS(status) == cannot_mount) QSKIP("this system lets nobody mount a file system of its own");
    QCOMPARE(WEXITSTATUS(status), 0);
}

}  // namespace

class TestCheckpoint : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    fs::path place_;

private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        place_ = folder_->path().toStdString();
    }

    void what_is_written_is_read() {
        const StageState first{{1, 2, 3}, {0.1F, -0.0F, 1e-40F}, {4, 5, 6}, 7};
        StageState second{{8}, {9}, {10}, 0};
        const RoundingResiduals owed{{{0, 1, 2, false, {0.5F}}, {11, 2, 1, true, {1, 2}}},
                                     {{1, 12, {0.25F, -0.0F}}, {2, 3, {7}}}};
        write_stage(place_, 0, first);
        write_stage(place_, 1, second);
        write_residuals(place_, 3, owed);
        CheckpointManifest given;
        given.position = {12, true, 0.1 + 0.2, 1.5, 1'234'567'890'123};
        const Membership::Slower slower{
            {.kind = NetworkChange::Kind::line_slower, .node = 2, .to = 1, .factor = 3}, 7, 5};
        given.position.members = {.absent = {{4, std::numeric_limits<double>::infinity(), 2, 1}},
                                  .slower = {slower},
                                  .placed = {{3, 4}, {slower}},
                                  .since_s = 11,
                                  .squared_norms = {0.5},
                                  .learning_rates = {1.1}};
        given.build = "b";
        given.experiment_json = to_text(experiment_of(1, 3, 5));
        given.plan_json = R"({"stages":[["a"]]})";
        given.base_dir = "/with \"quotes\"";
        given.threads = 3;
        given.calibrate = true;
        const auto written = write_manifest(place_, given), read = read_manifest(place_);
        QCOMPARE(read.files.size(), std::size_t{3});
        QVERIFY(read.files == written.files);
        QCOMPARE(read.steps, (std::vector<std::int64_t>{7, 0}));
        QCOMPARE(read.position.iterations_done, 12);
        QVERIFY(read.position.members == given.position.members);
        QVERIFY(read.position.validated && read.calibrate);
        QCOMPARE(read.position.network_s, 0.1 + 0.2);
        QCOMPARE(read.position.tokens, std::int64_t{1'234'567'890'123});
        QCOMPARE(read.base_dir, given.base_dir);
        QVERIFY(parse_experiment(read.experiment_json).experiment == experiment_of(1, 3, 5));
        verify_checkpoint(place_, read);
        QVERIFY(read_stage(place_, read, 0) == first);
        QVERIFY(read_stage(place_, read, 1) == second);
        QVERIFY(read_stage(place_, read, 2).weights.empty());
        QVERIFY(read_residuals(place_, read) == owed);
        QVERIFY(std::signbit(read_stage(place_, read, 0).m[1]));
    }

    /// Each is named with its file, what is wrong, why it matters and what to do.
    void what_is_damaged_is_named_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("how");
        QTest::addColumn<QString>("said");
        QTest::newRow("a bit of a stage") << "stage-1.safetensors"
                                          << "bit"
                                          << "damaged";
        QTest::newRow("a stage cut off") << "stage-0.safetensors"
                                         << "short"
                                         << "cut off";
        QTest::newRow("a stage gone") << "stage-0.safetensors"
                                      << "gone"
                                      << "cannot be read";
        QTest::newRow("a bit of the manifest") << "manifest.json"
                                               << "bit"
                                               << "";
        QTest::newRow("a manifest cut off") << "manifest.json"
                                            << "short"
                                            << "";
        QTest::newRow("a manifest of nothing") << "manifest.json"
                                               << "empty"
                                               << "";
        QTest::newRow("a later format") << "manifest.json"
                                        << "format"
                                        << "format 2";
        QTest::newRow("what int8 owes") << "residuals-rank-0.safetensors"
                                        << "bit"
                                        << "damaged";
    }
    void what_is_damaged_is_named() {
        QFETCH(QString, file);
        QFETCH(QString, how);
        QFETCH(QString, said);
        const std::vector<float> many(500, 1.5F);
        write_stage(place_, 0, {many, many, many, 1});
        write_stage(place_, 1, {many, many, many, 1});
        write_residuals(place_, 0, {{{0, 0, 2, false, many}}, {}});
        CheckpointManifest manifest;
        manifest.experiment_json = manifest.plan_json = "{}";
        write_manifest(place_, manifest);
        const auto path = place_ / file.toStdString();
        if (how == "bit") damage(path);
        if (how == "short") fs::resize_file(path, fs::file_size(path) / 2);
        if (how == "gone") fs::remove(path);
        if (how == "empty") fs::resize_file(path, 0);
        if (how == "format") {
            // As a later program would write it, checksum and all.
            auto json = nlohmann::ordered_json::parse(bytes_of(path));
            json["checkpoint"]["format"] = 2;
            const auto content = json["checkpoint"].dump();
            json["xxh3"] = fmt::format("{:016x}", XXH3_64bits(content.data(), content.size()));
            std::ofstream{path} << json.dump();
        }
        try {
            verify_checkpoint(place_, read_manifest(place_));
            QFAIL("it was taken");
        } catch (const InputError& error) {
            const auto& fault = error.faults().front();
            QVERIFY2(QString::fromStdString(fault.pointer).contains(file), fault.pointer.c_str());
            QVERIFY2(QString::fromStdString(fault.what).contains(said), fault.what.c_str());
            QVERIFY(!fault.why.empty() && !fault.remedy.empty());
        }
    }

    /// Stopped, or as if killed, after any number of iterations: what follows is what would have come.
    void a_run_goes_on_as_if_nothing_had_happened_data() {
        QTest::addColumn<int>("ranks");
        QTest::addColumn<int>("stop_at");
        for (const int ranks : {1, 3})
            for (const int at : {1, 5, 8, 13})
                QTest::newRow(qPrintable(QString("%1 ranks, stopped after %2").arg(ranks).arg(at))) << ranks << at;
    }
    void a_run_goes_on_as_if_nothing_had_happened() {
        QFETCH(int, ranks);
        QFETCH(int, stop_at);
        const auto experiment = experiment_of(ranks, 3, 17);
        const auto other_place = place_ / "undisturbed";
        fs::create_directory(other_place);
        const auto whole_job = job_of(other_place, experiment), job = job_of(place_, experiment);
        const auto whole = execute(whole_job);
        QVERIFY2(whole.state == RunState::finished, whole.info.error.c_str());
        QCOMPARE(numbers(whole_job.record, whole.run), (std::vector{17, 15}));

        RunProgress progress;
        int done = 0;
        progress.iterated = [&](const protocol::Iterated& m) { done = m.iteration + 1; };
        progress.interrupted = [&] { return done >= stop_at; };
        const auto stopped = execute(job, progress);
        QCOMPARE(stopped.state, RunState::stopped);
        QCOMPARE(numbers(job.record, stopped.run).front(), stopped.info.iterations_done);
        const auto next = execute(resumed(job, stopped.run));
        QVERIFY2(next.state == RunState::finished, next.info.error.c_str());
        QCOMPARE(next.run, stopped.run);
        QCOMPARE(next.info.iterations_done, 17);
        const bool wall = ranks > 1;
        const auto expected = results_of(whole_job.record, whole.run, wall),
                   got = results_of(job.record, next.run, wall);
        QVERIFY(got == expected);
        QVERIFY(next.weights_saved && !bytes_of(job.save_weights).empty());
        QVERIFY(bytes_of(job.save_weights) == bytes_of(whole_job.save_weights));
        Reader reader(job.record);
        QCOMPARE(reader.iteration_rows(next.run).size(), std::size_t{17});
        QCOMPARE(reader.run(next.run)->first_validation_loss,
                 Reader(whole_job.record).run(whole.run)->first_validation_loss);
        QCOMPARE(numbers(job.record, next.run).size(), std::size_t{2});
        QVERIFY(fs::exists(checkpoints_path(job.record, next.run)));
        for (const auto& left : fs::directory_iterator(checkpoints_path(job.record, 0).parent_path()))
            QVERIFY2(!left.path().filename().string().starts_with("."), left.path().c_str());
    }

    /// By their hash; a manifest without one says what it did before.
    void other_data_are_told_of() {
        const auto job = job_of(place_, experiment_of(1, 3, 17));
        const auto warnings_from = [&](const std::string& before, const std::string& now) {
            int done = 0;
            RunProgress progress;
            progress.iterated = [&](const protocol::Iterated& m) { done = m.iteration + 1; };
            progress.interrupted = [&] { return done >= 5; };
            what_is_read = before;
            const auto stopped = execute(job, progress);
            int warnings = 0;
            progress = {};
            progress.warned = [&](const Fault& fault) {
                warnings += to_string(fault).find("not those of the checkpoint") != std::string::npos ? 1 : 0;
            };
            what_is_read = now;
            execute(resumed(job, stopped.run), progress);
            what_is_read = "numbers";
            return warnings;
        };
        QCOMPARE(warnings_from("numbers", "numbers, XXH3 1"), 0);
        QCOMPARE(warnings_from("numbers, XXH3 1", "numbers, XXH3 1"), 0);
        QCOMPARE(warnings_from("numbers, XXH3 1", "numbers, XXH3 2"), 1);
        QCOMPARE(warnings_from("numbers", "letters, XXH3 1"), 1);
    }

    void a_damaged_checkpoint_is_passed_over() {
        const auto job = job_of(place_, experiment_of(1, 3, 17));
        RunProgress progress;
        int done = 0;
        progress.iterated = [&](const protocol::Iterated& m) { done = m.iteration + 1; };
        progress.interrupted = [&] { return done >= 8; };
        const auto stopped = execute(job, progress);
        const auto there = list_checkpoints(job.record, stopped.run);
        QCOMPARE(there.size(), std::size_t{2});
        damage(there[0].folder / "stage-0.safetensors");
        Faults passed_over;
        const auto next_job = resumed(job, stopped.run, &passed_over);
        QCOMPARE(next_job.origin->folder, there[1].folder);
        QCOMPARE(passed_over.size(), std::size_t{1});
        QCOMPARE(passed_over[0].severity, Fault::Severity::warning);
        QVERIFY(passed_over[0].pointer.find(there[0].folder.string()) != std::string::npos);
        const auto next = execute(next_job);
        QCOMPARE(next.state, RunState::finished);
        damage(list_checkpoints(job.record, stopped.run)[0].folder / "stage-0.safetensors");
        damage(list_checkpoints(job.record, stopped.run)[1].folder / "manifest.json");
        QVERIFY_THROWS_EXCEPTION(InputError, resumed(job, stopped.run));
        QVERIFY_THROWS_EXCEPTION(
            InputError, checkpoint_at(job.record, stopped.run, Reader(job.record).experiment_json(stopped.run), 4));
    }

    /// Of a record that was deleted: nothing goes on from a stranger's weights.
    void checkpoints_of_another_record_are_not_taken() {
        auto job = job_of(place_, experiment_of(1, 3, 6));
        const auto first = execute(job);
        fs::remove(job.record);
        fs::remove(job.record.string() + "-wal");
        fs::remove(job.record.string() + "-shm");
        job.experiment.training.learning_rate *= 2;
        job.experiment.training.checkpoint_every = 0;
        std::vector<std::string> warnings;
        RunProgress progress;
        progress.warned = [&](const Fault& fault) { warnings.push_back(to_string(fault)); };
        const auto second = execute(job, progress);
        QCOMPARE(second.run, first.run);
        QCOMPARE(warnings.size(), std::size_t{1});
        QVERIFY(numbers(job.record, second.run).empty());
        const fs::path aside = checkpoints_path(job.record, first.run).string() + "-of-another-record-1";
        QVERIFY(fs::exists(aside));
        // Nor forked: the folder of an imported run's number may be there.
        fs::rename(aside, checkpoints_path(job.record, first.run));
        QVERIFY_THROWS_EXCEPTION(
            InputError, checkpoint_at(job.record, second.run, Reader(job.record).experiment_json(second.run), 6));
    }

    /// A worker that does not come to train leaves a run that was to go on as it was.
    void a_failed_start_changes_nothing() {
        const auto job = job_of(place_, experiment_of(1, 3, 9));
        RunProgress progress;
        int done = 0;
        progress.iterated = [&](const protocol::Iterated& m) { done = m.iteration + 1; };
        progress.interrupted = [&] { return done >= 4; };
        const auto stopped = execute(job, progress);
        auto next_job = resumed(job, stopped.run);
        const auto before = results_of(job.record, stopped.run, false);
        damage(next_job.origin->folder / "stage-1.safetensors");
        const auto next = execute(next_job);
        QCOMPARE(next.state, RunState::failed);
        QVERIFY(!next.faults.empty());
        QCOMPARE(Reader(job.record).run(stopped.run)->state, RunState::stopped);
        QVERIFY(results_of(job.record, stopped.run, false) == before);
    }

    void a_fork_is_a_run_of_its_own() {
        auto job = job_of(place_, experiment_of(1, 3, 9));
        const auto first = execute(job);
        const auto from = checkpoint_at(job.record, first.run, Reader(job.record).experiment_json(first.run), 6);
        job.experiment.training.iterations = 12;
        job.origin = RunOrigin{first.run, from.folder, from.manifest.position, true};
        const auto second = execute(job);
        QVERIFY(second.run != first.run);
        QVERIFY2(second.state == RunState::finished, second.info.error.c_str());
        QCOMPARE(second.info.iterations_done, 12);
        std::map<int, double> parent, child;
        Reader reader(job.record);
        for (const auto& m : reader.metrics(first.run))
            if (m.name == "loss") parent[m.iteration] = m.value;
        for (const auto& m : reader.metrics(second.run))
            if (m.name == "loss") child[m.iteration] = m.value;
        QCOMPARE(child.begin()->first, 6);
        QCOMPARE(child.size(), std::size_t{6});
        for (const int i : {6, 7, 8}) QCOMPARE(child.at(i), parent.at(i));
        QVERIFY(reader.run(second.run)->first_validation_loss.has_value());
        QCOMPARE(numbers(job.record, first.run), (std::vector{9, 6}));
    }

    /// A fork that is slower than the run it begins in has figures of its own, also after it was stopped and gone on
    /// with.
    void a_fork_counts_its_own_iterations() {
        auto job = job_of(place_, experiment_of(1, 3, 9));
        const auto first = execute(job);
        const auto from = checkpoint_at(job.record, first.run, Reader(job.record).experiment_json(first.run), 6);
        job.experiment.training.iterations = 15;
        for (auto& node : job.experiment.topology.nodes) node.seconds_per_sample_per_block *= 10;
        job.problem = make_problem(job.experiment);
        job.origin = RunOrigin{first.run, from.folder, from.manifest.position, true};
        int done = 0;
        RunProgress progress;
        progress.iterated = [&](const protocol::Iterated& m) { done = m.iteration + 1; };
        progress.interrupted = [&] { return done >= 10; };
        const auto stopped = execute(job, progress);
        QCOMPARE(stopped.state, RunState::stopped);
        const auto own_speed = [](const RunInfo& run, const std::vector<Metric>& metrics, double from_s, auto from) {
            const auto last =
                std::find_if(metrics.rbegin(), metrics.rend(), [](const Metric& m) { return m.name == "iteration_s"; });
            const double speed = static_cast<double>(last->tokens - from) / (last->machine_s - from_s);
            return last->tokens > from && std::abs(run.tokens_per_second.value_or(0) / speed - 1) < 1e-9;
        };
        const auto& before = from.manifest.position;
        QVERIFY(before.tokens > 0 &&
                own_speed(stopped.info, Reader(job.record).metrics(stopped.run), before.machine_s, before.tokens));
        const auto second = execute(resumed(job, stopped.run));
        QVERIFY2(second.state == RunState::finished, second.info.error.c_str());
        Reader reader(job.record);
        const auto metrics = reader.metrics(stopped.run);
        const auto begun =
            std::find_if(metrics.begin(), metrics.end(), [](const Metric& m) { return m.name == "iteration_s"; });
        QVERIFY(own_speed(*reader.run(stopped.run), metrics, begun->machine_s, begun->tokens));
        double sum_s = 0;
        int count = 0;
        for (const auto& m : reader.metrics(stopped.run))
            if (m.name == "iteration_s") sum_s += m.value, ++count;
        QCOMPARE(count, 9);
        const auto info = *reader.run(stopped.run);
        QCOMPARE(info.first_iteration, 6);
        QCOMPARE(info.iterations_done, 15);
        QVERIFY2(std::abs(*info.iteration_s / (sum_s / count) - 1) < 1e-9, std::to_string(*info.iteration_s).c_str());
        const auto parent = *reader.run(first.run);
        QCOMPARE(parent.first_iteration, 0);
        QVERIFY(*info.iteration_s > 1.5 * *parent.iteration_s);
    }

    /// What a killed job left goes with the next; what a living one writes stays.
    void folders_of_killed_jobs_go() {
        const auto record = place_ / "record.sqlite";
        const auto killed = checkpoints_path(record, 0).parent_path() / ".writing-abcdef" / "iteration-000003";
        fs::create_directories(killed);
        std::ofstream{killed / "stage-0.safetensors"} << "half";
        {
            const CheckpointStore one(record, true);
            QVERIFY(fs::exists(one.staging()));
            QVERIFY(!fs::exists(killed.parent_path()));
            const CheckpointStore two(record, true);
            QVERIFY(fs::exists(one.staging()) && fs::exists(two.staging()));
        }
        QVERIFY(!fs::exists(killed.parent_path().parent_path()));
        QVERIFY(CheckpointStore(record, false).staging().empty());
    }

    void a_folder_that_takes_nothing_is_told() {
        std::ofstream{place_ / "checkpoints"} << "a file where the folder should be";
        const CheckpointStore store(place_ / "record.sqlite", true);
        QVERIFY(store.staging().empty());
        QVERIFY(to_string(store.trouble()).find((place_ / "checkpoints").string()) != std::string::npos);
        QVERIFY(!store.trouble().remedy.empty());
    }

    void a_full_disk_ends_no_training() { check_in_a_child(train_on_a_full_disk, place_); }
    void a_folder_that_becomes_read_only() { check_in_a_child(train_while_the_folder_becomes_read_only, place_); }
};

QTEST_GUILESS_MAIN(TestCheckpoint)
#include "test_checkpoint.moc"
