// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/verbs.h"
#include "core/base/subprocess.h"
#include "core/experiment/sweep.h"

namespace skippipe::cli {

/// Where a point of a sweep stands.
struct SweepState {
    RunId run = 0;         ///< 0: none yet
    bool done = false;     ///< the record has it, finished
    bool taken = false;    ///< another program trains it now
    bool resumes = false;  ///< it was interrupted and has a checkpoint
    double share = 0;      ///< of its iterations that this call has done
    std::string fault;     ///< what its process said last was wrong
};

/// What the record has of the points: the newest run that trains as one does.
std::vector<SweepState> find_points(Reader& reader, const std::vector<SweepPoint>& points);

struct SweepJob {
    std::filesystem::path record;
    int parallel = 1, threads = 0;  ///< threads of one run; 0: this machine's cores, shared by those that run
    std::string tag;                ///< of every run; empty: none
    bool shows_progress = true;
};

/// Trains the points that are not done, each in a process of its own, so many at a time. Ctrl+C stops them after the
/// iteration at hand. True where all were done.
bool run_sweep(const SweepJob& job, const std::vector<SweepPoint>& points, std::vector<SweepState>& states);

}  // namespace skippipe::cli
