// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/node_state.h"

#include "core/experiment/model_size.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/index.h"
#include "core/model/device_wire.h"
#include "core/model/wire.h"

namespace skippipe {

void set_tokens(const Batch& batch, torch::Device device, torch::Tensor& tokens, torch::Tensor& targets) {
    const auto all = torch::from_blob(const_cast<std::int32_t*>(batch.tokens.data()),
                                      {batch.samples, batch.sequence + 1}, torch::kInt32);
    tokens = all.narrow(1, 0, batch.sequence).reshape(-1).to(device, torch::kInt64);
    targets = all.narrow(1, 1, batch.sequence).reshape(-1).to(device, torch::kInt64);
}

namespace {

float* data(const torch::Tensor& tensor) { return tensor.data_ptr<float>(); }

/// Null where rounding is not fed back. bf16 rounds so little that it would not pay for the memory.
torch::Tensor* residual_of(MicrobatchState& state, int step, int to_node, WireType wire, torch::Device device) {
    if (wire != WireType::int8 || !state.residuals) return nullptr;
    const auto& message = state.inputs[at(step)];
    auto& residual = (*state.residuals)[{message.from, to_node, step > state.length()}];
    if (!residual.defined()) residual = torch::zeros({message.values.numel()}, torch::TensorOptions(device));
    residual = residual.to(device);
    return &residual;
}

/// The memory of bytes as a tensor.
torch::Tensor bytes_at(const std::byte* bytes, std::size_t count) {
    return torch::from_blob(const_cast<std::byte*>(bytes), {static_cast<std::int64_t>(count)}, torch::kUInt8);
}

/// What takes the way of a message within one rank, on a device where it lies.
torch::Tensor rounded(const torch::Tensor& sent, WireType wire, torch::Tensor* residual, bool there) {
    const auto rows = sent.size(0), width = sent.size(1);
    if (there) return decoded_there(encoded_there(sent, wire, residual), rows, width, wire);
    std::vector<std::byte> bytes(wire_bytes(wire, rows, width));
    encode(bytes.data(), data(sent), rows, width, wire, residual ? data(*residual) : nullptr);
    auto values = torch::empty({rows, width});
    decode(data(values), bytes.data(), rows, width, wire);
    return values;
}

torch::Tensor as_sent(const torch::Tensor& message) { return message.detach().to(torch::kFloat32).contiguous(); }

}  // namespace

void take_message(MicrobatchState& state, int step, int to_node, WireType wire, std::byte* bytes) {
    auto& input = state.inputs[at(step)];
    const auto message = as_sent(input.values);
    const auto rows = message.size(0), width = message.size(1);
    auto* const residual = residual_of(state, step, to_node, wire, message.device());
    if (message.is_cpu())
        encode(bytes, data(message), rows, width, wire, residual ? data(*residual) : nullptr);
    else
        bytes_at(bytes, wire_bytes(wire, rows, width)).copy_(encoded_there(message, wire, residual));
    if (!state.keeps_inputs) input = {};
}

void put_message(MicrobatchState& state, int step, const std::byte* bytes, const MessageShape& shape,
                 torch::Device device) {
    auto& input = state.inputs[at(step)];
    input.from = -1;
    if (!device.is_cpu()) {
        const auto there = bytes_at(bytes, wire_bytes(shape.wire, shape.rows, shape.width)).to(device);
        input.values = decoded_there(there, shape.rows, shape.width, shape.wire);
        return;
    }
    input.values = torch::empty({shape.rows, shape.width});
    decode(data(input.values), bytes, shape.rows, shape.width, shape.wire);
}

namespace {

/// The input of a step as it arrives on the visit's node, without history.
torch::Tensor arrived(NodeState& node, MicrobatchState& state, const Visit& visit, int step, WireType wire) {
    auto& input = state.inputs[at(step)];
    if (!input.values.defined()) throw std::logic_error("the input of the operation is not there");
    auto values = input.values;
    if (wire != WireType::fp32 && input.from >= 0 && input.from != visit.node) {
        const auto device = node.stage.device();
        values = rounded(as_sent(values.to(device)), wire, residual_of(state, step, visit.node, wire, device),
                         node.device || !device.is_cpu());
    }
    if (!state.keeps_inputs || input.from < 0) input = {};  // who sent it from another rank has kept it
    return values.detach().to(node.stage.device()).contiguous();
}

/// What a step leaves for the next one.
void hand_over(MicrobatchState& state, const Visit& visit, int step, torch::Tensor values) {
    state.inputs[at(step + 1)] = {std::move(values), visit.node};
}

int forward_step(const Visit& visit) { return visit.hop; }
int backward_step(const MicrobatchState& state, const Visit& visit) { return 2 * state.length() - visit.hop; }

torch::Tensor rows_of(std::int64_t n, const NodeState& node) { return torch::empty({n, node.model.width}); }
const std::int64_t* ids(const torch::Tensor& tokens) { return tokens.data_ptr<std::int64_t>(); }

torch::Tensor take_activations(NodeState& node, std::int64_t tokens) {
    return node.activations.take(activation_floats(node.model, node.fused->blocks(), tokens));
}

void hold(NodeState& node, Visit& visit) {
    visit.held = true;
    node.most_held = std::max(node.most_held, ++node.held);
}

/// The visit is over.
void release(NodeState& node, MicrobatchState& state, Visit& visit) {
    give_up(node, visit);
    node.tokens += state.token_count;
}

void fused_forward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    const auto n = state.token_count;
    if (visit.hop > 0) {
        visit.input = arrived(node, state, visit, forward_step(visit), wire);
    } else {
        visit.input = rows_of(n, node);
        node.fused->embed(data(visit.input), ids(state.tokens), n);
    }
    if (!node.recompute) visit.activations = take_activations(node, n);
    auto out = rows_of(n, node);
    node.fused->forward(data(out), data(visit.input), node.recompute ? nullptr : data(visit.activations), n);
    hand_over(state, visit, forward_step(visit), std::move(out));
}

/// What the forward would have kept, where it was not to be kept, into `kept`.
float* recompute(const NodeState& node, const Visit& visit, float* kept) {
    node.fused->forward(nullptr, data(visit.input), kept, visit.input.size(0));
    return kept;
}

/// The input's gradient goes on: back along the path, or into the embedding.
void hand_back(NodeState& node, MicrobatchState& state, const Visit& visit, torch::Tensor dx) {
    if (visit.hop == 0)
        node.fused->embed_backward(data(dx), ids(state.tokens), dx.size(0));
    else
        hand_over(state, visit, backward_step(state, visit), std::move(dx));
}

void fused_backward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    const auto dy = arrived(node, state, visit, backward_step(state, visit), wire);
    auto dx = rows_of(dy.size(0), node);
    auto* kept = node.recompute ? recompute(node, visit, node.fused->recomputed(dy.size(0))) : data(visit.activations);
    node.fused->backward(data(dx), data(dy), data(visit.input), kept, dy.size(0));
    hand_back(node, state, visit, std::move(dx));
}

