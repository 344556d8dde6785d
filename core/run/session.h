// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's share of a job, from its description to the last message. Links no LibTorch: what computes is handed in.
#pragma once
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/devices.h"
#include "core/engine/probe.h"
#include "core/engine/trainer.h"
#include "core/planner/planner.h"
#include "core/run/messages.h"

namespace skippipe {

/// A job as numbers.
struct Work {
    Experiment experiment;
    Problem problem;
    Plan plan;
};

/// Throws InputError where this program cannot understand it.
Work understand(const protocol::Job& job);

/// Ranks dealt out as the experiment says. Throws InputError where that cannot be.
RankSchedule schedule_of(const Work& work);

/// Says of the rank's nodes that are on a GPU on which one. Throws InputError where it is not there or, with
/// `check_memory`, its memory is too small for what they train; `look` says what this machine has, if it has to be
/// known.
void place_on_devices(Work& work, const RankSchedule& schedule, int rank, LocalRank local, bool check_memory,
                      const std::function<AttachedGpus()>& look);

/// What a worker is there for.
enum class JobKind { training, probe, evaluation };
JobKind kind_of(const protocol::Job& job);

/// What a thrown thing says to people: faults of an InputError, the operation and node of a ComputeError. `kind` is
/// what cannot go on.
Faults faults_of(const std::exception_ptr& error, JobKind kind = JobKind::training);

/// Rank 0's end of the line to the coordinator. `send` is called from several threads.
class CoordinatorLink {
public:
    virtual ~CoordinatorLink() = default;
    virtual void send(const protocol::Message& message) = 0;
};

/// Commands that came and were not yet obeyed. Any thread puts.
class Commands {
public:
    void put(const protocol::Command& command);
    /// Whether a stop was asked for; does not wait.
    bool stop_asked() const;
    /// Whether the training is to stand still now; does not wait.
    bool paused() const;
    /// Blocks while paused.
    TrainingCommand next();
    /// Ranks that nobody starts again, and that have not come back after all; does not wait.
    std::vector<int> never_back() const;
    void came_back(const std::vector<int>& ranks);
    /// To be done in all, where that was raised; else 0. Does not wait.
    int iterations() const;

private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false, paused_ = false;
    std::string plan_;
    std::vector<TrainingCommand::Loss> losses_;
    std::vector<int> never_back_;
    int iterations_ = 0;
};

/// What preparing a rank tells, and what may end it: `tell` throws Stopped where a stop was asked for.
using TellProgress = std::function<void(const std::string& what, double share)>;
struct Stopped {};

/// Stands in what is said of data between it and its hash in hexadecimal, which older manifests have not.
inline constexpr std::string_view data_hash_mark = ", XXH3 ";

/// What computes, where the experiment says `compute: torch`. Filled by the worker; tests may fill it with less.
class RankBackend {
public:
    virtual ~RankBackend() = default;

    /// Versions of its libraries, as JSON; fp32 matrix products in GFLOP/s on one thread.
    virtual std::string versions_json() const = 0;
    virtual double blas_gflops() const = 0;
    virtual std::int64_t peak_memory_bytes() const = 0;

    struct Made {
        std::unique_ptr<ComputeBackend> compute;
        std::string data;  ///< what is read, for people, and after data_hash_mark its hash; empty where none is read
    };
    virtual Made make(const protocol::Job& job, const Work& work, const RankSchedule& schedule, int rank, int workers,
                      const TellProgress& tell) = 0;
    /// Speeds of this rank's nodes while all ranks compute; `together` waits for the others.
    virtual void measure_nodes(const Work& work, const RankSchedule& schedule, int workers,
                               const std::function<void()>& together, int rank, RankProbe& probe) = 0;
    /// Validation of the starting weights with stages left out (Job::omitted), by this rank alone.
    virtual protocol::Evaluated evaluate(const protocol::Job& job, const Work& work, int workers,
                                         const TellProgress& tell);
    virtual void save_weights(const std::filesystem::path& file, const Work& work,
                              const std::function<std::vector<float>(int stage)>& weights_of_stage) = 0;
};

/// Where a rank stands.
struct RankPlace {
    RankTransport& transport;
    int ranks_on_host = 1;
    CoordinatorLink* coordinator = nullptr;     ///< rank 0 only
    Commands* commands = nullptr;               ///< rank 0 only
    const PlannerRegistry* planners = nullptr;  ///< plan anew after losses; null: nobody does
    GpuSource gpus = {};                        ///< read while nodes work on them
    std::chrono::milliseconds read_gpus_every{1000};
    /// Hears why this rank cannot go on, once, while the transport still works.
    std::function<void(const Faults&)> failed;
};

/// Does this rank's share of a job: trains, or measures where it is a probe. False where it failed, which it has
/// reported. Every rank of the job calls it.
bool run_rank(const protocol::Job& job, const Work& work, const RankSchedule& schedule, RankBackend& backend,
              const RankPlace& place);

}  // namespace skippipe
