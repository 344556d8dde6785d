// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels once more in float64, written for reading: what they are tested against. Shapes and arguments as in their
// own headers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/attention.h"
#include "kernels/rotary.h"

namespace skippipe::kernels::reference {

void rms_norm(double* normed, const double* x, const double* weight, std::size_t rows, std::size_t width,
              double epsilon);
/// dx and weight_gradient [width] are written.
void rms_norm_backward(double* dx, double* weight_gradient, const double* gradient, const double* x,
                       const double* weight, std::size_t rows, std::size_t width, double epsilon);

void swiglu(double* out, const double* gate_up, std::size_t rows, std::size_t hidden);
void swiglu_backward(double* gate_up_gradient, const double* gradient, const double* gate_up, std::size_t rows,
                     std::size_t hidden);

/// The summed loss; `gradient` is written, unless null.
double cross_entropy(double* gradient, const double* logits, const std::int64_t* targets, std::size_t rows,
                     std::size_t vocabulary);

/// `back`: the transposed turn, from gradient to gradient.
void rotary(double* qkv, std::size_t rows, const RotaryShape& shape, double base, double query_scale, bool back);

/// log_sums may be null.
void causal_attention(double* out, double* log_sums, const double* qkv, const AttentionShape& shape);
void causal_attention_backward(double* qkv_gradient, const double* out_gradient, const double* qkv,
                               const AttentionShape& shape);

}  // namespace skippipe::kernels::reference