void fused_input_gradient(NodeState& node, MicrobatchState& state, Visit& visit) {
    const auto n = visit.gradient.size(0);
    auto dx = rows_of(visit.gradient.size(0), node);
    if (node.recompute) {
        visit.activations = take_activations(node, n);
        recompute(node, visit, data(visit.activations));
    }
    visit.between = node.between.take(split_floats(node.model, node.fused->blocks(), n));
    node.fused->input_gradient(data(dx), data(visit.gradient), data(visit.input), data(visit.activations),
                               data(visit.between), n);
    visit.input = dx;  // of no more use itself; the embedding's gradient waits for W
    if (visit.hop > 0) hand_over(state, visit, backward_step(state, visit), std::exchange(visit.input, {}));
}

void fused_weight_gradient(NodeState& node, MicrobatchState& state, Visit& visit) {
    node.fused->weight_gradient(data(visit.gradient), data(visit.activations), data(visit.between),
                                visit.gradient.size(0));
    if (visit.input.defined()) node.fused->embed_backward(data(visit.input), ids(state.tokens), visit.input.size(0));
}

}  // namespace

NodeState::NodeState(Stage given, const ModelSpec& of, ProductType products) : stage(std::move(given)), model(of) {
    // Heads that share keys and values are left to LibTorch's operations.
    if (stage.device().is_cpu() && kv_heads(model) == model.heads) fused.emplace(stage, model, products);
    const bool fits = stage.device().is_cuda() && cuda_kernels() && DeviceStage::fits(of, products);
    if (fits && cuda_kernels()->runs_on(stage.device().index())) device.emplace(stage, model, *cuda_kernels());
    m = torch::zeros_like(stage.weights());
    v = torch::zeros_like(stage.weights());
}

namespace {

/// The graph of the stage's work on the visit's input (its tokens, where nothing arrived); returns the result.
torch::Tensor record_graph(NodeState& node, const MicrobatchState& state, Visit& visit) {
    const auto output = node.stage.forward(visit.input.defined() ? visit.input.set_requires_grad(true)
                                                                 : node.stage.embed(state.tokens));
    if (output.requires_grad()) visit.output = gradient_edge(output);
    return output.detach();
}

void graph_forward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    if (visit.hop > 0) visit.input = arrived(node, state, visit, forward_step(visit), wire);
    at::AutoGradMode graph(!node.recompute);
    hand_over(state, visit, forward_step(visit), record_graph(node, state, visit));
}

}  // namespace

namespace {

void device_forward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    torch::NoGradGuard no_gradient;
    visit.input =
        visit.hop > 0 ? arrived(node, state, visit, forward_step(visit), wire) : node.stage.embed(state.tokens);
    hand_over(state, visit, forward_step(visit),
              node.device->forward(visit.input, node.recompute ? nullptr : &visit.kept));
}

/// What the forward would have kept, where it was not to be kept.
void keep_again(const NodeState& node, Visit& visit) {
    if (node.recompute) node.device->forward(visit.input, &visit.kept);
}

