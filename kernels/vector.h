// SPDX-License-Identifier: GPL-3.0-or-later
// Flat fp32 arrays: sums and the optimizer's step. Every result depends on the arrays alone, never on the processor's
// vector width, so that a run gives the same bits wherever it goes on. Arrays do not overlap.
#pragma once
#include <cstddef>

namespace skippipe::kernels {

/// to[i] += from[i].
void sum_into(float* to, const float* from, std::size_t n) noexcept;

/// x[i] *= factor.
void scale(float* x, float factor, std::size_t n) noexcept;

/// Sum of x[i]^2 in double, in an order fixed by n alone.
double sum_of_squares(const float* x, std::size_t n) noexcept;

/// One step of AdamW (Loshchilov and Hutter) with decoupled weight decay.
struct AdamW {
    double learning_rate = 1e-3;
    double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
    double weight_decay = 0.1;
    long long step = 1;         ///< 1 at the first step (bias correction)
    double gradient_scale = 1;  ///< multiplies the gradient, for clipping
};

/// weights, m and v are updated from the gradient.
void adamw(float* weights, const float* gradient, float* m, float* v, std::size_t n, const AdamW& parameters) noexcept;

/// The same in float64, written for reading: what `adamw` is tested against.
void adamw_reference(double* weights, const double* gradient, double* m, double* v, std::size_t n,
                     const AdamW& parameters) noexcept;

}  // namespace skippipe::kernels
