// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "core/analysis/idle.h"
#include "core/engine/prediction.h"
#include "core/engine/protocol.h"
#include "core/experiment/document.h"
#include "core/record/record.h"

namespace skippipe::cli {

/// What one run is: experiment, plan, and where things are.
struct RunJob {
    Experiment experiment;
    Problem problem;
    Plan plan;
    std::filesystem::path record, base_dir;
    int threads = 0;
    bool launched = false;  ///< torchrun, Slurm or MPI has started the ranks, and says so in the environment
    std::filesystem::path save_weights;  ///< absolute; empty: not saved
    bool calibrate = false;              ///< wall clock: keep the cost model true, and plan again when it drifts
};

/// How a run ended.
struct RunOutcome {
    RunId run = 0;
    RunState state = RunState::failed;
    RunInfo info;
    std::array<double, idle_causes> idle_by_cause{};
    double bits_per_byte = 0;            ///< last validation
    std::int64_t peak_memory_bytes = 0;  ///< of the worker
    std::vector<Difference>
        differences;  ///< wall clock: predicted against measured, of the first iterations and of some later ones
    std::vector<PlanChange> plan_changes;  ///< what it went over to
    Faults faults;                         ///< why it failed
};

/// Hears how a run goes, for a terminal or a script.
struct RunProgress {
    std::function<void(RunId)> started;
    std::function<void(const protocol::Preparing&)> preparing;
    std::function<void(const protocol::Hello&)> ready;
    std::function<void(const protocol::Validated&)> validated;
    std::function<void(const protocol::Iterated&)> iterated;
    std::function<void(const PlanChange&)> went_over;
};

/// Runs a job to its end: starts the worker, writes everything to the record as its only writer, obeys commands that
/// windows insert ("stop", "pause", "resume") and Ctrl+C.
RunOutcome coordinate(const RunJob& job, const RunProgress& progress);

/// That of the iteration of median length; nothing under the virtual clock.
std::optional<Difference> median_difference(const std::vector<Difference>& differences);
nlohmann::ordered_json to_json(const Difference& difference);

/// Share of idle time by cause, of one iteration.
std::array<double, idle_causes> idle_shares(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                                            double iteration_s);

}  // namespace skippipe::cli
