// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/coordinator.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "app/cli/planning.h"
#include "app/cli/worker_process.h"
#include "core/base/build_info.h"
#include "core/experiment/io.h"
#include "core/planner/evaluator.h"

namespace skippipe::cli {

namespace {

std::string machine_json() {
    nlohmann::ordered_json machine;
    utsname system{};
    ::uname(&system);
    machine["host"] = system.nodename;
    machine["system"] = std::string(system.sysname) + " " + system.release;
    machine["architecture"] = system.machine;
    machine["cores"] = std::thread::hardware_concurrency();
    machine["memory_bytes"] = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
    std::ifstream cpu("/proc/cpuinfo");
    for (std::string line; std::getline(cpu, line);)
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
            machine["processor"] = line.substr(line.find(": ") + 2);
            break;
        }
    return machine.dump();
}

/// One run in progress: every message of the worker goes to the record.
class Run {
public:
    Run(const RunJob& job, const RunProgress& progress) : job_(job), progress_(progress), recorder_(job.record) {}

    RunOutcome go() {
        protocol::Job job{to_text(job_.experiment), to_json(job_.plan, job_.problem, nullptr).dump(), job_.base_dir.string(), job_.threads, job_.save_weights.string()};
        WorkerProcess worker(environment_of(0, 0));
        bool closed = !worker.write_line(protocol::encode(job));
        std::string line;
        while (!closed && !ended_) {
            switch (worker.read_line(line, 0.2)) {
                case WorkerProcess::Read::line: handle(line); break;
                case WorkerProcess::Read::closed: closed = true; break;
                case WorkerProcess::Read::timeout: look_after_ranks(); break;
            }
            if (started_)
                obey(worker);
            else
                obey_interrupt(worker);
        }
        const auto how = worker.wait();
        if (!ended_) fail({{"worker", "the training worker " + (how.empty() ? "ended without a word" : how), "the run cannot go on without it",
                            "Look at its messages above; if memory ran out, use a smaller model, fewer samples or fewer threads"}});
        return finish();
    }

private:
    /// What tells a worker which rank it is; nothing where there is one rank, or a launcher has said it already.
    std::vector<std::string> environment_of(int rank, int port) const {
        const int ranks = job_.experiment.execution.ranks;
        if (ranks == 1 || job_.launched) return {};
        return {"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(ranks), "LOCAL_WORLD_SIZE=" + std::to_string(ranks),
                "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port), "TORCHELASTIC_USE_AGENT_STORE=False"};
    }

    /// Rank 0 is up: the others follow.
    void receive(const protocol::Listening& m) {
        for (int rank = 1; rank < job_.experiment.execution.ranks; ++rank) others_.push_back(std::make_unique<WorkerProcess>(environment_of(rank, m.port)));
    }

    /// Rank 0 finds out by itself when another is gone, and says more about it; this is for when it cannot.
    void look_after_ranks() {
        for (std::size_t i = 0; i < others_.size(); ++i) {
            if (others_[i]->running()) continue;
            if (!lost_since_) lost_since_ = std::chrono::steady_clock::now();
            if (std::chrono::steady_clock::now() - *lost_since_ < std::chrono::seconds(15)) return;
            const auto how = others_[i]->wait();
            fail({{"rank " + std::to_string(i + 1), "its worker " + (how.empty() ? "ended early" : how), "the run cannot go on without it", "Look at its messages above"}});
            return;
        }
    }

    void begin(const std::string& versions) {
        if (started_) return;
        started_ = true;
        RunStart start{job_.experiment.name, job_.plan.planner, to_text(job_.experiment), to_json(job_.plan, job_.problem, nullptr).dump(), versions,
                       machine_json(), job_.experiment.seed, job_.experiment.training.iterations, evaluate(job_.problem, job_.plan).iteration_s};
        outcome_.run = recorder_.begin(start);
        outcome_.info.id = outcome_.run;
        if (progress_.started) progress_.started(outcome_.run);
    }

    void handle(const std::string& line) {
        try {
            std::visit([this](const auto& message) { receive(message); }, protocol::decode(line));
        } catch (const InputError& error) {
            fail(error.faults());
        }
    }

    void receive(const protocol::Preparing& m) {
        if (progress_.preparing) progress_.preparing(m);
    }

    void receive(const protocol::Hello& m) {
        nlohmann::ordered_json versions{{"skippipe", version}, {"compiler", compiler}, {"build", build_type}, {"blas_gflops", m.blas_gflops}, {"data", m.data}, {"ranks", m.ranks}};
        try {
            versions.update(nlohmann::ordered_json::parse(m.versions_json));
        } catch (const nlohmann::json::exception&) {
            versions["worker"] = m.versions_json;
        }
        begin(versions.dump());
        if (progress_.ready) progress_.ready(m);
    }

    void receive(const protocol::Validated& m) {
        metric(m.iterations_done, "validation_loss", m.result.loss_nats, m.network_s, m.machine_s, m.tokens);
        if (m.result.bits_per_byte > 0) metric(m.iterations_done, "bits_per_byte", m.result.bits_per_byte, m.network_s, m.machine_s, m.tokens);
        if (!outcome_.info.first_validation_loss) outcome_.info.first_validation_loss = m.result.loss_nats;
        outcome_.info.last_validation_loss = m.result.loss_nats;
        outcome_.bits_per_byte = m.result.bits_per_byte;
        recorder_.flush();
        if (progress_.validated) progress_.validated(m);
    }

    void receive(const protocol::Iterated& m) {
        recorder_.spans(outcome_.run, m.iteration, m.offset_s, m.spans);
        const double end_s = m.offset_s + m.iteration_s;
        metric(m.iteration, "iteration_s", m.iteration_s, end_s, m.machine_s, m.tokens);
        if (m.result.tokens > 0) {
            metric(m.iteration, "loss", m.result.loss_sum_nats / static_cast<double>(m.result.tokens), end_s, m.machine_s, m.tokens);
            metric(m.iteration, "gradient_norm", m.result.gradient_norm, end_s, m.machine_s, m.tokens);
            metric(m.iteration, "tokens_per_second", static_cast<double>(m.result.tokens) / std::max(1e-9, m.machine_s - outcome_.info.machine_s), end_s, m.machine_s, m.tokens);
        }
        auto& info = outcome_.info;
        info.iterations_done = m.iteration + 1;
        info.machine_s = m.machine_s;
        info.iteration_s = end_s / info.iterations_done;
        if (m.tokens > 0 && m.machine_s > 0) info.tokens_per_second = static_cast<double>(m.tokens) / m.machine_s;
        recorder_.iteration_done(outcome_.run, info.iterations_done, m.machine_s);
        if (m.iteration == 0 || m.iteration + 1 == job_.experiment.training.iterations || m.iteration_s != explained_s_) {
            outcome_.idle_by_cause = idle_shares(job_.problem, job_.plan, m.spans, m.iteration_s);
            explained_s_ = m.iteration_s;
        }
        if (progress_.iterated) progress_.iterated(m);
    }

    void receive(const protocol::Done& m) {
        begin("{}");  // stopped while the data were read
        outcome_.state = m.stopped ? RunState::stopped : RunState::finished;
        outcome_.peak_memory_bytes = m.peak_memory_bytes;
        ended_ = true;
    }

    void receive(const protocol::Failed& m) { fail(m.faults); }

    void fail(Faults faults) {
        begin("{}");
        outcome_.state = RunState::failed;
        outcome_.faults = std::move(faults);
        if (!outcome_.faults.empty()) outcome_.info.error = to_string(outcome_.faults.front());
        ended_ = true;
    }

    void metric(int iteration, const char* name, double value, double network_s, double machine_s, std::int64_t tokens) {
        recorder_.metric(outcome_.run, {0, iteration, name, value, network_s, machine_s, tokens});
    }

    void obey(WorkerProcess& worker) {
        recorder_.heartbeat(outcome_.run);
        for (const auto& command : recorder_.take_commands(outcome_.run)) worker.write_line(command.kind);
        obey_interrupt(worker);
    }

    void obey_interrupt(WorkerProcess& worker) {
        if (interrupted() && !told_) told_ = worker.write_line("stop");
    }

    RunOutcome finish() {
        nlohmann::ordered_json idle;
        for (std::size_t c = 0; c < idle_causes; ++c) idle[std::string(to_string(static_cast<IdleCause>(c)))] = outcome_.idle_by_cause[c];
        outcome_.info.state = outcome_.state;
        const nlohmann::ordered_json summary{{"idle_by_cause", idle}, {"bits_per_byte", outcome_.bits_per_byte}, {"peak_memory_bytes", outcome_.peak_memory_bytes}};
        recorder_.finish(outcome_.run, outcome_.state, outcome_.info, summary.dump());
        return std::move(outcome_);
    }

    const RunJob& job_;
    const RunProgress& progress_;
    Recorder recorder_;
    RunOutcome outcome_;
    double explained_s_ = -1;
    bool started_ = false, ended_ = false, told_ = false;
    std::vector<std::unique_ptr<WorkerProcess>> others_;  ///< ranks 1 and up, where this process starts them
    std::optional<std::chrono::steady_clock::time_point> lost_since_;
};

}  // namespace

std::array<double, idle_causes> idle_shares(const Problem& problem, const Plan& plan, const std::vector<Span>& spans, double iteration_s) {
    Timeline timeline;
    timeline.spans = spans;
    timeline.iteration_s = iteration_s;
    for (const auto& stage : plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
    for (const auto& span : spans)
        if (is_compute(span.kind)) timeline.busy_s += span.end_s - span.start_s, timeline.makespan_s = std::max(timeline.makespan_s, span.end_s);
    return explain_idle(problem, plan, timeline).share;
}

RunOutcome coordinate(const RunJob& job, const RunProgress& progress) {
    catch_interrupts();
    return Run(job, progress).go();
}

}  // namespace skippipe::cli
