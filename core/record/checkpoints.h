// SPDX-License-Identifier: GPL-3.0-or-later
// Where a run's checkpoints lie. What is in one: core/run/checkpoint.h.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/record/record.h"

namespace skippipe {

/// The file that is written last: a folder without one is no checkpoint.
inline constexpr const char* checkpoint_manifest = "manifest.json";

/// checkpoints/run-ID in the record's folder; of a record that is not named record.sqlite, checkpoints/NAME-run-ID.
/// Nothing is made.
std::filesystem::path checkpoints_path(const std::filesystem::path& record, RunId run);

/// "iteration-000050": of a checkpoint after so many iterations.
std::string checkpoint_name(int iterations_done);

struct CheckpointFolder {
    int iterations_done = 0;
    std::filesystem::path folder;
};

/// A run's checkpoints, the newest first. What is in them was not looked at.
std::vector<CheckpointFolder> list_checkpoints(const std::filesystem::path& record, RunId run);

/// Removes those of more than `newest_kept` iterations, and of the others all but the newest `keep`. What cannot be
/// removed stays.
void prune_checkpoints(const std::filesystem::path& record, RunId run, int newest_kept, std::size_t keep);

}  // namespace skippipe
