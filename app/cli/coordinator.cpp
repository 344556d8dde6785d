// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/coordinator.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <unistd.h>

#include "app/cli/planning.h"
#include "app/cli/worker_group.h"
#include "core/base/build_info.h"
#include "core/engine/planning_again.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"

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
    Run(const RunJob& job, const RunProgress& progress)
        : job_(job), progress_(progress), recorder_(job.record), plan_(job.plan) {}

    RunOutcome go() {
        protocol::Job job{to_text(job_.experiment),
                          to_json(job_.plan, job_.problem, nullptr).dump(),
                          job_.base_dir.string(),
                          job_.threads,
                          false,
                          job_.save_weights.string()};
        WorkerGroup workers(job, job_.experiment.execution.ranks, job_.launched);
        const auto handle = [this](const protocol::Message& message) {
            std::visit([this](const auto& m) { receive(m); }, message);
        };
        try {
            workers_ = &workers;
            if (const auto fault = workers.listen(
                    handle, [this] { return ended_; }, [&] { obey(workers); }))
                fail({*fault});
        } catch (const InputError& error) {
            fail(error.faults());
        }
        return finish();
    }

private:
    void receive(const protocol::Listening&) {}
    void receive(const protocol::Probed&) {}

    void begin(const std::string& versions) {
        if (started_) return;
        started_ = true;
        RunStart start{job_.experiment.name,
                       job_.plan.planner,
                       to_text(job_.experiment),
                       to_json(job_.plan, job_.problem, nullptr).dump(),
                       versions,
                       machine_json(),
                       job_.experiment.seed,
                       job_.experiment.training.iterations,
                       predicted_s()};
        outcome_.run = recorder_.begin(start);
        outcome_.info.id = outcome_.run;
        if (progress_.started) progress_.started(outcome_.run);
    }

    /// Under the wall clock the prediction knows what the ranks run on.
    void know_machines(const protocol::Hello& m) {
        if (m.machines.empty()) return;
        Machines machines;
        std::map<std::string, int> hosts;
        for (const auto& rank : m.machines) {
            const auto [host, added] = hosts.try_emplace(rank.host, static_cast<int>(hosts.size()));
            // Sleeping takes no core.
            const bool sleeps = job_.experiment.execution.compute == Compute::cost;
            if (added) machines.cores.push_back(sleeps ? job_.problem.nodes() : rank.cores);
            machines.ranks.push_back({host->second, rank.workers});
        }
        machines_ = std::move(machines);
        const int ranks = job_.experiment.execution.ranks;
        schedule_ = make_schedule(job_.problem, plan_, assign_ranks(job_.experiment.topology, plan_, ranks), ranks);
        if (job_.calibrate) costs_.emplace(job_.problem, !job_.experiment.execution.shape_links);
    }

    double predicted_s() const {
        return machines_ ? predict(job_.problem, *schedule_, *machines_).iteration_s
                         : evaluate(job_.problem, job_.plan).iteration_s;
    }

    /// Predicted against measured, under the wall clock.
    void weigh(const protocol::Iterated& m) {
        if (!machines_) return;
        Timeline measured;
        measured.spans = m.spans;
        measured.iteration_s = m.iteration_s;
        for (const auto& span : m.spans)
            if (is_compute(span.kind)) measured.makespan_s = std::max(measured.makespan_s, span.end_s);
        const Problem& problem = costs_ ? costs_->now() : job_.problem;
        if (costs_ || !predicted_s_) predicted_s_ = predict(problem, *schedule_, *machines_).iteration_s;
        metric(m.iteration, "predicted_iteration_s", *predicted_s_, m.offset_s + m.iteration_s, m.machine_s, m.tokens);
        // The cores are the run's: after the first iterations only now and then.
        constexpr double pause_s = 2;
        if (outcome_.differences.size() < 8 || m.machine_s > explained_at_s_ + pause_s) {
            outcome_.differences.push_back(explain_difference(problem, *schedule_, *machines_, measured));
            explained_at_s_ = m.machine_s;
        }
        if (costs_) calibrate(m);
    }

    /// What the iteration says of the network; where it is another than the plan was made for, a plan for the rest of
    /// the run.
    void calibrate(const protocol::Iterated& m) {
        costs_->observe(plan_, m.spans);
        // Measured operations include what ranks take of each other's cores.
        for (auto& cores : machines_->cores) cores = job_.problem.nodes();
        constexpr int settled = 3;  // iterations until the medians tell more than chance
        if (told_plan_ || m.iteration + 1 < considered_ + settled ||
            m.iteration + 2 >= job_.experiment.training.iterations)
            return;
        considered_ = m.iteration + 1;
        auto better = plan_again(*costs_, *schedule_, *machines_);
        costs_->planned();
        if (!better || !workers_->tell("plan " + to_json(better->schedule.plan, job_.problem, nullptr).dump())) return;
        told_plan_ = std::move(better);
    }

    void receive(const protocol::WentOver& m) {
        if (!told_plan_) return;
        schedule_ = std::move(told_plan_->schedule);
        plan_ = schedule_->plan;
        outcome_.plan_changes.push_back({m.iteration, told_plan_->why});
        told_plan_.reset();
        recorder_.plan(outcome_.run, m.iteration, to_json(plan_, job_.problem, nullptr).dump(),
                       outcome_.plan_changes.back().why);
        if (progress_.went_over) progress_.went_over(outcome_.plan_changes.back());
    }

    void receive(const protocol::Preparing& m) {
        if (progress_.preparing) progress_.preparing(m);
    }

    void receive(const protocol::Hello& m) {
        nlohmann::ordered_json versions{{"skippipe", version}, {"compiler", compiler},
                                        {"build", build_type}, {"blas_gflops", m.blas_gflops},
                                        {"data", m.data},      {"ranks", job_.experiment.execution.ranks}};
        try {
            versions.update(nlohmann::ordered_json::parse(m.versions_json));
        } catch (const nlohmann::json::exception&) {
            versions["worker"] = m.versions_json;
        }
        know_machines(m);
        begin(versions.dump());
        if (progress_.ready) progress_.ready(m);
    }

    void receive(const protocol::Validated& m) {
        metric(m.iterations_done, "validation_loss", m.result.loss_nats, m.network_s, m.machine_s, m.tokens);
        if (m.result.bits_per_byte > 0)
            metric(m.iterations_done, "bits_per_byte", m.result.bits_per_byte, m.network_s, m.machine_s, m.tokens);
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
            metric(m.iteration, "loss", m.result.loss_sum_nats / static_cast<double>(m.result.tokens), end_s,
                   m.machine_s, m.tokens);
            metric(m.iteration, "gradient_norm", m.result.gradient_norm, end_s, m.machine_s, m.tokens);
            metric(m.iteration, "tokens_per_second",
                   static_cast<double>(m.result.tokens) / std::max(1e-9, m.machine_s - outcome_.info.machine_s), end_s,
                   m.machine_s, m.tokens);
        }
        auto& info = outcome_.info;
        info.iterations_done = m.iteration + 1;
        info.machine_s = m.machine_s;
        info.iteration_s = end_s / info.iterations_done;
        if (m.tokens > 0 && m.machine_s > 0) info.tokens_per_second = static_cast<double>(m.tokens) / m.machine_s;
        recorder_.iteration_done(outcome_.run, info.iterations_done, m.machine_s);
        weigh(m);
        last_ = m;
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

    void metric(int iteration, const char* name, double value, double network_s, double machine_s,
                std::int64_t tokens) {
        recorder_.metric(outcome_.run, {0, iteration, name, value, network_s, machine_s, tokens});
    }

    void obey(WorkerGroup& workers) {
        if (!started_) return obey_interrupt(workers);
        recorder_.heartbeat(outcome_.run);
        for (const auto& command : recorder_.take_commands(outcome_.run)) workers.tell(command.kind);
        obey_interrupt(workers);
    }

    void obey_interrupt(WorkerGroup& workers) {
        if (interrupted() && !told_) told_ = workers.tell("stop");
    }

    RunOutcome finish() {
        if (last_) outcome_.idle_by_cause = idle_shares(job_.problem, plan_, last_->spans, last_->iteration_s);
        nlohmann::ordered_json idle;
        for (std::size_t c = 0; c < idle_causes; ++c)
            idle[std::string(to_string(static_cast<IdleCause>(c)))] = outcome_.idle_by_cause[c];
        outcome_.info.state = outcome_.state;
        nlohmann::ordered_json summary{{"idle_by_cause", idle},
                                       {"bits_per_byte", outcome_.bits_per_byte},
                                       {"peak_memory_bytes", outcome_.peak_memory_bytes}};
        if (const auto middle = median_difference(outcome_.differences)) summary["prediction"] = to_json(*middle);
        for (const auto& change : outcome_.plan_changes)
            summary["plan_changes"].push_back({{"iteration", change.iteration}, {"why", change.why}});
        recorder_.finish(outcome_.run, outcome_.state, outcome_.info, summary.dump());
        return std::move(outcome_);
    }

    const RunJob& job_;
    const RunProgress& progress_;
    Recorder recorder_;
    RunOutcome outcome_;
    double explained_at_s_ = 0;          ///< machine time
    std::optional<double> predicted_s_;  ///< of an iteration, under the wall clock
    std::optional<protocol::Iterated> last_;
    bool started_ = false, ended_ = false, told_ = false;
    std::optional<Machines> machines_;
    std::optional<RankSchedule> schedule_;
    Plan plan_;                            ///< in force
    WorkerGroup* workers_ = nullptr;       ///< while it listens
    std::optional<RunningCosts> costs_;    ///< where it calibrates
    std::optional<BetterPlan> told_plan_;  ///< the workers have it and still execute the one in force
    int considered_ = 0;                   ///< iterations done when it was last thought of planning again
};

}  // namespace

