// SPDX-License-Identifier: GPL-3.0-or-later
// What the run's coordinator and rank 0 say to each other, typed both ways; as text one JSON value a line,
// behind which an iteration has its spans.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "core/base/fault.h"
#include "core/engine/compute.h"
#include "core/engine/recovery.h"
#include "core/engine/trainer.h"
#include "core/planner/plan/timeline.h"

namespace skippipe::protocol {

/// Coordinator to worker, first line: what to train.
struct Job {
    std::string experiment_json, plan_json;
    std::string base_dir;  ///< where relative data paths start
    int threads = 0;
    bool probe = false;          ///< measure the ranks and their links instead of training
    std::string save_weights;    ///< absolute path of the safetensors file to write at the end; empty: none
    std::string checkpoints;     ///< folder that gets one a checkpoint; empty: none are written
    std::string start_from;      ///< folder of the checkpoint to go on from; empty: from the start
    bool new_run = true;         ///< what goes on from a checkpoint is another run than the one that wrote it
    bool residuals = true;       ///< what int8 owes of messages is taken over with it
    bool calibrate = false;      ///< as it was asked for: checkpoints keep it
    bool ignore_memory = false;  ///< GPUs whose memory is too small for their nodes are no fault
    /// Not empty: instead of training, validate the starting weights with each of these sets of stages left out.
    std::vector<std::vector<int>> omitted;
};

/// Worker to coordinator, while data are read or tokenised.
struct Preparing {
    std::string what;
    double share = 0;  ///< 0 to 1
};

/// Rank 0 to coordinator: where the other ranks find it.
struct Listening {
    int port = 0;
};

/// What a rank runs on.
struct RankMachine {
    std::string host;
    int cores = 1, workers = 1;
    std::map<int, int> gpus = {};  ///< of each of its nodes on a GPU, that one's number on the host
};

/// Worker to coordinator, once it is ready to train.
struct Hello {
    std::string build;                  ///< build_id() of the worker: another than the coordinator's is refused
    std::string versions_json;          ///< LibTorch and BLAS
    double blas_gflops = 0;             ///< fp32 matrix product on one thread; 0: compute is cost
    std::string data;                   ///< what is read
    std::vector<RankMachine> machines;  ///< of each rank; under the virtual clock none
};

struct Validated {
    int iterations_done = 0;
    double network_s = 0, machine_s = 0;
    std::int64_t tokens = 0;
    ValidationResult result;
};

struct Iterated {
    int iteration = 0;
    double offset_s = 0, iteration_s = 0, machine_s = 0;
    std::int64_t tokens = 0;  ///< trained so far
    IterationResult result;
    std::vector<Span> spans;
    DeviceReport devices = {};  ///< what GPUs said meanwhile
};

/// From this iteration on another plan is in force: the last one of a SwitchPlan, where `why` is empty.
struct PlanSwitched {
    int iteration = 0;
    std::string plan_json, why;
};

/// From `at_s` of network time on, in this iteration, this is slower or varies, for people.
struct SpeedsChanged {
    int iteration = 0;
    double at_s = 0;
    std::string what;
};

/// What was done about nodes that were lost in an iteration that began at `offset_s` of network time.
struct Recovered {
    int iteration = 0;
    double offset_s = 0;
    RecoveryReport report;
};

/// Nodes came back at `at_s` of network time, before an iteration.
struct Rejoined {
    int iteration = 0;
    double at_s = 0;
    RejoinReport report;
};

/// The training has gone back to a checkpoint, as TrainingListener::went_back says.
struct WentBack {
    TrainingPosition position;  ///< without its members
    int lost_iterations = 0;
    double lost_s = 0;
    std::string why;
};

/// Ranks were lost or have come back, and the others went on.
struct Regrouped {
    RegroupReport report;
};

/// The training stands still between two iterations, or goes on again.
struct Paused {
    bool paused = true;
};

/// A checkpoint lies whole on the disk, where the job said; it counts once the coordinator has put it in its place.
struct Checkpointed {
    int iterations_done = 0;
    std::string folder;
    std::uint64_t bytes = 0;
    double held_s = 0;   ///< rank 0's training stood still for its copy
    double seconds = 0;  ///< from then to now, beside the training
};

/// Something that people should know of and that ends nothing.
struct Warned {
    Fault fault;
};

/// About once a second, whatever else is to be said: the worker's process runs.
struct Heartbeat {};

struct Done {
    bool stopped = false;  ///< ended by a command before the last iteration
    std::int64_t peak_memory_bytes = 0;
    bool weights_saved = false;  ///< to Job::save_weights
};

/// What a probe found: of each rank its RankProbe (core/engine/probe.h) as text.
struct Probed {
    std::vector<std::string> ranks;
};

/// What a job with `omitted` found.
struct Evaluated {
    std::vector<double> loss_nats;  ///< of each set, mean over the tokens; NaN where it is not finite
    std::int64_t tokens = 0;        ///< predicted for each
    double bytes_per_token = 0;     ///< of text; 0: not known
    std::string data;               ///< what is read
};

/// The worker cannot go on.
struct Failed {
    Faults faults;
};

using Message =
    std::variant<Listening, Preparing, Hello, Validated, Iterated, Recovered, Rejoined, WentBack, Regrouped,
                 PlanSwitched, SpeedsChanged, Paused, Checkpointed, Warned, Heartbeat, Probed, Evaluated, Done, Failed>;

/// Coordinator to worker, while it trains: end after the iteration that runs.
struct Stop {};
/// Stand still after the iteration that runs.
struct Pause {};
struct Resume {};
/// Go over to a plan after the iteration that runs, with the nodes where they are.
struct SwitchPlan {
    std::string plan_json;
};
/// Virtual clock: a node is lost before the next iteration, and back so much network time later; infinite: never.
struct FailNode {
    int node = 0;
    double back_after_s = std::numeric_limits<double>::infinity();
};
/// So many iterations in all, more than were asked for at first.
struct Extend {
    int iterations = 0;
};
/// Wall clock: a rank is ended now, and nobody starts it again.
struct EndRank {
    int rank = 0;
};
using Command = std::variant<Stop, Pause, Resume, SwitchPlan, FailNode, Extend, EndRank>;

std::string encode(const Command& command);
/// Throws InputError where the line is no command.
Command decode_command(const std::string& line);

std::string encode(const Job& job);
Job decode_job(const std::string& line);

/// "nodes were lost: back to the checkpoint after 50 iterations; ..." for people.
std::string describe(const WentBack& message);

/// One line, without its newline.
std::string encode(const Message& message);
/// Throws InputError where the line is not of this protocol.
Message decode(const std::string& line);

}  // namespace skippipe::protocol
