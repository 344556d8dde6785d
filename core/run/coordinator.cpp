// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/coordinator.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/build_info.h"
#include "core/base/format.h"
#include "core/engine/build_id.h"
#include "core/engine/schedule.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/record/checkpoints.h"
#include "core/record/log.h"
#include "core/run/checkpoint_store.h"
#include "core/run/rank_failures.h"
#include "core/run/run_log.h"

namespace skippipe {

namespace {

using nlohmann::ordered_json;

std::string machine_json() {
    ordered_json machine;
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

std::string versions_of(const protocol::Hello& hello, int ranks) {
    ordered_json versions{{"skippipe", version}, {"compiler", compiler},
                          {"build", build_type}, {"blas_gflops", hello.blas_gflops},
                          {"data", hello.data},  {"ranks", ranks}};
    try {
        versions.update(ordered_json::parse(hello.versions_json));
    } catch (const nlohmann::json::exception&) {
        versions["worker"] = hello.versions_json;
    }
    return versions.dump();
}

/// A command of a window or a verb, as the worker reads it; nothing where this program knows none of that name.
std::optional<protocol::Command> worker_command(const std::string& kind) {
    if (kind == "stop") return protocol::Stop{};
    if (kind == "pause") return protocol::Pause{};
    if (kind == "resume") return protocol::Resume{};
    return std::nullopt;
}

/// How long the worker has said nothing.
class Silence {
public:
    void heard() {
        since_ = std::chrono::steady_clock::now();
        told_ = false;
    }
    double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - since_).count(); }
    /// True once each time that it lasts so long.
    bool lasts(double limit_s) {
        if (told_ || seconds() < limit_s) return false;
        return told_ = true;
    }

private:
    std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
    bool told_ = false;
};

/// One run in progress: every message of its ranks goes to the record.
class Run {
public:
    Run(const RunJob& job, Recorder& recorder, RankGroup& ranks, const RunProgress& progress)
        : job_(job),
          ranks_(ranks),
          progress_(progress),
          recorder_(recorder),
          plan_(job.plan),
          failures_(job.experiment, job.problem, job.plan.stages,
                    assign_ranks(job.experiment.topology, job.plan, job.experiment.execution.ranks)) {
        if (job.origin && !job.origin->fork) outcome_.run = job.origin->run;
    }

    RunOutcome go() {
        try {
            listen();
        } catch (const InputError& error) {
            fail(error.faults());
        }
        return finish();
    }

private:
    void listen() {
        protocol::Message message;
        while (!ended_) {
            const auto read = ranks_.read(message, 0.2);
            if (read == RankGroup::Read::closed) break;
            if (read == RankGroup::Read::message) {
                silence_.heard();
                std::visit([this](const auto& m) { receive(m); }, message);
            } else {
                look_after_ranks();
            }
            poll_commands();
            tell_warnings();
            place_checkpoints();
        }
        const auto how = ranks_.wait(ended_ && outcome_.state != RunState::failed ? 30 : 1);
        if (!ended_)
            fail({{"worker", "the training worker " + (how.empty() ? "ended without a word" : how),
                   "the run cannot go on without it",
                   "Look at its messages above; if memory ran out, use a smaller model, fewer samples or fewer "
                   "threads"}});
    }

    void look_after_ranks() {
        if (auto fault = ranks_.lost_rank()) return fail({*fault});
        if (silence_.lasts(job_.silence_warning_s))
            warn({"worker", fmt::format("has said nothing for {:.0f} s", job_.silence_warning_s),
                  "it may be stopped (SIGSTOP), or the machine has no time for it",
                  fmt::format("Let it go on (kill -CONT); after {:.0f} s the run is ended", job_.silence_limit_s),
                  Fault::Severity::warning});
        if (silence_.seconds() > job_.silence_limit_s)
            fail({{"worker", fmt::format("has said nothing for {:.0f} s", job_.silence_limit_s),
                   "the run cannot go on without it", "If it was stopped by hand, start the run again"}});
    }

