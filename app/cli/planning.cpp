// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/planning.h"

#include <atomic>
#include <csignal>
#include <iostream>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/jitter.h"
#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/data/check_files.h"
#include "core/engine/devices.h"
#include "core/engine/launch.h"
#include "core/experiment/io.h"
#include "core/tokenizer/tokenizer.h"

namespace skippipe::cli {

namespace {
volatile std::sig_atomic_t interrupts = 0;
void on_interrupt(int signal) {
    interrupts = interrupts + 1;
    if (interrupts > 1) {
        std::signal(signal, SIG_DFL);
        ::raise(signal);
    }
}
}  // namespace

bool interrupted() { return interrupts > 0; }

void catch_interrupts() {
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
}

PlanRequest plan_request(const Experiment& experiment, int threads) {
    PlanRequest request;
    request.seed = experiment.seed;
    request.steps = experiment.pipeline.plan_steps;
    request.threads = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return request;
}

Plan read_plan(const std::string& file, const Problem& problem) {
    Faults faults;
    const auto text = read_file(file, faults);
    const auto json = has_errors(faults) ? nlohmann::ordered_json{} : parse_json(text, faults);
    if (has_errors(faults)) throw InputError(faults);
    auto plan = parse_plan(json, problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return plan;
}

Faults file_faults(const Experiment& experiment, const std::filesystem::path& base_dir) {
    auto faults = check_files(experiment, base_dir);
    // Under a launcher each rank looks at its own processor.
    if (const auto launch = launch_environment(); !launch || launch->world_size == 1)
        if (const auto found = check_products(experiment); !found.empty())
            faults.insert(faults.end(), found.begin(), found.end());
    if (has_errors(faults) || experiment.execution.compute == Compute::cost) return faults;
    try {
        open_tokenizer(experiment.data, base_dir, experiment.model.vocabulary);
    } catch (const InputError& error) {
        faults.insert(faults.end(), error.faults().begin(), error.faults().end());
    }
    return faults;
}

void require_files(const Experiment& experiment, const std::filesystem::path& base_dir) {
    const auto faults = file_faults(experiment, base_dir);
    if (has_errors(faults)) throw InputError(faults);
    report(faults, false);
}

Plan make_plan(const Planner& planner, const Problem& problem, PlanRequest request, bool talk) {
    catch_interrupts();
    std::stop_source stop;
    request.stop = stop.get_token();
    const bool terminal = talk && ::isatty(STDERR_FILENO) != 0;
    request.progress = [&](const PlanProgress& progress) {
        if (interrupted()) stop.request_stop();
        if (!terminal) return;
        std::cerr << fmt::format(
            "\r{}: {:3.0f} %  {}\033[K", planner.name(), 100 * progress.fraction,
            progress.best_iteration_s > 0 ? format_seconds(progress.best_iteration_s) + " an iteration" : "");
    };
    auto plan = planner.plan(problem, request);
    if (terminal) std::cerr << "\r\033[K";
    return plan;
}

nlohmann::ordered_json to_json(const Score& s) {
    nlohmann::ordered_json row{{"planner", s.planner},
                               {"makespan_seconds", s.makespan_seconds},
                               {"iteration_seconds", s.iteration_seconds},
                               {"lower_bound_seconds", s.lower_bound_seconds},
                               {"gap", s.gap},
                               {"idle_fraction", s.idle_fraction},
                               {"bytes", s.bytes},
                               {"violations", s.violations},
                               {"bound", s.bound},
                               {"note", s.note}};
    if (s.jitter) row["jitter"] = to_json(*s.jitter);
    return row;
}

nlohmann::ordered_json to_json(const Score& s, const std::optional<Accounting>& accounting) {
    auto json = to_json(s);
    json["block_flops"] =
        accounting ? nlohmann::ordered_json(accounting->block_flops()) : nlohmann::ordered_json(nullptr);
    json["bytes_by_line"] = accounting ? bytes_by_line(*accounting) : nlohmann::ordered_json::object();
    return json;
}

}  // namespace skippipe::cli
