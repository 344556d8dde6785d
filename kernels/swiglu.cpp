// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/swiglu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/swiglu.cpp"
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

template <class D, class V>
HWY_INLINE V sigmoid(D d, V x) {
    const auto one = hn::Set(d, 1.0f),
               limit = hn::Set(d, 85.0f);  // e^85 is still a number, and Exp has no answer beyond
    return hn::Div(one, hn::Add(one, hn::Exp(d, hn::Min(hn::Neg(x), limit))));
}

template <class D>
HWY_INLINE void forward_lanes(D d, float* out, const float* gate, const float* up) {
    const auto g = hn::LoadU(d, gate);
    hn::StoreU(hn::Mul(hn::Mul(g, sigmoid(d, g)), hn::LoadU(d, up)), d, out);
}

template <class D>
HWY_INLINE void backward_lanes(D d, float* gate, float* up, float* gradient) {
    const auto g = hn::LoadU(d, gate), u = hn::LoadU(d, up), dy = hn::LoadU(d, gradient);
    const auto s = sigmoid(d, g);
    const auto silu = hn::Mul(g, s);
    const auto slope = hn::MulAdd(silu, hn::Sub(hn::Set(d, 1.0f), s), s);  // s + g s (1 - s)
    hn::StoreU(hn::Mul(hn::Mul(dy, u), slope), d, gate);
    hn::StoreU(hn::Mul(dy, silu), d, up);
    hn::StoreU(hn::Mul(silu, u), d, gradient);
}

void Forward(float* out, const float* gate_up, std::size_t rows, std::size_t hidden) {
    const std::size_t lanes = hn::Lanes(Wide());
    for (std::size_t row = 0; row < rows; ++row, out += hidden, gate_up += 2 * hidden) {
        std::size_t i = 0;
        for (; i + lanes <= hidden; i += lanes) forward_lanes(Wide(), out + i, gate_up + i, gate_up + hidden + i);
        for (; i < hidden; ++i) forward_lanes(One(), out + i, gate_up + i, gate_up + hidden + i);
    }
}

void Backward(float* gate_up, float* gradient, std::size_t rows, std::size_t hidden) {
    const std::size_t lanes = hn::Lanes(Wide());
    for (std::size_t row = 0; row < rows; ++row, gradient += hidden, gate_up += 2 * hidden) {
        std::size_t i = 0;
        for (; i + lanes <= hidden; i += lanes) backward_lanes(Wide(), gate_up + i, gate_up + hidden + i, gradient + i);
        for (; i < hidden; ++i) backward_lanes(One(), gate_up + i, gate_up + hidden + i, gradient + i);
    }
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(Forward);
HWY_EXPORT(Backward);

void swiglu(float* out, const float* gate_up, std::size_t rows, std::size_t hidden) noexcept {
    HWY_DYNAMIC_DISPATCH(Forward)(out, gate_up, rows, hidden);
}

void swiglu_backward(float* gate_up, float* gradient, std::size_t rows, std::size_t hidden) noexcept {
    HWY_DYNAMIC_DISPATCH(Backward)(gate_up, gradient, rows, hidden);
}

}  // namespace skippipe::kernels
#endif
