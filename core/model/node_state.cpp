// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/node_state.h"

#include <algorithm>
#include <utility>

namespace skippipe {

void set_tokens(const Batch& batch, torch::Device device, torch::Tensor& tokens, torch::Tensor& targets) {
    const auto all = torch::from_blob(const_cast<std::uint8_t*>(batch.tokens.data()), {batch.samples, batch.sequence + 1}, torch::kUInt8);
    tokens = all.narrow(1, 0, batch.sequence).reshape(-1).to(device, torch::kInt64);
    targets = all.narrow(1, 1, batch.sequence).reshape(-1).to(device, torch::kInt64);
}

torch::Tensor deliver(const torch::Tensor& sent, WireType wire, torch::Device to) {
    auto message = sent.detach();
    if (wire == WireType::bf16) message = message.to(torch::kBFloat16);
    return message.to(to, torch::kFloat32);
}

namespace {

torch::Tensor arrived(NodeState& node, Journey& journey, WireType wire) {
    return deliver(std::exchange(journey.message, {}), wire, node.stage.device());
}

torch::Tensor rows_of(std::int64_t n, const NodeState& node) { return torch::empty({n, node.model.width}); }
float* data(const torch::Tensor& tensor) { return tensor.data_ptr<float>(); }
const std::int64_t* ids(const torch::Tensor& tokens) { return tokens.data_ptr<std::int64_t>(); }

torch::Tensor take_activations(NodeState& node, std::int64_t tokens) {
    return node.activations.take(activation_floats(node.model, node.fused->blocks(), tokens));
}

void hold(NodeState& node) { node.most_held = std::max(node.most_held, ++node.held); }

/// The visit is over.
void release(NodeState& node, Journey& journey, Visit& visit) {
    node.activations.give(std::exchange(visit.activations, {}));
    node.between.give(std::exchange(visit.between, {}));
    visit.input.reset();
    visit.gradient.reset();
    node.tokens += journey.token_count;
    --node.held;
}

void fused_forward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    const auto n = journey.token_count;
    if (journey.message.defined()) {
        visit.input = arrived(node, journey, wire).contiguous();
    } else {
        visit.input = rows_of(n, node);
        node.fused->embed(data(visit.input), ids(journey.tokens), n);
    }
    if (!node.recompute) visit.activations = take_activations(node, n);
    journey.message = rows_of(n, node);
    node.fused->forward(data(journey.message), data(visit.input), node.recompute ? nullptr : data(visit.activations), n);
}

/// What the forward would have kept, where it was not to be kept.
void recompute(NodeState& node, Visit& visit) {
    if (!node.recompute) return;
    const auto n = visit.input.size(0);
    visit.activations = take_activations(node, n);
    node.fused->forward(nullptr, data(visit.input), data(visit.activations), n);
}

/// The input's gradient goes on: back along the path, or into the embedding.
void hand_back(NodeState& node, Journey& journey, const Visit& visit, torch::Tensor dx) {
    if (&visit == &journey.visits.front()) node.fused->embed_backward(data(dx), ids(journey.tokens), dx.size(0));
    else journey.message = std::move(dx);
}

void fused_backward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    const auto dy = arrived(node, journey, wire).contiguous();
    auto dx = rows_of(dy.size(0), node);
    recompute(node, visit);
    node.fused->backward(data(dx), data(dy), data(visit.input), data(visit.activations), dy.size(0));
    hand_back(node, journey, visit, std::move(dx));
}

void fused_input_gradient(NodeState& node, Journey& journey, Visit& visit) {
    const auto n = visit.gradient.size(0);
    auto dx = rows_of(visit.gradient.size(0), node);
    recompute(node, visit);
    visit.between = node.between.take(split_floats(node.model, node.fused->blocks(), n));
    node.fused->input_gradient(data(dx), data(visit.gradient), data(visit.input), data(visit.activations), data(visit.between), n);
    visit.input = dx;  // of no more use itself; the embedding's gradient waits for W
    if (&visit != &journey.visits.front()) journey.message = std::exchange(visit.input, {});
}

void fused_weight_gradient(NodeState& node, Journey& journey, Visit& visit) {
    node.fused->weight_gradient(data(visit.gradient), data(visit.activations), data(visit.between), visit.gradient.size(0));
    if (visit.input.defined()) node.fused->embed_backward(data(visit.input), ids(journey.tokens), visit.input.size(0));
}

}  // namespace

NodeState::NodeState(Stage given, const ModelSpec& of) : stage(std::move(given)), model(of) {
    if (stage.device().is_cpu()) fused.emplace(stage, model);
    m = torch::zeros_like(stage.weights());
    v = torch::zeros_like(stage.weights());
}

void run_forward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    hold(node);
    if (node.fused) return fused_forward(node, journey, visit, wire);
    torch::Tensor x;
    if (journey.message.defined()) {
        visit.input = arrived(node, journey, wire).set_requires_grad(true);
        x = visit.input;
    } else {
        x = node.stage.embed(journey.tokens);
    }
    const auto output = node.stage.forward(x);
    visit.output = gradient_edge(output);
    journey.message = output.detach();
}

void run_loss(NodeState& node, Journey& journey, WireType wire) {
    journey.loss_tokens = journey.targets.numel();
    if (node.fused) {
        const auto x = arrived(node, journey, wire).contiguous();
        journey.message = rows_of(x.size(0), node);
        journey.loss = node.fused->loss_backward(data(journey.message), data(x), ids(journey.targets), x.size(0));
        return;
    }
    const auto input = arrived(node, journey, wire).set_requires_grad(true);
    const auto loss = node.stage.loss_sum(input, journey.targets);
    accumulate_gradients(gradient_edge(loss), torch::ones_like(loss));
    journey.loss = loss.item<float>();
    journey.message = input.grad();
}

void run_backward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    if (node.fused) {
        fused_backward(node, journey, visit, wire);
    } else {
        const auto gradient = arrived(node, journey, wire);
        const auto output = std::exchange(visit.output, {});
        accumulate_gradients(output, gradient);
        if (visit.input.defined()) journey.message = visit.input.grad();
    }
    release(node, journey, visit);
}

void run_input_gradient(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    visit.gradient = arrived(node, journey, wire).contiguous();
    if (node.fused) return fused_input_gradient(node, journey, visit);
    if (visit.input.defined()) journey.message = gradients_of(visit.output, visit.gradient, {visit.input}, true).front();
}

void run_weight_gradient(NodeState& node, Journey& journey, Visit& visit) {
    if (node.fused) {
        fused_weight_gradient(node, journey, visit);
    } else {
        auto tensors = node.stage.body_tensors();
        const auto output = std::exchange(visit.output, {});
        visit.input.reset();
        const auto found = gradients_of(output, visit.gradient, tensors, false);
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (found[i].defined()) tensors[i].mutable_grad().add_(found[i]);
    }
    release(node, journey, visit);
}

torch::Tensor evaluate(const NodeState& node, const torch::Tensor& x) {
    if (!node.fused) return node.stage.forward(x);
    auto out = rows_of(x.size(0), node);
    node.fused->forward(data(out), data(x), nullptr, x.size(0));
    return out;
}

double evaluate_loss(const NodeState& node, const torch::Tensor& x, const torch::Tensor& targets) {
    return node.fused ? node.fused->loss(data(x), ids(targets), x.size(0)) : node.stage.loss_sum(x, targets).item<float>();
}

}  // namespace skippipe
