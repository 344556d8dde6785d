// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/checkpoint_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/record/checkpoints.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = ".writing-";

fs::path parent_of(const fs::path& record) { return checkpoints_path(record, 0).parent_path(); }

/// -1 where it is not there, or somebody else holds it.
int lock_folder(const fs::path& folder) {
    const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (handle < 0 || ::flock(handle, LOCK_EX | LOCK_NB) == 0) return handle;
    ::close(handle);
    return -1;
}

void flush_folder(const fs::path& folder) {
    if (const int handle = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); handle >= 0) {
        ::fsync(handle);
        ::close(handle);
    }
}

/// But for how long it trains: a run may have been extended since.
bool same_experiment(const std::string& a, const std::string& b) {
    Faults faults;
    auto one = parse_json(a, faults), other = parse_json(b, faults);
    for (auto* json : {&one, &other})
        if (json->is_object() && json->contains("training") && (*json)["training"].is_object())
            (*json)["training"].erase("iterations");
    return one == other && faults.empty();
}

bool writes_any(const std::string& experiment_json) {
    const auto parsed = parse_experiment(experiment_json);
    return !has_errors(parsed.faults) && parsed.experiment.training.checkpoint_every > 0;
}

/// Of jobs that were killed: nobody holds their lock.
void remove_left(const fs::path& parent) {
    std::error_code error;
    for (fs::directory_iterator it{parent, error}, end; !error && it != end; it.increment(error)) {
        if (!it->path().filename().string().starts_with(prefix)) continue;
        const int handle = lock_folder(it->path());
        if (handle < 0) continue;
        std::error_code ignored;
        fs::remove_all(it->path(), ignored);
        ::close(handle);
    }
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path record, bool wanted) : record_(std::move(record)) {
    if (!wanted) return;
    const auto parent = parent_of(record_);
    std::error_code error;
    fs::create_directories(parent, error);
    remove_left(parent);
    for (int attempt = 0; attempt < 5 && lock_ < 0 && !error; ++attempt) {
        auto name = (parent / fmt::format("{}XXXXXX", prefix)).string();
        if (::mkdtemp(name.data()) == nullptr) error.assign(errno, std::generic_category());
        if (error) break;
        staging_ = name;
        lock_ = lock_folder(staging_);  // a job that begins at the same time may have taken it for one that was left
    }
    if (error) {
        staging_.clear();
        trouble_ = {parent.string(), fmt::format("checkpoints cannot be written there: {}", error.message()),
                    "this run goes on without them, and cannot be resumed", "Make the folder writable, then start anew",
                    Fault::Severity::warning};
    }
}

CheckpointStore::~CheckpointStore() {
    std::error_code ignored;
    if (!staging_.empty()) fs::remove_all(staging_, ignored);
    if (lock_ >= 0) ::close(lock_);
    if (!staging_.empty()) fs::remove(staging_.parent_path(), ignored);  // only where it is empty
}

void place_checkpoint(const fs::path& record, RunId run, const protocol::Checkpointed& written, int keep) {
    const auto folder = checkpoints_path(record, run), target = folder / checkpoint_name(written.iterations_done);
    const auto refuse = [&](const std::error_code& error) {
        if (error)
            throw InputError(target.string(), "the checkpoint cannot be put there: " + error.message(),
                             "the training goes on; the checkpoints before it stay",
                             "Make room there, or make the folder writable");
    };
    std::error_code error;
    fs::create_directories(folder, error);
    refuse(error);
    fs::remove_all(target, error);  // what an earlier attempt at these iterations left
    refuse(error);
    fs::rename(written.folder, target, error);
    refuse(error);
    flush_folder(folder);
    flush_folder(folder.parent_path());
    prune_checkpoints(record, run, written.iterations_done, static_cast<std::size_t>(keep));
}

FoundCheckpoint newest_checkpoint(const fs::path& record, const RunInfo& run, const std::string& experiment_json,
                                  Faults& passed_over) {
    const auto pass_over = [&](Fault fault) {
        fault.why = "an earlier checkpoint is looked for";
        fault.remedy.clear();
        fault.severity = Fault::Severity::warning;
        passed_over.push_back(std::move(fault));
    };
    for (const auto& [iterations, folder] : list_checkpoints(record, run.id)) try {
            auto manifest = read_manifest(folder);
            verify_checkpoint(folder, manifest);
            if (manifest.position.iterations_done > run.iterations_done)
                pass_over(
                    {folder.string(), fmt::format("the record holds {} iterations only", run.iterations_done), "", ""});
            else if (!same_experiment(manifest.experiment_json, experiment_json))
                pass_over({folder.string(), "is a checkpoint of another experiment", "", ""});
            else
                return {folder, std::move(manifest)};
        } catch (const InputError& error) {
            pass_over(error.faults().front());
        }
    Faults faults = passed_over;
    faults.insert(
        faults.begin(),
        {checkpoints_path(record, run.id).string(), fmt::format("run {} has no checkpoint to go on from", run.id),
         !passed_over.empty() ? "those there are cannot be used"
         : writes_any(experiment_json)
             ? "none lies beside this record; those of an imported run stay beside the record "
               "that it was trained into"
             : "none was written: training.checkpoint_every says how often, and 0 is never",
         "Start it anew with `skippipe run`"});
    throw InputError(faults);
}

FoundCheckpoint checkpoint_at(const fs::path& record, RunId run, const std::string& experiment_json,
                              int iterations_done) {
    std::string there;
    for (const auto& [iterations, folder] : list_checkpoints(record, run)) {
        if (iterations == iterations_done) {
            auto manifest = read_manifest(folder);
            verify_checkpoint(folder, manifest);
            if (!same_experiment(manifest.experiment_json, experiment_json))
                throw InputError(folder.string(), "is a checkpoint of another experiment",
                                 fmt::format("the run {} that wrote it is none of this record", run),
                                 "Move the folder away, and put the run's own checkpoints there if you have them");
            return {folder, std::move(manifest)};
        }
        there = fmt::format("{}{}{}", iterations, there.empty() ? "" : ", ", there);
    }
    throw InputError("--at", fmt::format("run {} has no checkpoint after {} iterations", run, iterations_done),
                     there.empty() ? "it has none at all" : "it has them after " + there + " iterations",
                     there.empty() ? "Train with training.checkpoint_every, and keep as many as you need "
                                     "(training.keep_checkpoints)"
                                   : "Name one of these");
}

fs::path move_strange_checkpoints(const fs::path& record, RunId run) {
    const auto folder = checkpoints_path(record, run);
    std::error_code error;
    if (!fs::exists(folder, error)) return {};
    for (int number = 1;; ++number) {
        const fs::path aside = folder.string() + fmt::format("-of-another-record-{}", number);
        if (fs::exists(aside, error)) continue;
        fs::rename(folder, aside, error);
        return error ? fs::path{} : aside;
    }
}

}  // namespace skippipe
