// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/record/record.h"
#include "core/run/checkpoint.h"
#include "core/run/messages.h"

namespace skippipe {

/// Where the ranks of one job write checkpoints before they count, and from where the coordinator puts them into their
/// run's folder: a folder beside those of runs, locked while its job lives. It goes with this object; what jobs left
/// that were killed goes when the next one begins.
class CheckpointStore {
public:
    /// Makes nothing where `wanted` is false.
    CheckpointStore(std::filesystem::path record, bool wanted);
    ~CheckpointStore();
    CheckpointStore(const CheckpointStore&) = delete;
    CheckpointStore& operator=(const CheckpointStore&) = delete;

    /// Empty where none is wanted, or it could not be made: `trouble` says why then.
    const std::filesystem::path& staging() const { return staging_; }
    const Fault& trouble() const { return trouble_; }

private:
    std::filesystem::path record_, staging_;
    Fault trouble_;
    int lock_ = -1;
};

/// Puts a checkpoint that was written into its run's folder, durable when it returns, and removes all of the run but
/// the newest `keep`. Throws InputError where the folder does not take it.
void place_checkpoint(const std::filesystem::path& record, RunId run, const protocol::Checkpointed& written, int keep);

/// A checkpoint that was looked at to the last byte.
struct FoundCheckpoint {
    std::filesystem::path folder;
    CheckpointManifest manifest;
};

/// The newest that the run can go on from; warnings in `passed_over` say what is wrong with newer ones. Throws
/// InputError where there is none.
FoundCheckpoint newest_checkpoint(const std::filesystem::path& record, const RunInfo& run,
                                  const std::string& experiment_json, Faults& passed_over);

/// The one after so many iterations. Throws InputError where there is none, naming those there are, or it is damaged,
/// or another experiment's.
FoundCheckpoint checkpoint_at(const std::filesystem::path& record, RunId run, const std::string& experiment_json,
                              int iterations_done);

/// A folder of checkpoints that is there when a run begins is another run's, of a record that is gone: it is moved
/// aside. Returns where to; empty: there was none.
std::filesystem::path move_strange_checkpoints(const std::filesystem::path& record, RunId run);

}  // namespace skippipe
