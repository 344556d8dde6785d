// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/vector.h"

#include <cmath>

namespace skippipe::kernels {

void sum_into(float* __restrict to, const float* __restrict from, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) to[i] += from[i];
}

void scale(float* __restrict x, float factor, std::size_t n) noexcept {
    for (std::size_t i = 0; i < n; ++i) x[i] *= factor;
}

double sum_of_squares(const float* __restrict x, std::size_t n) noexcept {
    constexpr std::size_t lanes = 8;
    double sums[lanes]{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
    for (; i < n; ++i) sums[i % lanes] += static_cast<double>(x[i]) * x[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void adamw(float* __restrict weights, const float* __restrict gradient, float* __restrict m, float* __restrict v, std::size_t n,
           const AdamW& parameters) noexcept {
    const auto step = static_cast<double>(parameters.step);
    const auto beta1 = static_cast<float>(parameters.beta1), beta2 = static_cast<float>(parameters.beta2);
    const auto rest1 = static_cast<float>(1 - parameters.beta1), rest2 = static_cast<float>(1 - parameters.beta2);
    const auto step_size = static_cast<float>(parameters.learning_rate / (1 - std::pow(parameters.beta1, step)));
    const auto root_correction = static_cast<float>(1 / std::sqrt(1 - std::pow(parameters.beta2, step)));
    const auto keep = static_cast<float>(1 - parameters.learning_rate * parameters.weight_decay);
    const auto epsilon = static_cast<float>(parameters.epsilon);
    const auto gradient_scale = static_cast<float>(parameters.gradient_scale);
    for (std::size_t i = 0; i < n; ++i) {
        const float g = gradient[i] * gradient_scale;
        m[i] = beta1 * m[i] + rest1 * g;
        v[i] = beta2 * v[i] + rest2 * g * g;
        weights[i] = keep * weights[i] - step_size * m[i] / (std::sqrt(v[i]) * root_correction + epsilon);
    }
}

void adamw_reference(double* weights, const double* gradient, double* m, double* v, std::size_t n, const AdamW& parameters) noexcept {
    const auto step = static_cast<double>(parameters.step);
    for (std::size_t i = 0; i < n; ++i) {
        const double g = gradient[i] * parameters.gradient_scale;
        m[i] = parameters.beta1 * m[i] + (1 - parameters.beta1) * g;
        v[i] = parameters.beta2 * v[i] + (1 - parameters.beta2) * g * g;
        const double mean = m[i] / (1 - std::pow(parameters.beta1, step));
        const double variance = v[i] / (1 - std::pow(parameters.beta2, step));
        weights[i] -= parameters.learning_rate * (mean / (std::sqrt(variance) + parameters.epsilon) + parameters.weight_decay * weights[i]);
    }
}

}  // namespace skippipe::kernels
