// SPDX-License-Identifier: GPL-3.0-or-later
// The CUDA kernels behind plain functions: device pointers, sizes, a stream (a cudaStream_t). Each returns at once; an
// error of the launch is returned as CUDA's own number, 0 where there is none. Matrices are [rows, width]; bf16 values
// are their upper 16 bits. Fastest where widths are multiples of 8 and addresses of 16 bytes. The formulas: rows.h and
// elements.h.
#pragma once
#include "kernels/cuda/elements.h"

namespace skippipe::kernels::cuda {

using device::AdamWStep;
using device::Bf16;
using Stream = void*;

/// Whether CUDA's GPU of that number can run what stands here: sm_80 (Ampere) and later.
bool runs_on(int card);

/// factors [rows], where given, are kept for the way back. Where `added` is given, sum = x + added comes first, and the
/// norm is that of sum, which may be x.
int rms_norm(Bf16* normed, float* factors, float* sum, const float* x, const Bf16* added, const float* weight,
             std::size_t rows, std::size_t width, float epsilon, Stream stream);
/// How many floats rms_norm_backward needs to work in.
std::size_t rms_norm_workspace(std::size_t width);
/// dx = residual (null: none) + the norm's input gradient, `rounded` (may be null) the same; weight_gradient [width] is
/// added to; `gradient` goes out as the normed values. dx may be residual. Rows of at most 8,192 values, 1,024 where
/// their number is no multiple of 8; CUDA's "invalid value" (1) else.
int rms_norm_backward(float* dx, Bf16* rounded, Bf16* gradient, float* weight_gradient, const float* residual,
                      const float* x, const float* weight, const float* factors, std::size_t rows, std::size_t width,
                      float* workspace, Stream stream);
/// losses [rows] in nats; `logits` [rows, vocabulary] go out as the gradient of their sum.
int softmax_cross_entropy(Bf16* logits, float* losses, const std::int64_t* targets, std::size_t rows,
                          std::size_t vocabulary, Stream stream);
/// out [rows, hidden] of gate_up [rows, 2 hidden].
int swiglu(Bf16* out, const Bf16* gate_up, std::size_t rows, std::size_t hidden, Stream stream);
/// `gate_up` goes out as its own gradient, `gradient` as swiglu's result.
int swiglu_backward(Bf16* gate_up, Bf16* gradient, std::size_t rows, std::size_t hidden, Stream stream);
/// In place on qkv [rows, 3, heads, head_width]; table [2, sequence, head_width / 2]: cosines, then sines.
int rotary(Bf16* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale, Stream stream);
/// The gradient of qkv before it was turned, from those of query, key and value [rows, heads, head_width].
int rotary_backward(Bf16* qkv, const Bf16* query, const Bf16* key, const Bf16* value, const float* table,
                    std::size_t rows, const RotaryShape& shape, float query_scale, Stream stream);
/// A stage's n weights at once; `working` [n] (may be null) are the rounded ones that forward and backward use.
int adamw(float* weights, Bf16* working, const float* gradient, float* m, float* v, std::size_t n,
          const AdamWStep& step, Stream stream);
/// to [n] += from.
int accumulate(float* to, const Bf16* from, std::size_t n, Stream stream);
/// to [n] = factor x from, rounded.
int pack(Bf16* to, const float* from, float factor, std::size_t n, Stream stream);
/// scales [rows] and whole numbers of values + residual; what rounding took away stays in residual (may be null).
int encode_int8(std::int8_t* to, float* scales, const float* values, float* residual, std::size_t rows,
                std::size_t width, Stream stream);
/// to += scales x from.
int add_int8(float* to, const std::int8_t* from, const float* scales, std::size_t rows, std::size_t width,
             Stream stream);

}  // namespace skippipe::kernels::cuda