    void receive(const protocol::Listening&) {}
    void receive(const protocol::Probed&) {}
    void receive(const protocol::Evaluated&) {}
    void receive(const protocol::Heartbeat&) {}

    void receive(const protocol::Preparing& m) {
        if (progress_.preparing) progress_.preparing(m);
    }

    void receive(const protocol::Hello& m) {
        if (m.build != build_id())
            return fail({{"skippipe-worker", "is of another build: " + m.build,
                          "this program is " + build_id() + ", and they must understand each other",
                          "Build both anew with `./studio build`"}});
        const auto ranks = static_cast<std::size_t>(job_.experiment.execution.ranks);
        const auto unlikely = [](const protocol::RankMachine& one) {
            constexpr int most = 1 << 16;
            return one.cores < 1 || one.cores > most || one.workers < 1 || one.workers > most;
        };
        if (!m.machines.empty() &&
            (m.machines.size() != ranks || std::any_of(m.machines.begin(), m.machines.end(), unlikely)))
            return fail(
                {{"skippipe-worker", fmt::format("tells of {} machines for {} ranks", m.machines.size(), ranks),
                  "each rank runs on one, with its cores and workers", "Build both anew with `./studio build`"}});
        machines_ = m.machines;
        if (!m.machines.empty()) forecast_.emplace(job_.experiment, job_.problem, plan_, m.machines, job_.calibrate);
        begin(versions_of(m, job_.experiment.execution.ranks));
        if (progress_.ready) progress_.ready(m);
    }

    void begin(const std::string& versions) {
        if (started_) return;
        started_ = true;
        const double predicted_s = forecast_ ? forecast_->iteration_s() : evaluate(job_.problem, job_.plan).iteration_s;
        const bool goes_on = job_.origin && !job_.origin->fork;
        if (goes_on)
            take_up();
        else
            outcome_.run = recorder_.begin({job_.experiment.name, job_.plan.planner, to_text(job_.experiment),
                                            to_json(job_.plan, job_.problem, nullptr).dump(), versions, machine_json(),
                                            job_.experiment.seed, job_.experiment.training.iterations, predicted_s});
        outcome_.info.id = outcome_.run;
        open_log();
        if (job_.origin) continue_from(job_.origin->position);
        log_.info(fmt::format("{}: {} iterations, planned by {}, {} an iteration predicted; {}", job_.experiment.name,
                              job_.experiment.training.iterations, job_.plan.planner, format_seconds(predicted_s),
                              versions));
        if (!goes_on)
            if (const auto aside = move_strange_checkpoints(job_.record, outcome_.run); !aside.empty())
                warn({checkpoints_path(job_.record, outcome_.run).string(),
                      "checkpoints of another record's run lay there", "they were moved to " + aside.string(),
                      "Remove them if nothing needs them", Fault::Severity::warning});
        begin_iteration(outcome_.info.iterations_done);
        if (progress_.started) progress_.started(outcome_.run);
    }

    /// The run is this program's from now on; what was recorded after the checkpoint is gone.
    void take_up() {
        const auto& from = *job_.origin;
        const auto& position = from.position;
        const auto had = recorder_.resume(from.run, {position.iterations_done, position.validated, position.machine_s});
        outcome_.run = from.run;
        outcome_.info.first_validation_loss = had.first_validation_loss;
        outcome_.info.last_validation_loss = had.last_validation_loss;
        outcome_.bits_per_byte = had.bits_per_byte;
        prune_checkpoints(job_.record, from.run, position.iterations_done,
                          static_cast<std::size_t>(job_.experiment.training.keep_checkpoints));
    }

