// SPDX-License-Identifier: GPL-3.0-or-later
// What is in a checkpoint: a folder of safetensors files, one a stage, what int8 owes one a rank, and manifest.json,
// which is written last. docs/engine.md, Checkpoints.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/trainer.h"

namespace skippipe {

inline constexpr int checkpoint_format = 1;

/// A file of a checkpoint, as its manifest has it.
struct CheckpointFile {
    std::string name;
    std::uint64_t bytes = 0;
    std::map<std::string, std::string> checksums;  ///< XXH3 of each tensor's bytes, 16 hex digits
    bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointManifest {
    TrainingPosition position;
    std::string build;  ///< build_id of the program that wrote it
    std::string written_utc;
    std::string experiment_json;  ///< as it was run
    std::string plan_json;        ///< in force
    std::string data;             ///< what was read, for people; where it has changed, losses will
    std::string base_dir, save_weights;
    int threads = 0;
    bool calibrate = false;
    std::vector<std::int64_t> steps;     ///< of each stage's optimizer
    std::vector<double> learning_rates;  ///< factor of each stage's
    std::vector<CheckpointFile> files;

    std::uint64_t bytes() const;
};

/// Files appear whole or not at all, flushed to the disk. Throw InputError where the folder does not take them.
void write_stage(const std::filesystem::path& folder, int stage, StageState state);
/// The stage as another checkpoint has it. Throws InputError where that has it not.
void take_over_stage(const std::filesystem::path& from, const std::filesystem::path& folder, int stage);
/// None where there is nothing to write.
void write_residuals(const std::filesystem::path& folder, int rank, RoundingResiduals residuals);
/// `files`, `steps` and `learning_rates` are found in the folder; makes it a checkpoint. Returns what was written.
CheckpointManifest write_manifest(const std::filesystem::path& folder, CheckpointManifest manifest);

/// Throw InputError that names the file and what is wrong with it: unreadable, cut off, of another format, with a
/// tensor that is not what its checksum says.
CheckpointManifest read_manifest(const std::filesystem::path& folder);
/// Looks at every byte.
void verify_checkpoint(const std::filesystem::path& folder, const CheckpointManifest& manifest);
/// Empty where the stage computed nothing.
StageState read_stage(const std::filesystem::path& folder, const CheckpointManifest& manifest, int stage);
/// Of all ranks.
RoundingResiduals read_residuals(const std::filesystem::path& folder, const CheckpointManifest& manifest);

}  // namespace skippipe
