// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/train_job.h"

#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/planning.h"
#include "app/cli/run_progress.h"
#include "core/analysis/clock_words.h"
#include "core/base/format.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/memory.h"
#include "core/record/checkpoints.h"
#include "core/run/checkpoint_store.h"
#include "core/run/worker_group.h"
#include "core/tokenizer/tokenizer.h"

namespace skippipe::cli {

namespace {

nlohmann::ordered_json summary(const RunOutcome& outcome) {
    nlohmann::ordered_json idle = nlohmann::ordered_json::object();
    for (std::size_t c = 0; c < idle_causes; ++c)
        idle[std::string(to_string(static_cast<IdleCause>(c)))] = outcome.idle_by_cause[c];
    nlohmann::ordered_json json{{"run", outcome.run},
                                {"state", to_string(outcome.state)},
                                {"iterations", outcome.info.iterations_done},
                                {"iteration_seconds", optional_number(outcome.info.iteration_s)},
                                {"tokens_per_second", optional_number(outcome.info.tokens_per_second)},
                                {"first_validation_loss", optional_number(outcome.info.first_validation_loss)},
                                {"last_validation_loss", optional_number(outcome.info.last_validation_loss)},
                                {"idle_by_cause", idle},
                                {"idle_iterations", outcome.idle_iterations},
                                {"peak_memory_bytes", outcome.peak_memory_bytes}};
    if (const auto middle = median_difference(outcome.differences)) json["prediction"] = to_json(*middle);
    for (const auto& change : outcome.plan_changes)
        json["plan_changes"].push_back({{"iteration", change.iteration}, {"why", change.why}});
    if (!outcome.faults.empty()) json["faults"] = to_json(outcome.faults);
    return json;
}

void print_summary(const RunJob& job, const RunOutcome& outcome) {
    const auto& info = outcome.info;
    std::cout << fmt::format("\nrun {} {}: {} of {} iterations\n", outcome.run, to_string(outcome.state),
                             info.iterations_done, info.iterations);
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](const std::string& name, const std::string& value) { rows.push_back({name, value}); };
    if (info.iteration_s)
        row(fmt::format("iteration time {}", of_whom(run_clock({job.experiment.execution.clock}))),
            fmt::format("{:.3f} s", *info.iteration_s));
    if (const auto d = median_difference(outcome.differences)) {
        row("median iteration", fmt::format("{:.3f} s, predicted {:.3f} s ({:+.1f} %)", d->measured_s, d->predicted_s,
                                            100 * (d->measured_s / d->predicted_s - 1)));
        const auto cause = [&](const char* name, double seconds) {
            row(std::string("  ") + name, fmt::format("{:+.3f} s", seconds));
        };
        cause("operations took another time", d->operations_s);
        cause("transfers took another time", d->transfers_s);
        cause("coordination", d->coordination_s);
        cause("all-reduce, step, slowest rank", d->reduction_s);
    }
    if (info.tokens_per_second) row("tokens per second here", fmt::format("{:.0f}", *info.tokens_per_second));
    double idle = 0;
    for (const double share : outcome.idle_by_cause) idle += share;
    if (outcome.idle_iterations > 0)
        row(outcome.idle_iterations == 1 ? "idle" : fmt::format("idle, mean of {} iterations", outcome.idle_iterations),
            format_percent(idle));
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (outcome.idle_by_cause[c] > 0)
            row("  " + std::string(describe(static_cast<IdleCause>(c))), format_percent(outcome.idle_by_cause[c]));
    if (info.first_validation_loss) row("first validation loss", fmt::format("{:.4f}", *info.first_validation_loss));
    if (info.last_validation_loss) row("last validation loss", fmt::format("{:.4f}", *info.last_validation_loss));
    if (outcome.bits_per_byte > 0) row("bits per byte", fmt::format("{:.3f}", outcome.bits_per_byte));
    if (outcome.peak_memory_bytes > 0)
        row("peak memory of the worker", format_si(static_cast<double>(outcome.peak_memory_bytes), "B"));
    std::cout << table(rows);
    if (outcome.weights_saved) std::cout << "weights saved to " << job.save_weights.string() << '\n';
    report(outcome.faults, false);
    const auto checkpoints = list_checkpoints(job.record, outcome.run);
    if (outcome.state != RunState::finished && !checkpoints.empty())
        std::cout << fmt::format("`skippipe resume {}` goes on after {} iterations\n", outcome.run,
                                 checkpoints.front().iterations_done);
}

/// For people who read lists of runs.
void note_origin(const RunJob& job, RunId run) {
    try {
        Reader(job.record)
            .set_note(run, fmt::format("Forked from run {} after {} iterations", job.origin->run,
                                       job.origin->position.iterations_done));
    } catch (const InputError& error) {
        report({{"note", "where the run comes from is not noted", error.what(), "", Fault::Severity::warning}}, false);
    }
}

}  // namespace

