// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/norm.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm.cpp"
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

float inverse_rms(float squares, std::size_t width, float epsilon) {
    return 1 / std::sqrt(squares / static_cast<float>(width) + epsilon);
}

float sum_of_row_squares(const float* x, std::size_t width) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    auto even = hn::Zero(d), odd = hn::Zero(d);
    std::size_t i = 0;
    for (; i + 2 * lanes <= width; i += 2 * lanes) {
        const auto a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + i + lanes);
        even = hn::MulAdd(a, a, even);
        odd = hn::MulAdd(b, b, odd);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(even, odd)));
    for (; i < width; ++i) sum += x[i] * x[i];
    return sum;
}

template <class D>
HWY_INLINE void norm_lanes(D d, float* normed, const float* x, const float* weight, float factor) {
    hn::StoreU(hn::Mul(hn::Mul(hn::LoadU(d, x), hn::Set(d, factor)), hn::LoadU(d, weight)), d, normed);
}

void norm_row(float* normed, const float* x, const float* weight, std::size_t width, float epsilon) {
    const float factor = inverse_rms(sum_of_row_squares(x, width), width, epsilon);
    const std::size_t lanes = hn::Lanes(Wide());
    std::size_t i = 0;
    for (; i + lanes <= width; i += lanes) norm_lanes(Wide(), normed + i, x + i, weight + i, factor);
    for (; i < width; ++i) norm_lanes(One(), normed + i, x + i, weight + i, factor);
}

void Norm(float* normed, const float* x, const float* weight, std::size_t rows, std::size_t width, float epsilon) {
    for (std::size_t row = 0; row < rows; ++row)
        norm_row(normed + row * width, x + row * width, weight, width, epsilon);
}

template <class D>
HWY_INLINE void add_lanes(D d, float* sum, const float* x) {
    hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::LoadU(d, x)), d, sum);
}

void AddNorm(float* normed, float* sum, const float* x, const float* weight, std::size_t rows, std::size_t width,
             float epsilon) {
    const std::size_t lanes = hn::Lanes(Wide());
    for (std::size_t row = 0; row < rows; ++row) {
        float* to = sum + row * width;
        const float* from = x + row * width;
        std::size_t i = 0;
        for (; i + lanes <= width; i += lanes) add_lanes(Wide(), to + i, from + i);
        for (; i < width; ++i) add_lanes(One(), to + i, from + i);
        norm_row(normed + row * width, to, weight, width, epsilon);
    }
}

/// Sum of gradient * weight * x over a row.
float sum_of_products(const float* gradient, const float* weight, const float* x, std::size_t width) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    auto sums = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= width; i += lanes)
        sums = hn::MulAdd(hn::Mul(hn::LoadU(d, gradient + i), hn::LoadU(d, weight + i)), hn::LoadU(d, x + i), sums);
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < width; ++i) sum += gradient[i] * weight[i] * x[i];
    return sum;
}

struct BackwardRow {
    float *dx, *gradient, *weight_gradient;
    const float *residual, *x, *weight;
    float factor, pull;  ///< 1 / rms; factor^3 / width * sum(gradient * weight * x)
};

template <class D>
HWY_INLINE void backward_lanes(D d, const BackwardRow& row, std::size_t i) {
    const auto factor = hn::Set(d, row.factor);
    const auto x = hn::LoadU(d, row.x + i), weight = hn::LoadU(d, row.weight + i),
               gradient = hn::LoadU(d, row.gradient + i);
    const auto scaled = hn::Mul(x, factor);
    hn::StoreU(hn::MulAdd(gradient, scaled, hn::LoadU(d, row.weight_gradient + i)), d, row.weight_gradient + i);
    const auto through = hn::MulAdd(hn::Mul(gradient, weight), factor, hn::LoadU(d, row.residual + i));
    hn::StoreU(hn::NegMulAdd(x, hn::Set(d, row.pull), through), d, row.dx + i);
    hn::StoreU(hn::Mul(scaled, weight), d, row.gradient + i);
}

void NormBackward(float* dx, float* gradient, float* weight_gradient, const float* residual, const float* x,
                  const float* weight, std::size_t rows, std::size_t width, float epsilon) {
    const std::size_t lanes = hn::Lanes(Wide());
    for (std::size_t at = 0; at < rows * width; at += width) {
        const float factor = inverse_rms(sum_of_row_squares(x + at, width), width, epsilon);
        const float pull = factor * factor * factor / static_cast<float>(width) *
                           sum_of_products(gradient + at, weight, x + at, width);
        const BackwardRow row{dx + at, gradient + at, weight_gradient, residual + at, x + at, weight, factor, pull};
        std::size_t i = 0;
        for (; i + lanes <= width; i += lanes) backward_lanes(Wide(), row, i);
        for (; i < width; ++i) backward_lanes(One(), row, i);
    }
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(Norm);
HWY_EXPORT(AddNorm);
HWY_EXPORT(NormBackward);

void rms_norm(float* normed, const float* x, const float* weight, std::size_t rows, std::size_t width,
              float epsilon) noexcept {
    HWY_DYNAMIC_DISPATCH(Norm)(normed, x, weight, rows, width, epsilon);
}

void add_rms_norm(float* normed, float* sum, const float* x, const float* weight, std::size_t rows, std::size_t width,
                  float epsilon) noexcept {
    HWY_DYNAMIC_DISPATCH(AddNorm)(normed, sum, x, weight, rows, width, epsilon);
}

void rms_norm_backward(float* dx, float* gradient, float* weight_gradient, const float* residual, const float* x,
                       const float* weight, std::size_t rows, std::size_t width, float epsilon) noexcept {
    HWY_DYNAMIC_DISPATCH(NormBackward)(dx, gradient, weight_gradient, residual, x, weight, rows, width, epsilon);
}

}  // namespace skippipe::kernels
#endif