std::optional<Difference> median_difference(const std::vector<Difference>& differences) {
    // The first iteration warms up.
    std::vector<Difference> sorted(differences.begin() + (differences.size() > 2 ? 1 : 0), differences.end());
    if (sorted.empty()) return std::nullopt;
    std::sort(sorted.begin(), sorted.end(),
              [](const Difference& a, const Difference& b) { return a.measured_s < b.measured_s; });
    return sorted[sorted.size() / 2];
}

nlohmann::ordered_json to_json(const Difference& d) {
    return {{"predicted_s", d.predicted_s}, {"measured_s", d.measured_s},         {"operations_s", d.operations_s},
            {"transfers_s", d.transfers_s}, {"coordination_s", d.coordination_s}, {"reduction_s", d.reduction_s}};
}

std::array<double, idle_causes> idle_shares(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                                            double iteration_s) {
    Timeline timeline;
    timeline.spans = spans;
    timeline.iteration_s = iteration_s;
    for (const auto& stage : plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
    for (const auto& span : spans)
        if (is_compute(span.kind))
            timeline.busy_s += span.end_s - span.start_s,
                timeline.makespan_s = std::max(timeline.makespan_s, span.end_s);
    return explain_idle(problem, plan, timeline).share;
}

RunOutcome coordinate(const RunJob& job, const RunProgress& progress) {
    catch_interrupts();
    return Run(job, progress).go();
}

}  // namespace skippipe::cli
