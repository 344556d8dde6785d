// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "app/cli/verbs.h"
#include "core/run/checkpoint_store.h"
#include "core/run/coordinator.h"

namespace skippipe::cli {

/// Trains on from the newest checkpoint of a run that ended, as that run, until `iterations` are done; 0: those it was
/// begun with or extended to. Throws InputError where it cannot go on.
void resume_run(Context& context, const RunInfo& run, const std::vector<AlarmKind>& stop_on, int iterations = 0);

/// The experiment of a checkpoint. Throws InputError where this program cannot understand it.
Experiment experiment_of(const FoundCheckpoint& from);
/// The plan in force at a checkpoint.
Plan plan_of(const FoundCheckpoint& from, const Problem& problem);

/// Where a launcher started this process: a rank above 0 becomes a worker and does not return; rank 0's job is marked.
/// Throws InputError where the launcher's ranks are not the experiment's.
void take_launched_ranks(RunJob& job);
void become_worker_if_launched();

}  // namespace skippipe::cli
