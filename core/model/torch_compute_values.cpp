// SPDX-License-Identifier: GPL-3.0-or-later
// TorchCompute's weights, optimizer, gradients and what rounding left, as plain values: for checkpoints, for those who
// come back, and for tests.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "core/model/copy_hash.h"
#include "core/model/torch_compute_state.h"

namespace skippipe {

namespace {

std::vector<float> to_vector(const torch::Tensor& flat) {
    const auto values = flat.to(torch::kCPU).contiguous();
    return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

void set_values(torch::Tensor& flat, const std::vector<float>& values, const char* name) {
    if (static_cast<std::int64_t>(values.size()) != flat.numel())
        throw std::logic_error(fmt::format("{}: {} values for a stage of {}", name, values.size(), flat.numel()));
    torch::NoGradGuard no_gradient;
    flat.copy_(torch::from_blob(const_cast<float*>(values.data()), {flat.numel()}));
}

bool same_bits(const torch::Tensor& a, const torch::Tensor& b) {
    const auto x = a.to(torch::kCPU).contiguous(), y = b.to(torch::kCPU).contiguous();
    return x.numel() == y.numel() && std::memcmp(x.data_ptr<float>(), y.data_ptr<float>(),
                                                 static_cast<std::size_t>(x.numel()) * sizeof(float)) == 0;
}

}  // namespace

std::vector<float> TorchCompute::weights(int node) const {
    return to_vector(implementation_->present(node).stage.weights());
}

StageState TorchCompute::state(int node) const {
    const auto& of = implementation_->present(node);
    return {to_vector(of.stage.weights()), to_vector(of.m), to_vector(of.v),
            implementation_->steps.at(at(of.stage.stage())), implementation_->learning_rates.at(at(of.stage.stage()))};
}

void TorchCompute::set_state(int node, const StageState& state) {
    auto& of = implementation_->node(node);
    set_values(of.stage.weights(), state.weights, "weights");
    set_values(of.m, state.m, "AdamW's first moment");
    set_values(of.v, state.v, "AdamW's second moment");
    implementation_->steps.at(at(of.stage.stage())) = state.steps;
    implementation_->learning_rates.at(at(of.stage.stage())) = state.learning_rate;
}

RoundingResiduals TorchCompute::residuals() const {
    const auto& self = *implementation_;
    RoundingResiduals all;
    for (const auto& [microbatch, messages] : self.residuals)
        for (const auto& [message, values] : messages) {
            const auto [from, to, gradient] = message;
            all.messages.push_back({microbatch, from, to, gradient, to_vector(values)});
        }
    for (int node = 0; at(node) < self.nodes.size(); ++node)
        if (const auto* owed = self.gradient_feedback.owed(node))
            all.gradients.push_back({self.nodes[at(node)].value().stage.stage(), node, *owed});
    return all;
}

void TorchCompute::Implementation::take_over(const std::vector<GradientResidual>& owed) {
    gradient_feedback.clear();
    if (experiment.training.gradient_wire != WireType::int8 || experiment.costs.all_reduce != AllReduceRule::planned)
        return;
    for (const auto& one : owed) {
        if (one.stage < 0 || at(one.stage) >= schedule.plan.stages.size())
            throw std::logic_error(fmt::format("what rounding left of stage {}, which there is not", one.stage));
        const auto& replicas = schedule.plan.stages[at(one.stage)];
        if (replicas.empty()) continue;  // nobody is left to pay
        const bool stays = std::find(replicas.begin(), replicas.end(), one.node) != replicas.end();
        const int to = stays ? one.node : first_index(one.stage);
        if (!hosted(to)) continue;
        if (static_cast<std::int64_t>(one.values.size()) != node(to).stage.size())
            throw std::logic_error(fmt::format("what rounding left of stage {} has {} values for {} parameters",
                                               one.stage, one.values.size(), node(to).stage.size()));
        gradient_feedback.owe(to, one.values);
    }
}

void TorchCompute::set_residuals(const RoundingResiduals& residuals) {
    auto& self = *implementation_;
    self.residuals.clear();
    self.take_over(residuals.gradients);
    for (const auto& one : residuals.messages) {
        if (!self.hosted(one.from_node)) continue;
        const auto size = static_cast<std::int64_t>(one.values.size());
        if (size != self.tokens_of(one.microbatch) * self.width())
            throw std::logic_error(fmt::format("what rounding left of microbatch {} has {} values for {} tokens of {}",
                                               one.microbatch, size, self.tokens_of(one.microbatch), self.width()));
        auto values = torch::empty({size});
        set_values(values, one.values, "what rounding left");
        self.residuals[one.microbatch][{one.from_node, one.to_node, one.gradient}] = std::move(values);
    }
}

std::vector<float> TorchCompute::reduced_gradient(int stage) const {
    return to_vector(implementation_->copies_of(stage).sum());
}

/// Beside each other: what is read is in memory, and one thread does not fill its lines.
std::vector<CopyHash> TorchCompute::copy_hashes() const {
    auto& self = *implementation_;
    std::vector<CopyHash> copies;
    for (std::size_t stage = 0; stage < self.schedule.plan.stages.size(); ++stage) {
        const auto& ring = self.schedule.plan.stages[stage];
        for (const int node : ring)
            if (ring.size() > 1 && self.hosted(node) && !self.is_lost(node))
                copies.push_back({static_cast<int>(stage), node});
    }
    self.graph.for_each(copies.size(), [&](std::size_t k) {
        auto& node = self.node(copies[k].node);
        std::array<std::uint64_t, 3> parts{};
        const torch::Tensor tensors[] = {node.stage.weights(), node.m, node.v};
        // Weights each time, each moment at every fourth step: all of them would take 3 % of an iteration where models
        // are large, and moments that differ make weights differ.
        const auto turn = self.steps[at(copies[k].stage)] % 4;
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if ((i == 1 && turn != 1) || (i == 2 && turn != 3)) continue;
            parts[i] = hash_of(tensors[i]);
        }
        copies[k].hash = XXH3_64bits(parts.data(), sizeof parts);
    });
    return copies;
}

bool TorchCompute::replicas_equal() const {
    for (int stage = 0; at(stage) < implementation_->schedule.plan.stages.size(); ++stage) {
        const auto copies = implementation_->copies_of(stage);
        for (const auto* node : copies.nodes) {
            const auto& first = *copies.nodes.front();
            if (!same_bits(node->stage.weights(), first.stage.weights()) || !same_bits(node->m, first.m) ||
                !same_bits(node->v, first.v))
                return false;
        }
    }
    return true;
}

}  // namespace skippipe
