// SPDX-License-Identifier: GPL-3.0-or-later
// What does the arithmetic of one rank's nodes, under either clock: `torch` (core/model) or `cost`.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/engine/schedule.h"
#include "core/engine/transport.h"
#include "core/planner/replan/replan.h"

namespace skippipe {

class PieceSums;

/// One operation a node has started, as the driver hands it on.
struct ComputeTask {
    Operation operation;
    int node = 0;
    int stage = 0;
    int hop = 0;  ///< position of the node in the microbatch's path, 0 = its data node
};

/// How an operation ended: seconds of steady_s(); `error` where it threw.
struct TaskEnd {
    double start_s = 0, end_s = 0;
    std::exception_ptr error;
};

/// Called once, on the thread that ran the operation. May throw: that too fails the operation.
using Completion = std::function<void(const TaskEnd&)>;

/// An operation, a reduction or a step that could not be done, named with its node.
class ComputeError : public std::runtime_error {
public:
    ComputeError(std::string where, const std::string& what)
        : std::runtime_error(where + ": " + what), where_(std::move(where)) {}
    const std::string& where() const { return where_; }  ///< "B3 on node-5 (stage 2)"

private:
    std::string where_;
};

/// Runs an operation on the calling thread, tells `completed` how it ended (a throw becomes a ComputeError of that
/// name), and throws that error itself.
void run_task(const std::string& where, const std::function<void()>& work, const Completion& completed);

/// "B3 on node-5 (stage 2)".
std::string name_of(const ComputeTask& task, const std::string& node_id);

/// What an iteration computed, over all ranks.
struct IterationResult {
    double loss_sum_nats = 0;                ///< summed over tokens whose loss was computed
    std::int64_t tokens = 0;                 ///< those tokens
    double gradient_norm = 0;                ///< before clipping, over all stages that stepped
    std::vector<std::int64_t> stage_tokens;  ///< tokens whose backward passed each stage; 0: the stage did not step
    std::vector<double> squared_norms;       ///< of each stage's gradient; of no meaning where it did not step
};

/// Validation over the held-out part with the whole model, no stage skipped.
struct ValidationResult {
    double loss_nats = 0;      ///< mean a token
    double bits_per_byte = 0;  ///< loss / ln 2 / bytes of text a token; 0: not known, the data are tokens without
                               ///< their text
};

/// What one rank's data nodes saw in an iteration.
struct RankLoss {
    double sum_nats = 0;
    std::int64_t tokens = 0;
};

/// A stage's gradient, summed over all of its nodes on all ranks.
struct StageSum {
    std::int64_t tokens = 0;   ///< of V(s) (docs/semantics.md, Training); 0: the stage does not step
    double squared_norm = -1;  ///< of the mean gradient over those tokens; negative where the stage does not step
    double all_ready_s = 0;    ///< common clock: when the last rank came to it
};

/// A stage between two iterations, as values: the same for all of its copies. Flat, in the order of stage_segments.
struct StageState {
    std::vector<float> weights;
    std::vector<float> m, v;   ///< AdamW's first and second moment of every weight
    std::int64_t steps = 0;    ///< that its optimizer has made
    double learning_rate = 1;  ///< factor of the training's
    bool operator==(const StageState&) const = default;
};

/// What a node's copy of a stage is after a step: equal copies have equal hashes.
struct CopyHash {
    int stage = 0, node = 0;
    std::uint64_t hash = 0;
    bool operator==(const CopyHash&) const = default;
};

/// Of whose weights a lost stage is made, and its share; shares add up to 1.
struct RebuildSource {
    int node = 0;
    double share = 1;
};

/// The weights of such a node, of `stage`.
struct NeighbourWeights {
    int stage = 0;
    double share = 1;
    std::vector<float> weights;  ///< as ComputeBackend::weights has them
};

/// A node gets another stage between two iterations, with weights and AdamW's state of a node that holds it.
struct NodeMove {
    int node = 0;
    int stage = -1;  ///< from then on; -1: none, it is left out
    int from = -1;   ///< who has it; -1: nobody, it is left out, or gets what it needs later
    bool operator==(const NodeMove&) const = default;
};

/// What rounding took away so far from the messages of a microbatch from node to node, to be added to the next one
/// (int8's error feedback).
struct MessageResidual {
    int microbatch = 0, from_node = 0, to_node = 0;
    bool gradient = false;      ///< of messages of the backward
    std::vector<float> values;  ///< [tokens, width]
    bool operator==(const MessageResidual&) const = default;
};

/// What rounding took away so far from what a node handed on of its stage's gradient, part or sum, to be added to what
/// it hands on next (training.gradient_wire: int8).
struct GradientResidual {
    int stage = 0, node = 0;
    std::vector<float> values;  ///< flat, in the order of stage_segments, of the sum over tokens
    bool operator==(const GradientResidual&) const = default;
};

/// All that rounding took away and error feedback will add.
struct RoundingResiduals {
    std::vector<MessageResidual> messages;
    std::vector<GradientResidual> gradients;
    bool empty() const { return messages.empty() && gradients.empty(); }
    bool operator==(const RoundingResiduals&) const = default;
};

/// What moves bring to a rank from others.
struct FetchedStates {
    std::map<int, StageState> stages;    ///< by stage
    std::vector<GradientResidual> owed;  ///< by nodes elsewhere that leave a stage, whose first node is here
};

/// The driver submits from one thread, in the order in which operations start; work runs on threads of the back end's
/// own, each operation after the one before it on its node and after the one before it on its microbatch's path. Sums
/// run in a fixed order: results are the same to the bit for any number of threads.
class ComputeBackend {
public:
    virtual ~ComputeBackend() = default;

