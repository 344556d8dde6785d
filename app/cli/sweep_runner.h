// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/verbs.h"
#include "core/analysis/sweep_results.h"
#include "core/base/subprocess.h"

namespace skippipe::cli {

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