    void continue_from(const TrainingPosition& position) {
        auto& info = outcome_.info;
        info.iterations_done = position.iterations_done;
        info.machine_s = position.machine_s;
        if (position.iterations_done > 0) info.iteration_s = position.network_s / position.iterations_done;
        if (position.tokens > 0 && position.machine_s > 0)
            info.tokens_per_second = static_cast<double>(position.tokens) / position.machine_s;
        recorder_.iteration_done(outcome_.run, info.iterations_done, info.machine_s);
        log_.info(fmt::format("{} after {} iterations, {}",
                              job_.origin->fork ? fmt::format("begins where run {} was", job_.origin->run) : "goes on",
                              info.iterations_done, job_.origin->folder.string()));
    }

    void open_log() {
        const auto file = log_path(job_.record, outcome_.run);
        log_ = RunLog(file);
        if (!log_.trouble().empty())
            warn({file.string(), "cannot be written: " + log_.trouble(), "this run has no log",
                  "Make the folder writable", Fault::Severity::warning});
    }

    void receive(const protocol::Validated& m) {
        metric(m.iterations_done, "validation_loss", m.result.loss_nats, m.network_s, m.machine_s, m.tokens);
        if (m.result.bits_per_byte > 0)
            metric(m.iterations_done, "bits_per_byte", m.result.bits_per_byte, m.network_s, m.machine_s, m.tokens);
        if (!outcome_.info.first_validation_loss) outcome_.info.first_validation_loss = m.result.loss_nats;
        outcome_.info.last_validation_loss = m.result.loss_nats;
        outcome_.bits_per_byte = m.result.bits_per_byte;
        recorder_.flush();
        log_.info(fmt::format("validation after {} iterations: loss {:.4f}", m.iterations_done, m.result.loss_nats));
        if (progress_.validated) progress_.validated(m);
    }

    void receive(const protocol::Iterated& m) {
        recorder_.spans(outcome_.run, m.iteration, m.offset_s, m.spans);
        const double end_s = network_s_ = m.offset_s + m.iteration_s;
        const auto note = [&](const char* name, double value) {
            metric(m.iteration, name, value, end_s, m.machine_s, m.tokens);
        };
        auto& info = outcome_.info;
        note("iteration_s", m.iteration_s);
        if (m.result.tokens > 0) {
            const auto tokens = static_cast<double>(m.result.tokens);
            note("loss", m.result.loss_sum_nats / tokens);
            note("gradient_norm", m.result.gradient_norm);
            note("tokens_per_second", tokens / std::max(1e-9, m.machine_s - info.machine_s));
        }
        info.iterations_done = m.iteration + 1;
        info.machine_s = m.machine_s;
        info.iteration_s = end_s / info.iterations_done;
        if (m.tokens > 0 && m.machine_s > 0) info.tokens_per_second = static_cast<double>(m.tokens) / m.machine_s;
        recorder_.iteration_done(outcome_.run, info.iterations_done, m.machine_s);
        if (forecast_) {
            note("predicted_iteration_s", forecast_->observe(m));
            offer_better_plan(m);
        }
        last_ = m;
        begin_iteration(m.iteration + 1);
        if (progress_.iterated) progress_.iterated(m);
    }

    void offer_better_plan(const protocol::Iterated& m) {
        auto better = forecast_->better_plan(m);
        if (!better) return;
        const auto plan_json = to_json(better->schedule.plan, job_.problem, nullptr).dump();
        if (ranks_.send(protocol::SwitchPlan{plan_json})) forecast_->told(std::move(*better));
    }

    void receive(const protocol::Recovered& m) {
        const auto& report = m.report;
        for (const int node : report.nodes) require_node(node);
        const double end_s = m.offset_s + report.detected_s;
        const auto note = [&](const char* name, double value) {
            metric(m.iteration, name, value, end_s, outcome_.info.machine_s, 0);
        };
        note("nodes_lost", static_cast<double>(report.nodes.size()));
        note("detection_s", report.detected_s - report.lost_s);
        note("replanning_s", report.replanning_s);
        note("redone_operations", report.redone_forwards + report.redone_backwards);
        note("lost_gradients", report.lost_gradients);
        note("dropped_microbatches", report.dropped);
        outcome_.nodes_lost += static_cast<int>(report.nodes.size());
        outcome_.begun_again += report.abandoned.empty() ? 0 : 1;
        log_.warn(fmt::format("iteration {}: {}", m.iteration + 1, describe(report, job_.problem)));
        for (const auto& change : report.changes) log_.info("  " + change);
        if (progress_.recovered) progress_.recovered(m);
    }

