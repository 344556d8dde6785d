// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>

namespace skippipe::kernels {

/// Softmax and cross-entropy with the gradient in one pass. `logits` fp32 [rows, vocabulary] go out as the gradient of
/// the sum of the losses: softmax - one-hot. `targets` in [0, vocabulary). Returns the summed loss in nats, added up in
/// double, row by row.
double softmax_cross_entropy(float* logits, const std::int64_t* targets, std::size_t rows,
                             std::size_t vocabulary) noexcept;

/// The loss alone; `logits` are overwritten.
double cross_entropy(float* logits, const std::int64_t* targets, std::size_t rows, std::size_t vocabulary) noexcept;

}  // namespace skippipe::kernels
