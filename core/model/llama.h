// SPDX-License-Identifier: GPL-3.0-or-later
// The decoder-only LLaMA, cut into stages of consecutive blocks. Stage 0 also has the embedding, the final norm and the
// head.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <torch/types.h>

#include "core/data/llama_file.h"
#include "core/experiment/document.h"

namespace skippipe {

/// A tensor's place in a stage's flat storage. Matrices are [input, output]: y = x W.
struct Segment {
    std::string name;  ///< "block0.qkv"
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0;  ///< elements
    double deviation = 0;     ///< of the normal distribution it starts from; 0: starts as ones
    std::int64_t size() const;
    bool decays() const { return shape.size() == 2; }  ///< weight decay is for matrices
};

/// Tensors of a stage, matrices before norms, so that weight decay concerns one range.
std::vector<Segment> stage_segments(const ModelSpec& model, int stage, int blocks);

class Stage;

/// Another stage's weights, on the CPU, and the share they have in a mean.
struct BlockSource {
    std::vector<Segment> segments;
    int blocks = 1;
    double share = 1;
    torch::Tensor weights;  ///< flat
};
/// Weights of a stage's blocks become the mean of those of other stages, by their shares; block i of n takes the one at
/// i / n of each. What is not in a block (embedding, head) stays.
void mean_blocks(Stage& stage, const std::vector<BlockSource>& sources);

/// "cpu", "cuda", "cuda:1" to a device that is there. Throws InputError naming `pointer`.
torch::Device parse_device(const std::string& name, const std::string& pointer);

/// One node's copy of a stage: one flat tensor of weights, one of gradients; what the layers use are views of them, so
/// that backward adds up in place and reductions and steps are over a few large arrays.
class Stage {
public:
    /// `products`: the type of matrix products, bf16 with sums in fp32; weights, gradients and all else are fp32.
    Stage(const ModelSpec& model, int stage, int blocks, torch::Device device,
          ProductType products = ProductType::fp32);

    /// Starting weights: the same for every copy, a stream of their own for each (seed, stage, tensor).
    void initialise(std::uint64_t seed);

    /// Stage 0: tokens (int64 [n]) to activations [n, width].
    torch::Tensor embed(const torch::Tensor& tokens) const;
    /// The blocks: [n, width] to [n, width], n = samples x sequence.
    torch::Tensor forward(const torch::Tensor& x) const;
    /// Stage 0: final norm, head and cross entropy, summed over the tokens (nats).
    torch::Tensor loss_sum(const torch::Tensor& x, const torch::Tensor& targets) const;

    /// The same by pieces of `head_tokens()`, so that never all logits are in memory; a float64 on the stage's device,
    /// and whoever reads it waits.
    torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& targets) const;
    /// And backward: gradients of the head's weights are added up, that of `x` goes into `dx`, [n, width] both.
    torch::Tensor loss_backward(torch::Tensor& dx, const torch::Tensor& x, const torch::Tensor& targets) const;
    /// Tokens whose logits are in memory at once: 2^24 of these, but 256 tokens at the least, so that matrix products
    /// fill a GPU.
    std::int64_t head_tokens() const;

    /// What `embed` and `forward` use, and what `loss_sum` uses.
    std::vector<torch::Tensor> body_tensors() const;
    std::vector<torch::Tensor> head_tensors() const { return {final_norm_, head_}; }

    int stage() const { return stage_; }
    int blocks() const { return static_cast<int>(blocks_.size()); }
    torch::Device device() const { return device_; }
    torch::Tensor& weights() { return weights_; }
    const torch::Tensor& weights() const { return weights_; }
    torch::Tensor& gradient() { return gradient_; }
    const torch::Tensor& gradient() const { return gradient_; }
    std::int64_t size() const { return weights_.numel(); }
    std::int64_t decayed_size() const { return decayed_; }  ///< elements [0, decayed_size) have weight decay
    const std::vector<Segment>& segments() const { return segments_; }

private:
    struct Block {
        torch::Tensor attention_norm, qkv, attention_out, ffn_norm, gate_up, down;
    };
    torch::Tensor product(const torch::Tensor& x, const torch::Tensor& weights) const;
    torch::Tensor attend(const torch::Tensor& query, const torch::Tensor& key, const torch::Tensor& value) const;
    torch::Tensor attention(const Block& block, const torch::Tensor& x) const;
    torch::Tensor grouped_attention(const Block& block, const torch::Tensor& x) const;

    std::vector<Segment> segments_;
    int stage_, sequence_, heads_, kv_heads_;
    torch::Device device_;
    ProductType products_;
    std::int64_t decayed_ = 0;
    torch::Tensor weights_, gradient_;
    torch::Tensor embedding_, final_norm_, head_;  ///< stage 0 only
    std::vector<Block> blocks_;
    torch::Tensor rotation_;  ///< e^(i position frequency) [sequence, 2, 1, pairs], queries scaled
};

}  // namespace skippipe
