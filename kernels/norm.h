// SPDX-License-Identifier: GPL-3.0-or-later
// RMSNorm of rows: normed = x / sqrt(mean(x^2) + epsilon) * weight. All matrices are fp32 [rows, width], rows one after
// the other. Sums are taken in an order that depends on the processor's vector width, never on threads. Arrays that are
// written do not overlap others.
#pragma once
#include <cstddef>

namespace skippipe::kernels {

void rms_norm(float* normed, const float* x, const float* weight, std::size_t rows, std::size_t width,
              float epsilon) noexcept;

/// sum += x, then the norm of sum: a residual connection and what follows it in one pass.
void add_rms_norm(float* normed, float* sum, const float* x, const float* weight, std::size_t rows, std::size_t width,
                  float epsilon) noexcept;

/// `gradient` comes in as the gradient of the normed values and goes out as the normed values themselves (the weight
/// gradient of the product behind them needs those). dx = residual + the norm's input gradient; weight_gradient [width]
/// is added to.
void rms_norm_backward(float* dx, float* gradient, float* weight_gradient, const float* residual, const float* x,
                       const float* weight, std::size_t rows, std::size_t width, float epsilon) noexcept;

}  // namespace skippipe::kernels
