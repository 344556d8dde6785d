// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/vector.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/vector.cpp"
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include <cmath>

#include <hwy/highway.h>

// Products and sums are rounded one by one, not fused: the same bits on every kind of processor.
HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

/// `work(tag, i)` for all of 0..n-1, as many at once as fit.
template <class Work>
HWY_INLINE void for_lanes(std::size_t n, Work work) {
    const std::size_t lanes = hn::Lanes(Wide());
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) work(Wide(), i);
    for (; i < n; ++i) work(One(), i);
}

/// AdamW's numbers as the loop needs them.
struct StepNumbers {
    explicit StepNumbers(const AdamW& p)
        : beta1(static_cast<float>(p.beta1)),
          beta2(static_cast<float>(p.beta2)),
          rest1(static_cast<float>(1 - p.beta1)),
          rest2(static_cast<float>(1 - p.beta2)),
          step_size(static_cast<float>(p.learning_rate / (1 - std::pow(p.beta1, static_cast<double>(p.step))))),
          root_correction(static_cast<float>(1 / std::sqrt(1 - std::pow(p.beta2, static_cast<double>(p.step))))),
          keep(static_cast<float>(1 - p.learning_rate * p.weight_decay)),
          epsilon(static_cast<float>(p.epsilon)),
          gradient_scale(static_cast<float>(p.gradient_scale)) {}
    float beta1, beta2, rest1, rest2, step_size, root_correction, keep, epsilon, gradient_scale;
};

template <class D>
HWY_INLINE void step_lanes(D d, float* weights, const float* gradient, float* m, float* v, const StepNumbers& p) {
    const auto times = [d](float factor, auto x) { return hn::Mul(hn::Set(d, factor), x); };
    const auto g = times(p.gradient_scale, hn::LoadU(d, gradient));
    const auto mean = hn::Add(times(p.beta1, hn::LoadU(d, m)), times(p.rest1, g));
    const auto square = hn::Add(times(p.beta2, hn::LoadU(d, v)), hn::Mul(times(p.rest2, g), g));
    hn::StoreU(mean, d, m);
    hn::StoreU(square, d, v);
    const auto root = hn::Add(times(p.root_correction, hn::Sqrt(square)), hn::Set(d, p.epsilon));
    hn::StoreU(hn::Sub(times(p.keep, hn::LoadU(d, weights)), hn::Div(times(p.step_size, mean), root)), d, weights);
}

void Step(float* weights, const float* gradient, float* m, float* v, std::size_t n, const AdamW& parameters) {
    const StepNumbers p(parameters);
    for_lanes(n, [&](auto d, std::size_t i) { step_lanes(d, weights + i, gradient + i, m + i, v + i, p); });
}

void SumInto(float* to, const float* from, std::size_t n) {
    for_lanes(n, [&](auto d, std::size_t i) {
        hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, from + i)), d, to + i);
    });
}

void Scale(float* x, float factor, std::size_t n) {
    for_lanes(n,
              [&](auto d, std::size_t i) { hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i); });
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(Step);
HWY_EXPORT(SumInto);
HWY_EXPORT(Scale);

void sum_into(float* to, const float* from, std::size_t n) noexcept { HWY_DYNAMIC_DISPATCH(SumInto)(to, from, n); }

void scale(float* x, float factor, std::size_t n) noexcept { HWY_DYNAMIC_DISPATCH(Scale)(x, factor, n); }

double sum_of_squares(const float* __restrict x, std::size_t n) noexcept {
    constexpr std::size_t lanes = 8;
    double sums[lanes]{};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += static_cast<double>(x[i + lane]) * x[i + lane];
    for (; i < n; ++i) sums[i % lanes] += static_cast<double>(x[i]) * x[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void adamw(float* weights, const float* gradient, float* m, float* v, std::size_t n, const AdamW& parameters) noexcept {
    HWY_DYNAMIC_DISPATCH(Step)(weights, gradient, m, v, n, parameters);
}

void adamw_reference(double* weights, const double* gradient, double* m, double* v, std::size_t n,
                     const AdamW& parameters) noexcept {
    const auto step = static_cast<double>(parameters.step);
    for (std::size_t i = 0; i < n; ++i) {
        const double g = gradient[i] * parameters.gradient_scale;
        m[i] = parameters.beta1 * m[i] + (1 - parameters.beta1) * g;
        v[i] = parameters.beta2 * v[i] + (1 - parameters.beta2) * g * g;
        const double mean = m[i] / (1 - std::pow(parameters.beta1, step));
        const double variance = v[i] / (1 - std::pow(parameters.beta2, step));
        weights[i] -= parameters.learning_rate *
                      (mean / (std::sqrt(variance) + parameters.epsilon) + parameters.weight_decay * weights[i]);
    }
}

}  // namespace skippipe::kernels
#endif
