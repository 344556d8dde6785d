// SPDX-License-Identifier: GPL-3.0-or-later
// Causal attention on a device, forward and backward apart, in bf16.
#pragma once
#include <cstdint>
#include <tuple>

#include "core/model/torch_compat.h"

namespace skippipe {

struct AttentionShape {
    std::int64_t sequence, heads;
};

/// What the forward leaves for the backward: no [T, T] scores where LibTorch has an attention without; `out` alone
/// else.
using AttentionKept = FusedAttention;

/// qkv [n, 3, heads, head width], turned, queries scaled, to [n, width].
torch::Tensor device_attention(const torch::Tensor& qkv, const AttentionShape& shape, AttentionKept* kept);
/// Gradients of query, key and value, [n, width] each, from that of the result.
std::tuple<torch::Tensor, torch::Tensor, torch::Tensor> device_attention_backward(const torch::Tensor& gradient,
                                                                                  const torch::Tensor& qkv,
                                                                                  const AttentionShape& shape,
                                                                                  const AttentionKept& kept);

}  // namespace skippipe
