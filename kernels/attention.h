// SPDX-License-Identifier: GPL-3.0-or-later
// Causal self-attention of one sample, tile by tile of queries: scores and probabilities never leave the cache, and
// what lies above the diagonal is not computed. The backward computes the probabilities again from the rows' log-sums.
#pragma once
#include <cstddef>

namespace skippipe::kernels {

struct AttentionShape {
    std::size_t sequence = 0, heads = 0, head_width = 0;
};

/// Floats of scratch memory that both directions need.
std::size_t attention_workspace(const AttentionShape& shape) noexcept;

/// `qkv` fp32 [sequence, 3, heads, head_width], queries scaled already. out [sequence, heads, head_width] = softmax(q
/// k^T) v over the positions up to each row's own; log_sums [heads, sequence] = log(sum(e^score)), for the backward.
void causal_attention(float* out, float* log_sums, const float* qkv, const AttentionShape& shape,
                      float* workspace) noexcept;

/// `qkv` goes out as its gradient. `out` and `log_sums` are the forward's.
void causal_attention_backward(float* qkv, const float* out_gradient, const float* out, const float* log_sums,
                               const AttentionShape& shape, float* workspace) noexcept;

}  // namespace skippipe::kernels
