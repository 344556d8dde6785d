// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/rotary.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rotary.cpp"
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;

#if HWY_TARGET != HWY_SCALAR  // which has no pairs
template <class D>
HWY_INLINE void turn_lanes(D d, float* x, const float* cosines, const float* sines, float scale, float direction) {
    const auto v = hn::LoadU(d, x);
    const auto swapped = hn::Shuffle2301(v);
    const auto turned =
        hn::MulAdd(hn::Mul(swapped, hn::LoadU(d, sines)), hn::Set(d, direction), hn::Mul(v, hn::LoadU(d, cosines)));
    hn::StoreU(hn::Mul(turned, hn::Set(d, scale)), d, x);
}
#endif

void turn_head(float* x, const float* table, std::size_t head_width, float scale, float direction) {
    const float* sines = table + head_width;
    std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const std::size_t lanes = hn::Lanes(Wide());
    for (; i + lanes <= head_width; i += lanes) turn_lanes(Wide(), x + i, table + i, sines + i, scale, direction);
#endif
    for (; i < head_width; i += 2) {
        const float a = x[i], b = x[i + 1];
        x[i] = (b * sines[i] * direction + a * table[i]) * scale;
        x[i + 1] = (a * sines[i + 1] * direction + b * table[i + 1]) * scale;
    }
}

/// `direction` 1 turns forth, -1 back.
void Turn(float* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale,
          float direction) {
    const std::size_t width = shape.heads * shape.head_width;
    for (std::size_t row = 0; row < rows; ++row, qkv += 3 * width) {
        const float* at = table + row % shape.sequence * 2 * shape.head_width;
        for (std::size_t head = 0; head < shape.heads; ++head) {
            turn_head(qkv + head * shape.head_width, at, shape.head_width, query_scale, direction);
            turn_head(qkv + width + head * shape.head_width, at, shape.head_width, 1, direction);
        }
    }
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(Turn);

void fill_rotary_table(float* table, const RotaryShape& shape, double base) noexcept {
    for (std::size_t position = 0; position < shape.sequence; ++position) {
        float *cosines = table + position * 2 * shape.head_width, *sines = cosines + shape.head_width;
        for (std::size_t i = 0; i < shape.head_width; i += 2) {
            const double angle = static_cast<double>(position) *
                                 std::pow(base, -static_cast<double>(i) / static_cast<double>(shape.head_width));
            cosines[i] = cosines[i + 1] = static_cast<float>(std::cos(angle));
            sines[i + 1] = static_cast<float>(std::sin(angle));
            sines[i] = -sines[i + 1];
        }
    }
}

void rotary(float* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale) noexcept {
    HWY_DYNAMIC_DISPATCH(Turn)(qkv, table, rows, shape, query_scale, 1);
}

void rotary_backward(float* qkv_gradient, const float* table, std::size_t rows, const RotaryShape& shape,
                     float query_scale) noexcept {
    HWY_DYNAMIC_DISPATCH(Turn)(qkv_gradient, table, rows, shape, query_scale, -1);
}

}  // namespace skippipe::kernels
#endif
