// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/node_state.h"

namespace skippipe {

void set_tokens(const Batch& batch, torch::Device device, torch::Tensor& tokens, torch::Tensor& targets) {
    const auto all = torch::from_blob(const_cast<std::int32_t*>(batch.tokens.data()), {batch.samples, batch.sequence + 1}, torch::kInt32);
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

void count_tokens(NodeState& node, const Journey& journey) { node.tokens += journey.token_count; }

}  // namespace

void run_forward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
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
    const auto input = arrived(node, journey, wire).set_requires_grad(true);
    const auto loss = node.stage.loss_sum(input, journey.targets);
    accumulate_gradients(gradient_edge(loss), torch::ones_like(loss));
    journey.loss = loss.item<float>();
    journey.loss_tokens = journey.targets.numel();
    journey.message = input.grad();
}

void run_backward(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    const auto gradient = arrived(node, journey, wire);
    const auto output = std::exchange(visit.output, {});
    accumulate_gradients(output, gradient);
    if (visit.input.defined()) journey.message = std::exchange(visit.input, {}).grad();
    count_tokens(node, journey);
}

void run_input_gradient(NodeState& node, Journey& journey, Visit& visit, WireType wire) {
    visit.gradient = arrived(node, journey, wire);
    if (visit.input.defined()) journey.message = gradients_of(visit.output, visit.gradient, {visit.input}, true).front();
}

void run_weight_gradient(NodeState& node, Journey& journey, Visit& visit) {
    auto tensors = node.stage.body_tensors();
    const auto gradient = std::exchange(visit.gradient, {});
    const auto output = std::exchange(visit.output, {});
    visit.input.reset();
    const auto found = gradients_of(output, gradient, tensors, false);
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (found[i].defined()) tensors[i].mutable_grad().add_(found[i]);
    count_tokens(node, journey);
}

}  // namespace skippipe