    /// From the next iteration on the paths and orders are those of another schedule, with the nodes where they are.
    virtual void follow(const RankSchedule& schedule) = 0;
    /// Before the first operation of an iteration (0-based).
    virtual void begin_iteration(int iteration) = 0;
    /// `input`: the message that brought the operation's input from another rank; empty where it is here already.
    /// `completed` may be empty. Throws std::logic_error where it is not the next operation of its microbatch here.
    virtual void submit(const ComputeTask& task, Buffer input = {}, Completion completed = {}) = 0;
    /// Bytes of the message that brings an operation's input, as it travels.
    virtual std::size_t message_bytes(const Operation& operation) const = 0;
    /// The result of the operation that has just ended, for a node elsewhere: taken out and encoded. In its Completion.
    virtual Buffer take_message(const RankTransfer& transfer) = 0;
    /// Until all submitted work has ended; throws a ComputeError of the first that failed.
    virtual void wait() = 0;

    /// Under the virtual clock: a result goes to the operation it is for, and its input has come. For those that keep
    /// books.
    virtual void handed_over(int from_node, const Operation& next) {
        static_cast<void>(from_node), static_cast<void>(next);
    }
    virtual void arrived(int node, const Operation& operation) {
        static_cast<void>(node), static_cast<void>(operation);
    }
    /// A node is lost in the middle of an iteration, and all that it held: activations, results it had kept, the
    /// gradient it had added up. Throws std::logic_error where the back end cannot go on after that.
    virtual void lose(int node);
    /// What is left of the iteration: the paths it goes on with, and which operations run again (attempt 1), from
    /// results that the nodes before had kept.
    virtual void go_on(const Replan& rest);
    /// Between iterations: a lost node is there again, with weights and AdamW's state of a sibling.
    virtual void rejoin(int node, int sibling);

    /// Between iterations, in place of `follow`: nodes change their stages, as many blocks each. All that is given is
    /// what it was before the first of them moves. `fetched`: of stages that no node here had. Moves of nodes elsewhere
    /// are passed over.
    virtual void move(const RankSchedule& schedule, const std::vector<NodeMove>& moves,
                      const FetchedStates& fetched = {});

    /// Between iterations: a node's blocks become the weighted mean of those of other stages (of as many blocks each,
    /// else block i of n takes the one at i / n), AdamW's moments and steps begin anew, and the stage's learning rate
    /// is that factor of the training's. Of a stage without embedding and head. CheckFree ("All is Not Lost: LLM
    /// Recovery without Checkpoints", 2025), algorithm 1. Throws std::logic_error where a stage has other sizes.
    virtual void rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate);

    /// Sums the gradients of the stage's nodes here and on the other ranks that host it (`tokens` of every node
    /// counted), and leaves the mean gradient in the first copy here. Once a stage, after its last operation here, from
    /// one thread; operations of other stages may still run.
    virtual StageSum reduce(int stage, RankTransport& transport) = 0;
    /// The same where reductions are planned and a real clock runs; null: nothing is computed.
    virtual PieceSums* piece_sums() { return nullptr; }
    virtual RankLoss loss() const = 0;
    /// AdamW on every copy here of the stages that step. `sums` of every stage, also of those hosted elsewhere.
    virtual void step(int iteration, const std::vector<StageSum>& sums) = 0;
    /// Between iterations, of each copy here of a stage with several nodes, over weights and AdamW's moments; none
    /// where nothing is computed.
    virtual std::vector<CopyHash> copy_hashes() const { return {}; }
    /// With every rank, in the same order; the result is rank 0's.
    virtual ValidationResult validate(RankTransport& transport) = 0;
    /// A node's weights, in the order of stage_segments; empty where nothing is computed.
    virtual std::vector<float> weights(int node) const = 0;

    // Between two iterations, what the next one starts from: taken over by another back end, it trains on to the same
    // bits.
    /// Of a node hosted here; empty where nothing is computed.
    virtual StageState state(int node) const = 0;
    /// Throws std::logic_error where its sizes are not the stage's.
    virtual void set_state(int node, const StageState& state) = 0;
    /// Of messages and gradients from nodes hosted here.
    virtual RoundingResiduals residuals() const = 0;
    /// In place of those there are; what nodes hosted elsewhere send is left out. Where a node of a gradient's residual
    /// is not in the stage any more, the stage's first node takes it over. `follow` forgets those of messages.
    /// Throws std::logic_error where sizes are not those of the messages and stages.
    virtual void set_residuals(const RoundingResiduals& residuals) = 0;
};

}  // namespace skippipe
