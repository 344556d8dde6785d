// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/reference.h"

#include <cmath>

#include "core/model/node_state.h"
#include "core/model/optimizer.h"
#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

std::vector<float> copy_of_values(const torch::Tensor& flat) {
    return {flat.data_ptr<float>(), flat.data_ptr<float>() + flat.numel()};
}

}  // namespace

WholeModel::WholeModel(const ModelSpec& model, const Training& training, const std::vector<int>& blocks,
                       std::uint64_t seed)
    : training_(training), steps_(blocks.size()), gradients_(blocks.size()) {
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
        stages_.emplace_back(model, static_cast<int>(stage), blocks[stage], torch::kCPU);
        stages_.back().initialise(seed);
        m_.push_back(torch::zeros_like(stages_.back().weights()));
        v_.push_back(torch::zeros_like(stages_.back().weights()));
    }
    sums_.stage_tokens.assign(blocks.size(), 0);
}

void WholeModel::accumulate(const Batches& batches, int iteration, const std::vector<StagePath>& paths) {
    for (const auto& path : paths) {
        torch::Tensor tokens, targets;
        set_tokens(batches.batch(iteration, path.microbatch), torch::kCPU, tokens, targets);
        auto x = stages_.front().embed(tokens);
        for (const int stage : path.stages) {
            x = stages_[static_cast<std::size_t>(stage)].forward(x);
            sums_.stage_tokens[static_cast<std::size_t>(stage)] += tokens.numel();
        }
        const auto loss = stages_.front().loss_sum(x, targets);
        loss.backward();
        sums_.loss_sum_nats += loss.item<float>();
        sums_.tokens += tokens.numel();
    }
}

void WholeModel::add_gradients_of(const WholeModel& other) {
    torch::NoGradGuard no_gradient;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        stages_[stage].gradient().add_(other.stages_[stage].gradient());
        sums_.stage_tokens[stage] += other.sums_.stage_tokens[stage];
    }
    sums_.loss_sum_nats += other.sums_.loss_sum_nats;
    sums_.tokens += other.sums_.tokens;
}

ReferenceStep WholeModel::step(int iteration) {
    torch::NoGradGuard no_gradient;
    std::vector<double> squared(stages_.size(), -1);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        auto& gradient = stages_[stage].gradient();
        if (const auto tokens = sums_.stage_tokens[stage]; tokens > 0) {
            gradient.div_(static_cast<double>(tokens));
            squared[stage] = gradient.to(torch::kFloat64).square().sum().item<double>();
        }
        gradients_[stage] = copy_of_values(gradient);
    }
    sums_.gradient_norm = total_norm(squared);
    const auto factors = clip_factors(training_, squared);
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        if (squared[stage] < 0) continue;
        auto parameters = step_parameters(training_, iteration, ++steps_[stage]);
        parameters.gradient_scale = factors[stage];
        auto& whole = stages_[stage];
        const auto decayed = whole.decayed_size();
        for (const bool decays : {true, false}) {
            const auto part = [&](const torch::Tensor& flat) {
                return decays ? flat.narrow(0, 0, decayed) : flat.narrow(0, decayed, whole.size() - decayed);
            };
            if (!decays) parameters.weight_decay = 0;
            adamw_tensors(part(whole.weights()), part(whole.gradient()), part(m_[stage]), part(v_[stage]), parameters);
        }
        whole.gradient().zero_();
    }
    auto result = std::exchange(sums_, {});
    sums_.stage_tokens.assign(stages_.size(), 0);
    return result;
}

void WholeModel::copy_state_of(const WholeModel& other) {
    torch::NoGradGuard no_gradient;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        stages_[stage].weights().copy_(other.stages_[stage].weights());
        stages_[stage].gradient().zero_();
        m_[stage].copy_(other.m_[stage]);
        v_[stage].copy_(other.v_[stage]);
    }
    steps_ = other.steps_;
    sums_ = {};
    sums_.stage_tokens.assign(stages_.size(), 0);
}

std::vector<float> WholeModel::weights(int stage) const {
    return copy_of_values(stages_[static_cast<std::size_t>(stage)].weights());
}

}  // namespace skippipe
