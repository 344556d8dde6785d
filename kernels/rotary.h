// SPDX-License-Identifier: GPL-3.0-or-later
// Rotary position embedding of queries and keys, in place on the result of the qkv product: fp32 [rows, 3, heads,
// head_width], of which pairs (0, 1), (2, 3) ... are turned by position * base^(-2 pair / head_width). Row r is at
// position r mod sequence.
#pragma once
#include <cstddef>

namespace skippipe::kernels {

struct RotaryShape {
    std::size_t sequence = 0, heads = 0, head_width = 0;  ///< head_width is even
};

inline std::size_t rotary_table_size(const RotaryShape& shape) { return 2 * shape.sequence * shape.head_width; }

/// Cosines and signed sines for each position: fp32 [sequence, 2, head_width].
void fill_rotary_table(float* table, const RotaryShape& shape, double base) noexcept;

/// Turns queries and keys; queries are multiplied by `query_scale` too.
void rotary(float* qkv, const float* table, std::size_t rows, const RotaryShape& shape, float query_scale) noexcept;

/// From the gradient of the turned values to that of the values before, in place.
void rotary_backward(float* qkv_gradient, const float* table, std::size_t rows, const RotaryShape& shape,
                     float query_scale) noexcept;

}  // namespace skippipe::kernels
