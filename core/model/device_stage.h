// SPDX-License-Identifier: GPL-3.0-or-later
// A stage on a device in bf16, its backward written out: matrix products and attention through LibTorch, all else
// kernels of our own. Weights, gradients, sums and what goes from block to block (the residual stream and its gradient)
// are fp32; what products read and write is bf16. The same function and gradients as Stage's own operations with
// autograd, which it is tested against.
#pragma once
#include <cstdint>
#include <vector>

#include "core/experiment/document.h"
#include "core/model/device_attention.h"
#include "core/model/device_kernels.h"
#include "core/model/llama.h"

namespace skippipe {

/// What a block of a microbatch keeps: from the forward on what comes first, from the input gradient to the weight
/// gradient the rest.
struct DeviceBlock {
    torch::Tensor x, middle;                      ///< fp32 [n, width]: the input, and between attention and SwiGLU
    torch::Tensor input_factors, middle_factors;  ///< fp32 [n], of the norms
    torch::Tensor qkv;                            ///< [n, 3 width], turned; then its gradient
    torch::Tensor attended, gate_up;              ///< [n, width] and [n, 2 hidden]; gate_up then is its gradient
    AttentionKept attention;

    torch::Tensor output_gradient, middle_gradient;  ///< [n, width]
    torch::Tensor hidden, ffn_normed, attention_normed;
    torch::Tensor norm_gradients;  ///< fp32 [2, width]
};
using DeviceKept = std::vector<DeviceBlock>;

class DeviceStage {
public:
    /// Works on the stage's weights and gradients where they are; the kernels outlive it.
    /// `most_logits`: values of logits that are in memory at once, but a token's at the least.
    DeviceStage(Stage& stage, const ModelSpec& model, const DeviceKernels& kernels,
                std::int64_t most_logits = std::int64_t{1} << 26);

    /// Whether such a stage can be: bf16 products, as many heads of keys as of queries, widths of heads that attention
    /// takes.
    static bool fits(const ModelSpec& model, ProductType products);

    const DeviceKernels& kernels() const { return *kernels_; }
    int blocks() const { return static_cast<int>(weights_.size()); }

    /// The weights that products read, rounded anew where the stage's have changed. Before what may run at the same
    /// time: afterwards nothing is written but gradients.
    void refresh();

    /// The blocks: x fp32 [n, width] to the same. `kept`, where given, is what a backward needs.
    torch::Tensor forward(const torch::Tensor& x, DeviceKept* kept) const;
    /// From the gradient of the result to that of x; gradients of weights are added up. `kept` is used up.
    torch::Tensor backward(const torch::Tensor& gradient, DeviceKept& kept);
    /// The same in two steps.
    torch::Tensor input_gradient(const torch::Tensor& gradient, DeviceKept& kept) const;
    void weight_gradient(DeviceKept& kept);
    /// Adds the gradient of embedded tokens (int64 [n]).
    void embed_backward(const torch::Tensor& gradient, const torch::Tensor& tokens);

    /// Final norm, head and cross-entropy summed over the tokens, nats: float64 on the device, and whoever reads it
    /// waits.
    torch::Tensor loss(const torch::Tensor& x, const torch::Tensor& targets) const;
    /// The same, with the gradient of x into dx, and the weights'.
    torch::Tensor loss_backward(torch::Tensor& dx, const torch::Tensor& x, const torch::Tensor& targets);

private:
    struct Weights {
        torch::Tensor attention_norm, ffn_norm;           ///< fp32
        torch::Tensor qkv, attention_out, gate_up, down;  ///< rounded
    };
    struct Gradients {
        torch::Tensor attention_norm, ffn_norm, qkv, attention_out, gate_up, down;
    };
    torch::Tensor rounded(const torch::Tensor& x) const;
    /// Where `added` is given, sum = x + added comes first, and the norm is that of sum.
    void norm(torch::Tensor& normed, torch::Tensor& factors, const torch::Tensor& x, const torch::Tensor& weight,
              const torch::Tensor& sum = {}, const torch::Tensor& added = {}) const;
    /// dx = residual + the norm's input gradient, and rounded into dx_rounded where that is defined.
    void norm_backward(torch::Tensor& dx, torch::Tensor& dx_rounded, torch::Tensor& gradient,
                       torch::Tensor weight_gradient, const torch::Tensor& residual, const torch::Tensor& x,
                       const torch::Tensor& weight, const torch::Tensor& factors) const;
    void add_product(torch::Tensor& sum, const torch::Tensor& left, const torch::Tensor& right) const;
    kernels::RotaryShape turn() const;
    float query_scale() const;
    torch::Tensor block_input_gradient(int block, const torch::Tensor& gradient, DeviceKept& kept) const;
    void block_weight_gradient(int block, DeviceBlock& kept);
    torch::Tensor head_pass(torch::Tensor* dx, const torch::Tensor& x, const torch::Tensor& targets) const;

    const DeviceKernels* kernels_;
    std::int64_t width_, hidden_, heads_, sequence_, vocabulary_, most_logits_;
    torch::Tensor exact_, working_;  ///< the stage's weights, flat, and rounded
    std::int64_t version_ = -1;
    std::vector<Weights> weights_;
    std::vector<Gradients> gradients_;
    torch::Tensor head_, final_norm_, embedding_gradient_, head_gradient_, final_norm_gradient_;
    torch::Tensor rotary_table_;  ///< [2, sequence, head width / 2]
};

}  // namespace skippipe