    void receive(const protocol::WentBack& m) {
        const auto& to = m.position;
        recorder_.go_back(outcome_.run, {to.iterations_done, to.validated, to.machine_s});
        network_s_ = to.network_s;
        const auto note = [&](const char* name, double value) {
            metric(to.iterations_done, name, value, network_s_, to.machine_s, to.tokens);
        };
        note("lost_iterations", m.lost_iterations);
        note("lost_network_s", m.lost_s);
        auto& info = outcome_.info;
        info.iterations_done = to.iterations_done;
        info.machine_s = to.machine_s;
        ++outcome_.went_back;
        outcome_.lost_iterations += m.lost_iterations;
        log_.warn(describe(m));
        if (progress_.went_back) progress_.went_back(m);
    }

    void receive(const protocol::Regrouped& m) {
        const auto& report = m.report;
        for (const auto* nodes : {&report.nodes_lost, &report.nodes_joined})
            for (const int node : *nodes) require_node(node);
        const auto note = [&](const char* name, double value) {
            metric(report.iterations_done, name, value, network_s_, outcome_.info.machine_s, 0);
        };
        note("nodes_lost", static_cast<double>(report.nodes_lost.size()));
        note("detection_s", report.detection_s);
        note("replanning_s", report.planning_s);
        note("recovery_s", report.total_s());
        outcome_.nodes_lost += static_cast<int>(report.nodes_lost.size());
        outcome_.begun_again += report.lost_work_s > 0 ? 1 : 0;
        network_s_ += report.total_s();
        const auto what = describe(report, job_.problem);
        plan_ = plan_of(report.plan_json);
        recorder_.plan(outcome_.run, report.iterations_done, report.plan_json, what);
        log_.warn(what);
        // It knows one plan, of all ranks.
        if (plan_.stages == job_.plan.stages && !machines_.empty())
            forecast_.emplace(job_.experiment, job_.problem, plan_, machines_, job_.calibrate);
        else
            forecast_.reset();
        ranks_.regrouped(report.lost, report.joined);
        if (progress_.regrouped) progress_.regrouped(m);
    }

    Plan plan_of(const std::string& json) const {
        Faults faults;
        auto plan = parse_plan(parse_json(json, faults), job_.problem, faults);
        if (has_errors(faults)) throw InputError(faults);
        return plan;
    }

    void require_node(int node) const {
        if (node < 0 || node >= job_.problem.nodes())
            throw InputError("worker", fmt::format("node {} is lost", node), "the experiment has no such node",
                             "Build coordinator and worker anew with `./studio build`");
    }

    void receive(const protocol::PlanSwitched& m) {
        auto why = m.why.empty() && forecast_ ? forecast_->switched() : std::nullopt;
        if (!m.why.empty()) why = m.why;
        if (!why) return;
        plan_ = plan_of(m.plan_json);
        outcome_.plan_changes.push_back({m.iteration, *why});
        recorder_.plan(outcome_.run, m.iteration, to_json(plan_, job_.problem, nullptr).dump(), *why);
        log_.info(fmt::format("another plan from iteration {} on: {}", m.iteration + 1, *why));
        if (progress_.plan_switched) progress_.plan_switched(outcome_.plan_changes.back());
    }

    void receive(const protocol::Checkpointed& m) {
        written_.push_back(m);
        place_checkpoints();
    }

    void receive(const protocol::Warned& m) { warn(m.fault); }

