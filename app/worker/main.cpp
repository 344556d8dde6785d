// SPDX-License-Identifier: GPL-3.0-or-later
// Trains one job for its coordinator: reads it from standard input, answers on standard output (core/engine/protocol.h).
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <nlohmann/json.hpp>
#include <torch/version.h>

#include "core/data/corpus.h"
#include "core/engine/protocol.h"
#include "core/engine/trainer.h"
#include "core/experiment/io.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/torch_compute.h"

namespace {

using namespace skippipe;

/// Peak resident memory of this process.
std::int64_t peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
    return 0;
}

void say(const protocol::Message& message) { std::cout << protocol::encode(message) << std::endl; }

/// Commands of the coordinator, read beside the training. It dies with its coordinator, so a closed input means stop.
class Commands {
public:
    Commands() : reader_([this] { read(); }) { reader_.detach(); }

    /// Blocks while paused; true: stop.
    bool stop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !paused_; });
        return stop_;
    }

private:
    void read() {
        for (std::string line; std::getline(std::cin, line);) set(line);
        set("stop");
    }
    void set(const std::string& command) {
        const std::lock_guard lock(mutex_);
        if (command == "stop") stop_ = true;
        if (command == "pause") paused_ = true;
        if (command == "resume") paused_ = false;
        changed_.notify_all();
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false, paused_ = false;
    std::thread reader_;
};

class Reporter final : public TrainingListener {
public:
    explicit Reporter(Commands& commands) : commands_(commands) {}
    void validated(int done, double network_s, double machine_s, std::int64_t tokens, const ValidationResult& result) override {
        say(protocol::Validated{done, network_s, machine_s, tokens, result});
    }
    void iterated(const IterationReport& r) override {
        say(protocol::Iterated{r.iteration, r.offset_s, r.timeline->iteration_s, r.machine_s, r.tokens, r.result, r.timeline->spans});
    }
    bool stop() override { return stopped_ = commands_.stop(); }
    bool stopped() const { return stopped_; }

private:
    Commands& commands_;
    bool stopped_ = false;
};

struct Work {
    Experiment experiment;
    Problem problem;
    Plan plan;
};

Work understand(const protocol::Job& job) {
    auto parsed = parse_experiment(job.experiment_json);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    Work work{std::move(parsed.experiment), {}, {}};
    work.problem = make_problem(work.experiment);
    Faults faults;
    work.plan = parse_plan(parse_json(job.plan_json, faults), work.problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return work;
}

std::unique_ptr<ComputeBackend> make_compute(const Work& work, const protocol::Job& job, protocol::Hello& hello) {
    if (work.experiment.execution.compute == Compute::cost) {
        hello.data = "none: compute is cost";
        return std::make_unique<CostCompute>();
    }
    auto corpus = load_corpus(work.experiment.data, job.base_dir);
    hello.data = corpus.description;
    hello.blas_gflops = measure_blas_gflops();
    hello.versions_json = nlohmann::json{{"libtorch", TORCH_VERSION}}.dump();
    Batches batches(std::move(corpus.bytes), work.experiment.data, work.experiment.pipeline.microbatch_samples, work.experiment.model.sequence, work.experiment.seed);
    return std::make_unique<TorchCompute>(work.experiment, work.plan, std::move(batches), work.experiment.seed, job.threads);
}

void work_off(const std::string& line) {
    const auto job = protocol::decode_job(line);
    const auto work = understand(job);
    protocol::Hello hello{.versions_json = "{}"};
    const auto compute = make_compute(work, job, hello);
    Commands commands;
    Reporter reporter(commands);
    say(hello);
    train(work.experiment, work.problem, work.plan, *compute, reporter);
    say(protocol::Done{reporter.stopped(), peak_memory_bytes()});
}

}  // namespace

int main() {
    keep_freed_memory();
    prepare_blas();  // where the BLAS is not safe to share, TorchCompute falls back to one worker
    std::string line;
    if (!std::getline(std::cin, line)) {
        std::cerr << "skippipe-worker trains for `skippipe run`, which starts it; it is not called by hand\n";
        return 2;
    }
    try {
        work_off(line);
    } catch (const InputError& error) {
        say(protocol::Failed{error.faults()});
    } catch (const std::exception& error) {
        say(protocol::Failed{{{"training", error.what(), "training cannot go on", "See the message; with less memory or another device try a smaller model"}}});
    }
    std::cout.flush();
    // The command reader may still wait for input: nothing is left to destroy that matters.
    std::quick_exit(0);
}
