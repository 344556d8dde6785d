// SPDX-License-Identifier: GPL-3.0-or-later
// What the pipeline is checked and measured against: the whole model in one process, ordinary autograd, no messages.
#pragma once
#include <cstdint>
#include <vector>

#include "core/data/batches.h"
#include "core/model/llama.h"

namespace skippipe {

struct ReferenceStep {
    double loss_sum_nats = 0;
    std::int64_t tokens = 0;
    double gradient_norm = 0;  ///< before clipping
    std::vector<std::int64_t> stage_tokens;
};

/// Stages that a microbatch passes, in order, beginning with 0. All stages from 0 to S - 1: plain LLaMA training.
struct StagePath {
    int microbatch = 0;
    std::vector<int> stages;
};

class WholeModel {
public:
    /// Same starting weights as the nodes of TorchCompute for this seed.
    WholeModel(const ModelSpec& model, const Training& training, const std::vector<int>& blocks, std::uint64_t seed);

    /// Token-summed gradients of these microbatches, one after the other, on the calling thread, added to what is
    /// there.
    void accumulate(const Batches& batches, int iteration, const std::vector<StagePath>& paths);
    /// Adds another copy's sums to this one's.
    void add_gradients_of(const WholeModel& other);
    /// Divides by the tokens of V(s), keeps the result for `gradient`, clips, steps, and clears the sums.
    ReferenceStep step(int iteration);
    /// Takes another copy's weights and optimizer state.
    void copy_state_of(const WholeModel& other);

    /// Of the last step: mean over the tokens of V(s), not clipped.
    const std::vector<float>& gradient(int stage) const { return gradients_[static_cast<std::size_t>(stage)]; }
    std::vector<float> weights(int stage) const;

private:
    Training training_;
    std::vector<Stage> stages_;
    std::vector<torch::Tensor> m_, v_;
    std::vector<long long> steps_;
    std::vector<std::vector<float>> gradients_;
    ReferenceStep sums_;
};

}  // namespace skippipe
