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
#include "core/model/fused_stage.h"
#include "core/model/llama.h"
#include "core/engine/task_graph.h"
#include "core/model/torch_compat.h"

namespace skippipe {

/// A node: its copy of the stage and the optimizer's state.
struct NodeState {
    NodeState(Stage stage, const ModelSpec& model, ProductType products = ProductType::fp32);

    Stage stage;
    std::optional<FusedStage> fused;  ///< on the CPU; elsewhere the stage's own operations and autograd do the work
    ModelSpec model;
    bool recompute = false;  ///< a visit keeps its input only; the backward does the forward again
    BufferPool activations, between;
    int held = 0, most_held = 0;  ///< visits whose activations are kept, now and at most so far
    torch::Tensor m, v;           ///< AdamW, flat as the weights
    std::int64_t tokens = 0;      ///< whose weight gradients were added up in this iteration
    std::optional<TaskGraph::Id> last_task;
};

/// A microbatch's stay on one node.
struct Visit {
    int node = 0;
    torch::Tensor input;              ///< the message that arrived, or, on the CPU, the embedded tokens at hop 0
    Edge output;                      ///< autograd's graph of this stage's work; freed by the backward
    torch::Tensor activations;        ///< on the CPU: what the forward kept
    torch::Tensor gradient, between;  ///< split backward: kept from I for W
    std::optional<TaskGraph::Id> input_gradient_task;
    Buffer arrived;  ///< the message from another rank that brings the next operation's input, not decoded yet
    bool forward_submitted = false, backward_submitted = false;
};

/// What int8 took away from the messages of a microbatch so far, by sender, receiver and direction (true: gradients).
using Residuals = std::map<std::tuple<int, int, bool>, torch::Tensor>;

/// A microbatch under way.
struct MicrobatchState {
    std::vector<int> path;          ///< node of each hop
    std::vector<Visit> visits;      ///< of each hop; tasks hold pointers into it
    torch::Tensor tokens, targets;  ///< int64 [samples x sequence], where its data node is
    std::int64_t token_count = 0;
    torch::Tensor message;           ///< activation forwards, gradient backwards
    int message_from = -1;           ///< the node that made it, where it has not passed a wire yet
    Residuals* residuals = nullptr;  ///< outlive the iteration
    double loss = 0;                 ///< nats, summed
    std::int64_t loss_tokens = 0;
    bool loss_submitted = false;
    std::optional<TaskGraph::Id> last_task;
};

/// Input and target tokens of a batch as int64 on a device.
void set_tokens(const Batch& batch, torch::Device device, torch::Tensor& tokens, torch::Tensor& targets);

/// The state's message as bytes for a node on another rank (wire_bytes of them), and back on that rank. Between nodes
/// of one rank the operations do the same, so that a run's values do not depend on who shares a process.
void take_message(MicrobatchState& state, int to_node, bool backward, WireType wire, std::byte* bytes);
void put_message(MicrobatchState& state, const std::byte* bytes, std::int64_t rows, std::int64_t width, WireType wire);

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