    /// A checkpoint counts once the record holds, on the disk, all that was before it: what goes on from it lacks
    /// nothing. While the record cannot be written they wait.
    void place_checkpoints(bool recorded = false) {
        if (written_.empty() || !started_) return;
        const auto now = std::chrono::steady_clock::now();
        if (!recorded && (now < place_again_ || !recorder_.commit(outcome_.run))) {
            if (now >= place_again_) place_again_ = now + std::chrono::seconds(2);
            return;
        }
        for (const auto& one : std::exchange(written_, {})) try {
                place_checkpoint(job_.record, outcome_.run, one, job_.experiment.training.keep_checkpoints);
                log_.info(
                    fmt::format("checkpoint after {} iterations: {}; the training stood still for {}, written in "
                                "{} beside it",
                                one.iterations_done, format_si(static_cast<double>(one.bytes), "B"),
                                format_seconds(one.held_s), format_seconds(one.seconds)));
                if (progress_.checkpointed) progress_.checkpointed(one);
            } catch (const InputError& error) {
                auto fault = error.faults().front();
                fault.severity = Fault::Severity::warning;
                warn(fault);
            }
    }

    void receive(const protocol::Paused& m) {
        log_.info(m.paused ? "paused" : "resumed");
        if (progress_.paused) progress_.paused(m.paused);
    }

    void receive(const protocol::Done& m) {
        if (!job_.origin || job_.origin->fork) begin("{}");  // stopped while the data were read
        outcome_.state = m.stopped ? RunState::stopped : RunState::finished;
        outcome_.peak_memory_bytes = m.peak_memory_bytes;
        ended_ = true;
    }

    void receive(const protocol::Failed& m) { fail(m.faults); }

    void fail(Faults faults) {
        // A run that was to go on stays as it was: it can be tried again.
        if (!job_.origin || job_.origin->fork) begin("{}");
        outcome_.state = RunState::failed;
        outcome_.faults = std::move(faults);
        if (!outcome_.faults.empty()) outcome_.info.error = to_string(outcome_.faults.front());
        for (const auto& fault : outcome_.faults) log_.error(to_string(fault));
        ended_ = true;
    }

    void warn(const Fault& fault) {
        log_.warn(to_string(fault));
        if (progress_.warned) progress_.warned(fault);
    }

    void tell_warnings() {
        for (const auto& fault : recorder_.take_warnings()) warn(fault);
    }

    void metric(int iteration, const char* name, double value, double network_s, double machine_s,
                std::int64_t tokens) {
        recorder_.metric(outcome_.run, {0, iteration, name, value, network_s, machine_s, tokens});
    }

    void poll_commands() {
        if (started_) {
            recorder_.heartbeat(outcome_.run);
            for (const auto& command : recorder_.take_commands(outcome_.run)) obey(command);
            for (const auto& loss : failures_.take_due()) kill_rank_of(loss);
        }
        if (progress_.interrupted && progress_.interrupted() && !stop_sent_) {
            log_.info("interrupted");
            stop_sent_ = ranks_.send(protocol::Stop{});
        }
    }

    void obey(const Command& taken) {
        log_.info("command: " + taken.kind);
        if (taken.kind == "fail")
            fail_node(taken.payload_json);
        else if (const auto command = worker_command(taken.kind))
            ranks_.send(*command);
        else
            warn({"command", taken.kind + " is not known", "another program sent it", "", Fault::Severity::warning});
    }

    void fail_node(const std::string& payload) {
        try {
            const auto loss = loss_of_command(payload, job_.problem, failures_.rank_of());
            if (job_.experiment.execution.clock == Clock::virtual_time)
                ranks_.send(protocol::FailNode{loss.node, loss.back_after_s});
            else
                kill_rank_of(loss);
        } catch (const InputError& error) {
            auto fault = error.faults().front();
            fault.severity = Fault::Severity::warning;
            warn(fault);
        }
    }

