// SPDX-License-Identifier: GPL-3.0-or-later
// One run from its start to its end: obeys its ranks' messages and people's commands, and is the record's only writer.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/analysis/idle.h"
#include "core/engine/trainer.h"
#include "core/record/record.h"
#include "core/run/alarms.h"
#include "core/run/forecast.h"
#include "core/run/rank_group.h"

namespace skippipe {

/// The checkpoint that a run goes on from.
struct RunOrigin {
    RunId run = 0;  ///< that wrote it
    std::filesystem::path folder;
    TrainingPosition position;
    bool fork = false;             ///< another run begins there; else that one goes on
    bool extends = false;          ///< the run that goes on is to have the job's iterations, more than it had
    bool residuals = true;         ///< what int8 owes of messages is taken over: the plan is the one it was owed under
    int reached = -1;              ///< iterations that the run had done when it ended, not a fork
    std::string started_utc = {};  ///< a fork's: when that run was begun
};

/// What one run is: experiment, plan, and where things are.
struct RunJob {
    Experiment experiment;
    Problem problem;
    Plan plan;
    std::filesystem::path record, base_dir;
    int threads = 0;
    bool ignore_memory = false;  ///< GPUs whose memory is too small for their nodes are no fault
    bool launched = false;       ///< torchrun, Slurm or MPI has started the ranks, and says so in the environment
    std::filesystem::path save_weights;  ///< absolute; empty: not saved
    std::filesystem::path checkpoints;   ///< where ranks write them (CheckpointStore); empty: none are written
    std::optional<RunOrigin> origin;
    std::set<AlarmKind> stop_on;   ///< what ends the run after its iteration, as a person would
    bool calibrate = false;        ///< wall clock: keep the cost model true, and plan again when it drifts
    double silence_warning_s = 5;  ///< a worker that says nothing for so long is told of
    double silence_limit_s = 30;   ///< and after so long is ended
    /// The same before its first word: a cold disk or a busy machine takes its time to load LibTorch.
    double first_word_limit_s = 180;
};

/// The job as its workers read it.
protocol::Job worker_job(const RunJob& job);

/// How a run ended.
struct RunOutcome {
    RunId run = 0;
    RunState state = RunState::failed;
    RunInfo info;
    std::array<double, idle_causes> idle_by_cause{};  ///< share of the nodes' time, mean over the next
    int idle_iterations = 0;                          ///< of this process; a run that goes on had others before
    double bits_per_byte = 0;                         ///< last validation
    std::int64_t peak_memory_bytes = 0;               ///< of the worker
    bool weights_saved = false;                       ///< where the job asked for it
    std::vector<Difference> differences;   ///< wall clock: predicted against measured, of the first iterations and of
                                           ///< some later ones
    std::vector<PlanChange> plan_changes;  ///< what it went over to
    int nodes_lost = 0, begun_again = 0;   ///< losses it went on after; iterations that had to be begun again
    int went_back = 0;                     ///< to a checkpoint
    std::int64_t lost_iterations = 0;      ///< that were done twice for it
    Faults faults;                         ///< why it failed
};

/// Hears how a run goes, for a terminal or a script. Any may be empty.
struct RunProgress {
    std::function<void(RunId)> started;
    std::function<void(const protocol::Preparing&)> preparing;
    std::function<void(const protocol::Hello&)> ready;
    std::function<void(const protocol::Validated&)> validated;
    std::function<void(const protocol::Iterated&)> iterated;
    std::function<void(const protocol::Recovered&)> recovered;
    std::function<void(const protocol::Rejoined&)> rejoined;
    std::function<void(const protocol::WentBack&)> went_back;
    std::function<void(const protocol::Regrouped&)> regrouped;
    std::function<void(const PlanChange&)> plan_switched;
    std::function<void(bool paused)> paused;
    std::function<void(int iterations)> extended;                     ///< to so many in all
    std::function<void(const protocol::Checkpointed&)> checkpointed;  ///< a run can go on from there
    std::function<void(const Fault&)> warned;
    std::function<bool()> interrupted;  ///< asked several times a second: true ends the run after its iteration
};

/// Runs a job to its end on these ranks: writes everything to the record, obeys commands that windows and verbs insert
/// ("stop", "pause", "resume", "extend", "fail"). Throws InputError where the record does not take the run's beginning.
/// A run that goes on from a checkpoint is left as it was where its ranks do not come to train.
RunOutcome coordinate(const RunJob& job, Recorder& recorder, RankGroup& ranks, const RunProgress& progress);

/// Share of idle time by cause, of one iteration.
std::array<double, idle_causes> idle_shares(const Problem& problem, const Plan& plan, const std::vector<Span>& spans,
                                            double iteration_s);

}  // namespace skippipe