void device_backward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    const auto gradient = arrived(node, state, visit, backward_step(state, visit), wire);
    keep_again(node, visit);
    auto dx = node.device->backward(gradient, visit.kept);
    if (visit.hop == 0)
        node.device->embed_backward(dx, state.tokens);
    else
        hand_over(state, visit, backward_step(state, visit), std::move(dx));
}

void device_input_gradient(const NodeState& node, MicrobatchState& state, Visit& visit) {
    keep_again(node, visit);
    visit.input = node.device->input_gradient(visit.gradient, visit.kept);  // the embedding's gradient waits for W
    if (visit.hop > 0) hand_over(state, visit, backward_step(state, visit), std::exchange(visit.input, {}));
}

void device_weight_gradient(NodeState& node, const MicrobatchState& state, Visit& visit) {
    node.device->weight_gradient(visit.kept);
    if (visit.hop == 0) node.device->embed_backward(visit.input, state.tokens);
}

}  // namespace

void run_forward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    hold(node, visit);
    if (node.fused) return fused_forward(node, state, visit, wire);
    if (node.device) return device_forward(node, state, visit, wire);
    graph_forward(node, state, visit, wire);
}

void run_loss(NodeState& node, MicrobatchState& state, WireType wire) {
    const auto& visit = state.visits.front();
    const int step = state.length();
    state.loss_tokens = state.targets.numel();
    const auto x = arrived(node, state, visit, step, wire);
    if (node.fused) {
        auto dx = rows_of(x.size(0), node);
        state.loss = node.fused->loss_backward(data(dx), data(x), ids(state.targets), x.size(0));
        return hand_over(state, visit, step, std::move(dx));
    }
    auto dx = torch::empty_like(x);
    if (node.device) {
        state.loss = 0;
        state.device_loss = node.device->loss_backward(dx, x, state.targets);
        return hand_over(state, visit, step, std::move(dx));
    }
    state.loss = node.stage.loss_backward(dx, x, state.targets).item<double>();
    hand_over(state, visit, step, std::move(dx));
}

void run_backward(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    if (node.fused) {
        fused_backward(node, state, visit, wire);
    } else if (node.device) {
        device_backward(node, state, visit, wire);
    } else {
        const auto gradient = arrived(node, state, visit, backward_step(state, visit), wire);
        if (node.recompute) record_graph(node, state, visit);
        accumulate_gradients(std::exchange(visit.output, {}), gradient);
        if (visit.input.defined()) hand_over(state, visit, backward_step(state, visit), visit.input.grad());
    }
    release(node, state, visit);
}

void run_input_gradient(NodeState& node, MicrobatchState& state, Visit& visit, WireType wire) {
    visit.gradient = arrived(node, state, visit, backward_step(state, visit), wire);
    if (node.fused) return fused_input_gradient(node, state, visit);
    if (node.device) return device_input_gradient(node, state, visit);
    if (node.recompute) record_graph(node, state, visit);
    if (visit.input.defined())
        hand_over(state, visit, backward_step(state, visit),
                  gradients_of(visit.output, visit.gradient, {visit.input}, true).front());
}

void run_weight_gradient(NodeState& node, MicrobatchState& state, Visit& visit) {
    if (node.fused) {
        fused_weight_gradient(node, state, visit);
    } else if (node.device) {
        device_weight_gradient(node, state, visit);
    } else {
        auto tensors = node.stage.body_tensors();
        const auto output = std::exchange(visit.output, {});
        visit.input.reset();
        const auto found = gradients_of(output, visit.gradient, tensors, false);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (found[i].defined()) tensors[i].mutable_grad().add_(found[i]);
    }
    release(node, state, visit);
}

void MicrobatchState::begin(const std::vector<NodeIndex>& nodes) {
    path = nodes;
    visits.resize(path.size());
    for (auto* steps : {&submitted, &arrived}) steps->resize(2 * path.size() + 1);
    inputs.resize(2 * path.size() + 1);
    for (std::size_t hop = 0; hop < path.size(); ++hop) {
        visits[hop].node = path[hop];
        visits[hop].hop = static_cast<int>(hop);
    }
}

void give_up(NodeState& node, Visit& visit) {
    if (!visit.held) return;
    node.activations.give(std::exchange(visit.activations, {}));
    node.between.give(std::exchange(visit.between, {}));
    visit.input.reset();
    visit.gradient.reset();
    visit.output = {};
    visit.kept.clear();
    visit.held = false;
    --node.held;
}

torch::Tensor evaluate(const NodeState& node, const torch::Tensor& x) {
    if (node.device) return node.device->forward(x, nullptr);
    if (!node.fused) return node.stage.forward(x);
    auto out = rows_of(x.size(0), node);
    node.fused->forward(data(out), data(x), nullptr, x.size(0));
    return out;
}

double evaluate_loss(const NodeState& node, const torch::Tensor& x, const torch::Tensor& targets) {
    if (node.device) return node.device->loss(x, targets).item<double>();
    return node.fused ? node.fused->loss(data(x), ids(targets), x.size(0)) : node.stage.loss(x, targets).item<double>();
}

}  // namespace skippipe
