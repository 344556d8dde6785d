// SPDX-License-Identifier: GPL-3.0-or-later
// Causal attention on a device, forward and backward apart, in bf16.
#pragma once
#include <cstdint>
#include <tuple>

#include <torch/types.h>

namespace skippipe {

struct AttentionShape {
    std::int64_t sequence, heads;
};

/// What the forward leaves for the backward. No [T, T] scores where LibTorch has an attention without (2.1 and later).
struct AttentionKept {
    torch::Tensor out;  ///< [samples, heads, sequence, head width]
    torch::Tensor log_sums, first_query, first_key, random_state, random_offset;
};

/// qkv [n, 3, heads, head width], turned, queries scaled, to [n, width].
torch::Tensor device_attention(const torch::Tensor& qkv, const AttentionShape& shape, AttentionKept* kept);
/// Gradients of query, key and value, [n, width] each, from that of the result.
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> device_attention_backward(const torch::Tensor& gradient,
                                                                                  const torch::Tensor& qkv,
                                                                                  const AttentionShape& shape,
                                                                                  const AttentionKept& kept);

}  // namespace skippipe