    /// Wall clock: a node is lost with its rank.
    void kill_rank_of(const NodeLoss& loss) {
        const auto& id = job_.problem.node_ids[static_cast<std::size_t>(loss.node)];
        const auto refuse = [&](const char* why, const char* remedy) {
            warn({"failure", fmt::format("{} is not made to fail: it is on rank {}", id, loss.rank), why, remedy,
                  Fault::Severity::warning});
        };
        if (loss.rank <= 0) return refuse("rank 0 decides for all; the run would end", "Choose a node of another rank");
        log_.info(fmt::format("{} is made to fail: rank {} is killed", id, loss.rank));
        if (!ranks_.kill(loss.rank, loss.back_after_s))
            refuse("a launcher has started that rank, on a host of its own", "Kill it there");
    }

    void begin_iteration(int iteration) {
        failures_.begin_iteration(iteration, network_s_,
                                  outcome_.info.iteration_s.value_or(evaluate(job_.problem, plan_).iteration_s));
    }

    RunOutcome finish() {
        if (forecast_) outcome_.differences = forecast_->differences();
        if (last_) outcome_.idle_by_cause = idle_shares(job_.problem, plan_, last_->spans, last_->iteration_s);
        ordered_json idle;
        for (std::size_t c = 0; c < idle_causes; ++c)
            idle[std::string(to_string(static_cast<IdleCause>(c)))] = outcome_.idle_by_cause[c];
        outcome_.info.state = outcome_.state;
        ordered_json summary{{"idle_by_cause", idle},
                             {"bits_per_byte", outcome_.bits_per_byte},
                             {"peak_memory_bytes", outcome_.peak_memory_bytes}};
        if (const auto middle = median_difference(outcome_.differences)) summary["prediction"] = to_json(*middle);
        for (const auto& change : outcome_.plan_changes)
            summary["plan_changes"].push_back({{"iteration", change.iteration}, {"why", change.why}});
        if (!started_) return std::move(outcome_);
        recorder_.finish(outcome_.run, outcome_.state, outcome_.info, summary.dump());
        tell_warnings();
        place_checkpoints(true);
        log_.info(fmt::format("{}: {} of {} iterations", to_string(outcome_.state), outcome_.info.iterations_done,
                              job_.experiment.training.iterations));
        return std::move(outcome_);
    }

    const RunJob& job_;
    RankGroup& ranks_;
    const RunProgress& progress_;
    Recorder& recorder_;
    RunLog log_;
    RunOutcome outcome_;
    Plan plan_;                         ///< in force
    std::optional<Forecast> forecast_;  ///< under the wall clock, from the workers' hello on, while all ranks are there
    std::vector<protocol::RankMachine> machines_;
    double network_s_ = 0;  ///< where the last iteration ended
    RankFailures failures_;
    std::optional<protocol::Iterated> last_;
    std::vector<protocol::Checkpointed> written_;  ///< that do not count yet
    std::chrono::steady_clock::time_point place_again_{};
    Silence silence_;
    bool started_ = false, ended_ = false, stop_sent_ = false;
};

}  // namespace

protocol::Job worker_job(const RunJob& job) {
    return {to_text(job.experiment),
            to_json(job.plan, job.problem, nullptr).dump(),
            job.base_dir.string(),
            job.threads,
            false,
            job.save_weights.string(),
            job.checkpoints.string(),
            job.origin ? job.origin->folder.string() : "",
            !job.origin || job.origin->fork,
            !job.origin || job.origin->residuals,
            job.calibrate};
}

std::array<double, idle_causes> idle_shares(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                                            double iteration_s) {
    Timeline timeline;
    timeline.spans = spans;
    timeline.iteration_s = iteration_s;
    add_totals(plan, timeline);
    return explain_idle(problem, plan, timeline).share;
}

RunOutcome coordinate(const RunJob& job, Recorder& recorder, RankGroup& ranks, const RunProgress& progress) {
    return Run(job, recorder, ranks, progress).go();
}

}  // namespace skippipe
