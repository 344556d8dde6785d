// SPDX-License-Identifier: GPL-3.0-or-later
// How a run begins: who its ranks are, its place in the record, and what it goes on from.
#include <algorithm>
#include <fstream>
#include <thread>

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/base/build_info.h"
#include "core/base/format.h"
#include "core/engine/build_id.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/record/checkpoints.h"
#include "core/record/fork_origin.h"
#include "core/record/log.h"
#include "core/run/checkpoint_store.h"
#include "core/run/run.h"

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

SpanRetention retention_of(const Execution& execution) {
    switch (execution.keep_spans) {
        case KeepSpans::all: break;
        case KeepSpans::newest: return {.newest = execution.keep_spans_of};
        case KeepSpans::every: return {.every = execution.keep_spans_of};
    }
    return {};
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

/// "skippipe 8.0, compiler GNU 12.2, build Release", for whoever reads the log.
std::string in_words(const std::string& versions) {
    std::string words;
    const auto json = ordered_json::parse(versions);
    for (const auto& [name, value] : json.items()) {
        std::string what = name;
        std::replace(what.begin(), what.end(), '_', ' ');
        if (!words.empty()) words += ", ";
        words += what + ' ';
        words += value.is_string()         ? value.get<std::string>()
                 : value.is_number_float() ? fmt::format("{:.3g}", value.get<double>())
                                           : value.dump();
    }
    return words;
}

/// Where a fork began, for whoever repeats it.
std::string with_origin(const std::string& versions, const RunOrigin& origin) {
    auto json = ordered_json::parse(versions);
    json[fork_origin_key] = {{"run", origin.run},
                             {"started_utc", origin.started_utc},
                             {"iterations", origin.position.iterations_done},
                             {"machine_s", origin.position.machine_s}};
    return json.dump();
}

}  // namespace

void Run::receive(const protocol::Hello& m) {
    if (m.build != build_id())
        return fail({{"skippipe-worker", "is of another build: " + m.build,
                      "this program is " + build_id() + ", and they must understand each other",
                      "Build both anew with `./studio build`"}});
    const auto ranks = static_cast<std::size_t>(job_.experiment.execution.ranks);
    const auto unlikely = [&](const protocol::RankMachine& one) {
        constexpr int most = 1 << 16;
        const auto nobodys = [&](const auto& gpu) {
            return gpu.first < 0 || gpu.first >= job_.problem.nodes() || gpu.second < 0 || gpu.second > most;
        };
        return one.cores < 1 || one.cores > most || one.workers < 1 || one.workers > most ||
               std::any_of(one.gpus.begin(), one.gpus.end(), nobodys);
    };
    if (!m.machines.empty() &&
        (m.machines.size() != ranks || std::any_of(m.machines.begin(), m.machines.end(), unlikely)))
        return fail({{"skippipe-worker", fmt::format("tells of {} machines for {} ranks", m.machines.size(), ranks),
                      "each rank runs on one, with its cores and workers", "Build both anew with `./studio build`"}});
    machines_ = m.machines;
    if (!m.machines.empty()) forecast_.emplace(job_.experiment, job_.problem, plan_, m.machines, job_.calibrate);
    begin(versions_of(m, job_.experiment.execution.ranks));
    if (progress_.ready) progress_.ready(m);
}

void Run::begin(const std::string& versions) {
    if (started_) return;
    started_ = true;
    const double predicted_s = forecast_ ? forecast_->iteration_s() : evaluate(job_.problem, job_.plan).iteration_s;
    const bool goes_on = job_.origin && !job_.origin->fork;
    if (goes_on)
        take_up();
    else
        outcome_.run = recorder_.begin({job_.experiment.name, job_.plan.planner, to_text(job_.experiment),
                                        to_json(job_.plan, job_.problem, nullptr).dump(),
                                        job_.origin ? with_origin(versions, *job_.origin) : versions, machine_json(),
                                        job_.experiment.seed, job_.experiment.training.iterations, predicted_s});
    recorder_.keep_spans(outcome_.run, retention_of(job_.experiment.execution));
    outcome_.info.id = outcome_.run;
    open_log();
    if (job_.origin) continue_from(job_.origin->position);
    log_.info(fmt::format("{}: {} iterations, planned by {}, {} an iteration predicted; {}", job_.experiment.name,
                          job_.experiment.training.iterations, job_.plan.planner, format_seconds(predicted_s),
                          in_words(versions)));
    if (!goes_on)
        if (const auto aside = move_strange_checkpoints(job_.record, outcome_.run); !aside.empty())
            warn({checkpoints_path(job_.record, outcome_.run).string(), "checkpoints of another record's run lay there",
                  "they were moved to " + aside.string(), "Remove them if nothing needs them",
                  Fault::Severity::warning});
    begin_iteration(outcome_.info.iterations_done);
    if (progress_.started) progress_.started(outcome_.run);
}

/// The run is this program's from now on; what was recorded after the checkpoint is gone.
void Run::take_up() {
    const auto& from = *job_.origin;
    const auto& position = from.position;
    const RunCommit commit{position.iterations_done, position.validated, position.machine_s};
    std::optional<RunExtension> extension;
    if (from.extends) extension = {iterations_, to_text(job_.experiment)};
    const auto had = recorder_.resume(from.run, commit, extension);
    outcome_.run = from.run;
    outcome_.info.first_validation_loss = had.first_validation_loss;
    outcome_.info.last_validation_loss = had.last_validation_loss;
    outcome_.bits_per_byte = had.bits_per_byte;
    if (const auto& begin = had.begin) {
        outcome_.info.first_iteration = begin->iteration;
        began_s_ = begin->network_s;
        began_machine_s_ = begin->machine_s;
        began_tokens_ = begin->tokens;
    }
    prune_checkpoints(job_.record, from.run, position.iterations_done,
                      static_cast<std::size_t>(job_.experiment.training.keep_checkpoints));
}

void Run::continue_from(const TrainingPosition& position) {
    auto& info = outcome_.info;
    info.iterations_done = position.iterations_done;
    info.machine_s = position.machine_s;
    if (job_.origin->fork) {
        info.first_iteration = position.iterations_done;
        began_s_ = position.network_s;
        began_machine_s_ = position.machine_s;
        began_tokens_ = position.tokens;
    }
    if (const int own = info.iterations_done - info.first_iteration; own > 0)
        info.iteration_s = (position.network_s - began_s_) / own;
    count_tokens(position.tokens, position.machine_s);
    recorder_.iteration_done(outcome_.run, info.iterations_done, info.machine_s);
    log_.info(fmt::format("{} after {} iterations, {}",
                          job_.origin->fork ? fmt::format("begins where run {} was", job_.origin->run) : "goes on",
                          info.iterations_done, job_.origin->folder.string()));
}

void Run::open_log() {
    const auto file = log_path(job_.record, outcome_.run);
    log_ = RunLog(file);
    if (!log_.trouble().empty())
        warn({file.string(), "cannot be written: " + log_.trouble(), "this run has no log", "Make the folder writable",
              Fault::Severity::warning});
}

}  // namespace skippipe