void add_stop_option(CLI::App& verb, std::vector<AlarmKind>& kinds) {
    std::map<std::string, AlarmKind> names;
    for (const auto& [kind, name] : alarm_names) names.emplace(name, kind);
    verb.add_option("--stop-on", kinds,
                    "Stop after an iteration with a spike (a loss or gradient far above those before), where the disk "
                    "has too little room for what is to be written, or where the worker says nothing for 5 s; default: "
                    "warn, and go on")
        ->transform(CLI::CheckedTransformer(names))
        ->delimiter(',')
        ->option_text("spike,disk,silence");
}

void prepare_text(const RunJob& job, const Context& context) {
    if (job.experiment.execution.compute != Compute::torch) return;
    catch_interrupts();
    const bool show = !context.json, terminal = ::isatty(STDOUT_FILENO) != 0;
    int shown = -1;
    tokenise(
        job.experiment.data, job.base_dir, job.experiment.model.vocabulary, [&](const std::string& what, double share) {
            if (interrupted()) throw std::runtime_error("stopped while " + what);
            const int percent = static_cast<int>(100 * share), step = terminal ? 1 : 10;
            if (!show || percent / step == shown / step) return;
            shown = percent;
            std::cout << fmt::format("{}{}: {} %{}", terminal ? "\r\033[K" : "", what, percent, terminal ? "" : "\n")
                      << std::flush;
        });
    if (show && terminal && shown >= 0) std::cout << "\r\033[K" << std::flush;
}

bool train_job(RunJob& job, Context& context) {
    const double predicted_s = evaluate(job.problem, job.plan).iteration_s;
    if (!context.json)
        std::cout << fmt::format("{}: planned by {}, {} an iteration of {}\n", job.experiment.name, job.plan.planner,
                                 format_seconds(predicted_s),
                                 job.experiment.execution.clock == Clock::wall
                                     ? "the drawn network; the clock is this machine's"
                                     : "network time")
                  << std::flush;
    catch_interrupts();
    auto progress = context.json ? json_progress(training_memory(job.experiment, job.problem, job.plan))
                                 : terminal_progress(job.experiment.training.iterations, job.experiment.execution.clock,
                                                     job.problem);
    progress.interrupted = interrupted;
    if (job.origin && job.origin->fork)
        progress.started = [&job, told = progress.started](RunId run) {
            note_origin(job, run);
            told(run);
        };
    Recorder recorder(job.record);
    const CheckpointStore store(job.record, job.experiment.training.checkpoint_every > 0);
    job.checkpoints = store.staging();
    if (!store.trouble().what.empty()) report({store.trouble()}, false);
    WorkerGroup ranks(worker_job(job), job.experiment.execution.ranks, job.launched);
    const auto outcome = coordinate(job, recorder, ranks, progress);
    if (context.json)
        std::cout << json_line(summary(outcome)) << std::endl;
    else
        print_summary(job, outcome);
    if (context.json) report(outcome.faults, false);
    if (outcome.state == RunState::failed) context.exit_code = run_failed;
    return outcome.state == RunState::finished;
}

}  // namespace skippipe::cli
