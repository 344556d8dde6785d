// SPDX-License-Identifier: GPL-3.0-or-later
// A stage on the CPU in fp32 with its backward written out: matrix products through LibTorch, all else fused
// (kernels/), values kept for the backward in one buffer a microbatch. The same function and gradients as Stage's own,
// which runs on other devices and is what this is tested against.
#pragma once
#include <cstdint>
#include <vector>

#include "core/model/llama.h"

namespace skippipe {

/// Floats that the forward of a microbatch keeps for its backward, the stage's input apart: per token and block the
/// block's input (not of the first), q, k, v, the attention's result and log-sums, the residual between, and SwiGLU's
/// input: (6 D + 2 F + H) - D / blocks.
std::int64_t activation_floats(const ModelSpec& model, int blocks, std::int64_t tokens);

/// Floats kept besides from the input gradient to the weight gradient of a split backward: 4 D + F a token and block.
std::int64_t split_floats(const ModelSpec& model, int blocks, std::int64_t tokens);

class FusedStage {
public:
    /// Works on the stage's weights and gradients where they are; the stage outlives it.
    FusedStage(Stage& stage, const ModelSpec& model, ProductType products = ProductType::fp32);

    int blocks() const { return blocks_; }

    /// Tokens (int64 [n]) to activations [n, width].
    void embed(float* x, const std::int64_t* tokens, std::int64_t n) const;
    /// Adds the gradient of embedded tokens.
    void embed_backward(const float* dx, const std::int64_t* tokens, std::int64_t n);

    /// Scratch memory of the calling thread for `kept` of n tokens, until the stage's backward.
    float* recomputed(std::int64_t n) const;
    /// The blocks: x [n, width] to out. `kept`: activation_floats for the backward, or null. `out` null: only `kept` is
    /// wanted.
    void forward(float* out, const float* x, float* kept, std::int64_t n) const;
    /// From the gradient dy of `out` to dx of x, and the weights' gradients, added up. What `kept` holds is used up. dx
    /// may be null.
    void backward(float* dx, const float* dy, const float* x, float* kept, std::int64_t n);
    /// The same in two steps: `between` (split_floats) is filled by the first. Everything else stays as it is until the
    /// second.
    void input_gradient(float* dx, const float* dy, const float* x, float* kept, float* between, std::int64_t n) const;
    void weight_gradient(const float* dy, const float* kept, const float* between, std::int64_t n);

    /// Final norm, head and cross-entropy summed over the tokens, in nats.
    double loss(const float* x, const std::int64_t* targets, std::int64_t n) const;
    /// The same, with dx of x and the weights' gradients.
    double loss_backward(float* dx, const float* x, const std::int64_t* targets, std::int64_t n);

private:
    struct Tensors {
        float *attention_norm, *qkv, *attention_out, *ffn_norm, *gate_up, *down;
    };
    struct Head {
        float *embedding, *final_norm, *head;
    };
    struct Kept;
    struct Between;
    Kept kept_of(float* kept, int block, std::int64_t n) const;
    Between between_of(float* between, int block, std::int64_t n) const;
    void attend(float* out, float* log_sums, const float* qkv, std::int64_t n) const;
    void attend_backward(float* qkv, const float* dout, const float* out, const float* log_sums, std::int64_t n) const;
    void block_input_gradient(int block, float* dx, const float* dy, const float* x, const Kept& kept,
                              const Between& between, std::int64_t n) const;
    void block_weight_gradient(int block, const float* dy, const Kept& kept, const Between& between, std::int64_t n);
    double head_pass(float* dx, const float* x, const std::int64_t* targets, std::int64_t n, bool backward) const;

    ProductType products_;
    std::int64_t width_, hidden_, heads_, sequence_, vocabulary_, head_rows_;
    int blocks_;
    std::vector<Tensors> weights_, gradients_;
    Head head_{}, head_gradient_{};
    std::vector<float> rotary_table_;
};

}  // namespace skippipe
