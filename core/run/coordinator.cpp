// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/coordinator.h"

#include <csignal>

#include <fmt/format.h>

#include "core/engine/schedule.h"
#include "core/experiment/io.h"
#include "core/run/run.h"

namespace skippipe {

namespace {

/// What to do about a worker that ended as ProcessEnd describes it.
std::string remedy_of_end(const std::string& how) {
    if (how.find(fmt::format("signal {} ", SIGBUS)) != std::string::npos)
        return "A file of the data or weights was cut off while it was read, or its disk failed: look whether it is "
               "whole, and start again";
    return "Look at its messages above; if memory ran out, use a smaller model, fewer samples or fewer threads";
}

}  // namespace

Run::Run(const RunJob& job, Recorder& recorder, RankGroup& ranks, const RunProgress& progress)
    : job_(job),
      ranks_(ranks),
      progress_(progress),
      recorder_(recorder),
      iterations_(job.experiment.training.iterations),
      plan_(job.plan),
      failures_(job.experiment, job.problem, job.plan.stages, assign_ranks(job.experiment, job.plan),
                job.origin && !job.origin->fork ? job.origin->reached : -1) {
    if (job.origin && !job.origin->fork) outcome_.run = job.origin->run;
}

RunOutcome Run::go() {
    try {
        listen();
    } catch (const InputError& error) {
        fail(error.faults());
    }
    return finish();
}

void Run::listen() {
    protocol::Message message;
    while (!ended_) {
        const auto read = ranks_.read(message, 0.2);
        if (read == RankGroup::Read::closed) break;
        if (read == RankGroup::Read::message) {
            if (silence_.heard()) end_of_silence();
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
               "the run cannot go on without it", remedy_of_end(how)}});
}

void Run::look_after_ranks() {
    if (auto fault = ranks_.lost_rank()) return fail({*fault});
    const double limit_s = silence_.has_spoken() ? job_.silence_limit_s : job_.first_word_limit_s;
    if (silence_.lasts(job_.silence_warning_s)) {
        const auto alarm = silence_alarm(job_.silence_warning_s, limit_s);
        silence_.has_spoken() ? raise(alarm) : warn(alarm.fault);  // before its first word it loads
    }
    if (silence_.seconds() > limit_s)
        fail({{"worker", fmt::format("has said nothing for {:.0f} s", limit_s), "the run cannot go on without it",
               "If it was stopped by hand, start the run again"}});
}

void Run::fail(Faults faults) {
    // A run that was to go on stays as it was: it can be tried again.
    if (!job_.origin || job_.origin->fork) begin("{}");
    outcome_.state = RunState::failed;
    outcome_.faults = std::move(faults);
    if (!outcome_.faults.empty()) outcome_.info.error = to_string(outcome_.faults.front());
    for (const auto& fault : outcome_.faults) log_.error(to_string(fault));
    ended_ = true;
}

void Run::warn(const Fault& fault) {
    log_.warn(to_string(fault));
    if (progress_.warned) progress_.warned(fault);
}

void Run::tell_warnings() {
    for (const auto& fault : recorder_.take_warnings()) warn(fault);
}

RunOutcome Run::finish() {
    using nlohmann::ordered_json;
    if (forecast_) outcome_.differences = forecast_->differences();
    outcome_.idle_by_cause = idle_.mean();
    outcome_.idle_iterations = idle_.iterations();
    ordered_json idle;
    for (std::size_t c = 0; c < idle_causes; ++c)
        idle[std::string(to_string(static_cast<IdleCause>(c)))] = outcome_.idle_by_cause[c];
    outcome_.info.state = outcome_.state;
    outcome_.info.iterations = iterations_;
    ordered_json summary{{"idle_by_cause", idle},
                         {"idle_iterations", outcome_.idle_iterations},
                         {"bits_per_byte", outcome_.bits_per_byte},
                         {"peak_memory_bytes", outcome_.peak_memory_bytes}};
    if (const auto middle = median_difference(outcome_.differences)) summary["prediction"] = to_json(*middle);
    for (const auto& change : outcome_.plan_changes)
        summary["plan_changes"].push_back({{"iteration", change.iteration}, {"why", change.why}});
    if (!started_) return std::move(outcome_);
    recorder_.finish(outcome_.run, outcome_.state, outcome_.info, summary.dump());
    tell_warnings();
    place_checkpoints(true);
    log_.info(
        fmt::format("{}: {} of {} iterations", to_string(outcome_.state), outcome_.info.iterations_done, iterations_));
    return std::move(outcome_);
}

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
            job.calibrate,
            job.ignore_memory};
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
