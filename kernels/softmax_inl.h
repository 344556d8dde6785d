// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of a softmax, for the kernels that need one; compiled once for each kind of processor by the file that includes
// it.
#if defined(SKIPPIPE_KERNELS_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPPIPE_KERNELS_SOFTMAX_INL
#undef SKIPPIPE_KERNELS_SOFTMAX_INL
#else
#define SKIPPIPE_KERNELS_SOFTMAX_INL
#endif

#include <cmath>
#include <cstddef>

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Wide = hn::ScalableTag<float>;
using One = hn::CappedTag<float, 1>;

/// Largest of n >= 1 values.
HWY_INLINE float row_maximum(const float* x, std::size_t n) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    float largest = x[0];
    std::size_t i = 0;
    if (n >= lanes) {
        auto most = hn::LoadU(d, x);
        for (i = lanes; i + lanes <= n; i += lanes) most = hn::Max(most, hn::LoadU(d, x + i));
        largest = hn::GetLane(hn::MaxOfLanes(d, most));
    }
    for (; i < n; ++i) largest = largest < x[i] ? x[i] : largest;
    return largest;
}

/// x[i] becomes e^(x[i] - shift); returns their sum.
HWY_INLINE float exponentials(float* x, std::size_t n, float shift) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    auto sums = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const auto e = hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, shift)));
        sums = hn::Add(sums, e);
        hn::StoreU(e, d, x + i);
    }
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    const One one;
    for (; i < n; ++i) {
        x[i] = hn::GetLane(hn::Exp(one, hn::Set(one, x[i] - shift)));
        sum += x[i];
    }
    return sum;
}

HWY_INLINE void scale_row(float* x, std::size_t n, float factor) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Mul(hn::LoadU(d, x + i), hn::Set(d, factor)), d, x + i);
    for (; i < n; ++i) x[i] *= factor;
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
