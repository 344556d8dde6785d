// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/cross_entropy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cross_entropy.cpp"
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include "kernels/softmax_inl.h"

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

double CrossEntropy(float* logits, const std::int64_t* targets, std::size_t rows, std::size_t vocabulary,
                    bool gradient) {
    double loss = 0;
    for (std::size_t row = 0; row < rows; ++row, logits += vocabulary) {
        const auto target = static_cast<std::size_t>(targets[row]);
        const float largest = row_maximum(logits, vocabulary), at_target = logits[target];
        const float sum = exponentials(logits, vocabulary, largest);
        loss += std::log(static_cast<double>(sum)) + largest - at_target;
        if (!gradient) continue;
        scale_row(logits, vocabulary, 1 / sum);
        logits[target] -= 1;
    }
    return loss;
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(CrossEntropy);

double softmax_cross_entropy(float* logits, const std::int64_t* targets, std::size_t rows,
                             std::size_t vocabulary) noexcept {
    return HWY_DYNAMIC_DISPATCH(CrossEntropy)(logits, targets, rows, vocabulary, true);
}

double cross_entropy(float* logits, const std::int64_t* targets, std::size_t rows, std::size_t vocabulary) noexcept {
    return HWY_DYNAMIC_DISPATCH(CrossEntropy)(logits, targets, rows, vocabulary, false);
}

}  // namespace skippipe::kernels
#endif
