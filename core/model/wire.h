// SPDX-License-Identifier: GPL-3.0-or-later
// Activations and gradients as they travel. A message is [rows, width] fp32 values, a row a token:
// fp32 as they are; bf16 rounded to nearest, ties to even; int8 with a scale a row: fp32 scales [rows], then int8
// [rows, width], value = scale x int8, scale = largest |value| of the row / 127. All in the machine's byte order
// (little-endian).
#pragma once
#include <cstddef>
#include <cstdint>

#include "core/experiment/model_size.h"

namespace skippipe {

/// `to` and `from` hold wire_bytes (core/experiment). Error feedback: where `residual` [rows, width] is given, it is
/// added to the values before they are rounded, and holds afterwards what rounding took away, for the next message of
/// its kind; zeros at first. A row with a value that is no finite number decodes to such.
void encode(std::byte* to, const float* values, std::int64_t rows, std::int64_t width, WireType wire,
            float* residual = nullptr);

void decode(float* values, const std::byte* from, std::int64_t rows, std::int64_t width, WireType wire);

/// The same of `size` values of a gradient, in gradient_wire_bytes. int8: rows of gradient_row consecutive values, the
/// last may be shorter; first their scales (bf16: largest |value| of the row / 127^2, rounded up), then the values,
/// value = scale x int8 x |int8|.
void encode_gradient(std::byte* to, const float* values, std::int64_t size, WireType wire, float* residual = nullptr);
void decode_gradient(float* values, const std::byte* from, std::int64_t size, WireType wire);

}  // namespace skippipe
