// SPDX-License-Identifier: GPL-3.0-or-later
// What nodes and microbatches hold while an iteration is computed.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "core/data/batches.h"
#include "core/engine/compute.h"
#include "core/model/buffers.h"
#include "core/model/device_stage.h"
#include "core/model/fused_stage.h"
#include "core/model/llama.h"
#include "core/engine/task_graph.h"
#include "core/model/torch_compat.h"

namespace skippipe {

/// A node: its copy of the stage and the optimizer's state.
struct NodeState {
    NodeState(Stage stage, const ModelSpec& model, ProductType products = ProductType::fp32);

    Stage stage;
    std::optional<FusedStage> fused;    ///< on the CPU
    std::optional<DeviceStage> device;  ///< in bf16 on a GPU; elsewhere the stage's own operations and autograd do it
    ModelSpec model;
    bool recompute = false;  ///< a visit keeps its input only; the backward does the forward again
    BufferPool activations, between;
    int held = 0, most_held = 0;  ///< visits whose activations are kept, now and at most so far
    torch::Tensor m, v;           ///< AdamW, flat as the weights
    std::int64_t tokens = 0;      ///< whose weight gradients were added up in this iteration
    std::optional<TaskGraph::Id> last_task;

    /// The weights that operations read are the stage's again: before an iteration, and before it is evaluated.
    void refresh() {
        if (device) device->refresh();
    }
};

/// A microbatch's stay on one node.
struct Visit {
    int node = 0, hop = 0;
    bool held = false;                ///< its forward has run, and its backward (W) has not
    torch::Tensor input;              ///< the message that arrived, or, but for autograd, the embedded tokens at hop 0
    DeviceKept kept;                  ///< of a DeviceStage: what the forward kept, and I for W
    Edge output;                      ///< autograd's graph of this stage's work; freed by the backward
    torch::Tensor activations;        ///< on the CPU: what the forward kept
    torch::Tensor gradient, between;  ///< split backward: kept from I for W
    std::optional<TaskGraph::Id> input_gradient_task;
    bool weight_gradient_due = false;  ///< I was submitted, W was not
    Buffer arrived;  ///< the message from another rank that brings the next operation's input, not decoded yet
};

/// What one step of a microbatch's way leaves for the next.
struct StepMessage {
    torch::Tensor values;  ///< activation forwards, gradient backwards: [tokens, width]
    int from = -1;         ///< the node that made it, where it has not passed a wire yet
};

/// What int8 took away from the messages of a microbatch so far, by sender, receiver and direction (true: gradients).
using Residuals = std::map<std::tuple<int, int, bool>, torch::Tensor>;

/// A microbatch under way.
struct MicrobatchState {
    std::vector<NodeIndex> path;  ///< node of each hop
    std::vector<Visit> visits;    ///< of each hop; tasks hold pointers into it
    /// [2p + 1] the input of each step: 0..p-1 forward, p loss, p+1..2p backward. Step 0 needs none.
    std::vector<StepMessage> inputs;
    std::vector<char> submitted;  ///< [2p + 1] the step has run or is to run with what is there (I, where split)
    std::vector<char> arrived;    ///< [2p + 1] under the virtual clock: the input has come to the step's node
    /// Inputs stay until the next iteration, for nodes that take a lost one's place; else the step that needs one takes
    /// it.
    bool keeps_inputs = false;
    torch::Tensor tokens, targets;  ///< int64 [samples x sequence], where its data node is
    std::int64_t token_count = 0;
    Residuals* residuals = nullptr;  ///< outlive the iteration
    double loss = 0;                 ///< nats, summed; and
    torch::Tensor device_loss;       ///< more of it, still on a device
    std::int64_t loss_tokens = 0;
    std::optional<TaskGraph::Id> last_task;

    int length() const { return static_cast<int>(path.size()); }
    /// Nothing has run yet, and these are the nodes.
    void begin(const std::vector<NodeIndex>& nodes);
    /// The step of an operation at a hop.
    int step_of(OpKind kind, int hop) const {
        return kind == OpKind::L ? length() : kind == OpKind::F ? hop : 2 * length() - hop;
    }
};

/// Input and target tokens of a batch as int64 on a device.
void set_tokens(const Batch& batch, torch::Device device, torch::Tensor& tokens, torch::Tensor& targets);

/// Of a message: a row a token, and how its values travel.
struct MessageShape {
    std::int64_t rows, width;
    WireType wire;
};

/// The input of a step as bytes for a node on another rank (wire_bytes of them), and back on that rank. Between nodes
/// of one rank the operations do the same, so that a run's values do not depend on who shares a process. On a GPU what
/// is rounded is so there (device_wire.h).
void take_message(MicrobatchState& state, int step, int to_node, WireType wire, std::byte* bytes);
void put_message(MicrobatchState& state, int step, const std::byte* bytes, const MessageShape& shape,
                 torch::Device device);

/// What a visit keeps is given up: the forward runs again elsewhere, or not at all.
void give_up(NodeState& node, Visit& visit);

/// The operations of a node on a microbatch.
void run_forward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire);
void run_loss(NodeState& node, MicrobatchState& state, WireType wire);
void run_backward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire);
void run_input_gradient(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire);
void run_weight_gradient(NodeState& node, MicrobatchState& state, Visit& visit);

/// The blocks on activations [n, width] and the summed loss (nats), nothing kept.
torch::Tensor evaluate(const NodeState& node, const torch::Tensor& x);
double evaluate_loss(const NodeState& node, const torch::Tensor& x, const torch::Tensor& targets);

}  // namespace skippipe
