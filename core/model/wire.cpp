// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/wire.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace skippipe {

namespace {

std::uint16_t to_bf16(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);  // stays a NaN
    return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(std::uint16_t value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

/// Nearest whole number of |x| < 2^22, ties to even; unlike std::nearbyint it becomes vector code everywhere.
float nearest(float x) {
    constexpr float shift = 12582912;  // 1.5 x 2^23: beyond it floats are whole numbers
    return (x + shift) - shift;
}

void encode_bf16(std::uint16_t* to, const float* values, std::int64_t n, float* residual) {
    for (std::int64_t i = 0; i < n; ++i) {
        const float value = residual ? values[i] + residual[i] : values[i];
        to[i] = to_bf16(value);
        if (residual) residual[i] = value - from_bf16(to[i]);
    }
}

float encode_row(std::int8_t* to, const float* values, std::int64_t width, float* residual) {
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < width; ++i) {
        const float size = std::abs(residual ? values[i] + residual[i] : values[i]);
        finite = finite && size <= std::numeric_limits<float>::max();
        largest = std::max(largest, size);
    }
    if (!finite) {
        std::fill(to, to + width, std::int8_t{1});
        if (residual) std::fill(residual, residual + width, 0.0f);
        return std::numeric_limits<float>::quiet_NaN();
    }
    const float scale = largest / 127, inverse = scale > std::numeric_limits<float>::min() ? 1 / scale : 0;
    for (std::int64_t i = 0; i < width; ++i) {
        const float value = residual ? values[i] + residual[i] : values[i];
        const float whole = std::clamp(nearest(value * inverse), -127.0f, 127.0f);
        to[i] = static_cast<std::int8_t>(whole);
        if (residual) residual[i] = value - scale * whole;
    }
    return scale;
}

}  // namespace

void encode(std::byte* to, const float* values, std::int64_t rows, std::int64_t width, WireType wire, float* residual) {
    if (wire == WireType::fp32) return void(std::memcpy(to, values, wire_bytes(wire, rows, width)));
    if (wire == WireType::bf16)
        return encode_bf16(reinterpret_cast<std::uint16_t*>(to), values, rows * width, residual);
    auto* whole = reinterpret_cast<std::int8_t*>(to + 4 * rows);
    for (std::int64_t row = 0; row < rows; ++row) {
        const float scale =
            encode_row(whole + row * width, values + row * width, width, residual ? residual + row * width : nullptr);
        std::memcpy(to + 4 * row, &scale, 4);
    }
}

void decode(float* values, const std::byte* from, std::int64_t rows, std::int64_t width, WireType wire) {
    if (wire == WireType::fp32) return void(std::memcpy(values, from, wire_bytes(wire, rows, width)));
    if (wire == WireType::bf16) {
        const auto* rounded = reinterpret_cast<const std::uint16_t*>(from);
        for (std::int64_t i = 0; i < rows * width; ++i) values[i] = from_bf16(rounded[i]);
        return;
    }
    const auto* whole = reinterpret_cast<const std::int8_t*>(from + 4 * rows);
    for (std::int64_t row = 0; row < rows; ++row) {
        float scale = 0;
        std::memcpy(&scale, from + 4 * row, 4);
        for (std::int64_t i = row * width; i < (row + 1) * width; ++i) values[i] = scale * static_cast<float>(whole[i]);
    }
}

void encode_gradient(std::byte* to, const float* values, std::int64_t size, WireType wire, float* residual) {
    const std::int64_t rows = size / gradient_row, whole = rows * gradient_row;
    encode(to, values, rows, gradient_row, wire, residual);
    if (whole < size)
        encode(to + wire_bytes(wire, rows, gradient_row), values + whole, 1, size - whole, wire,
               residual ? residual + whole : nullptr);
}

void decode_gradient(float* values, const std::byte* from, std::int64_t size, WireType wire) {
    const std::int64_t rows = size / gradient_row, whole = rows * gradient_row;
    decode(values, from, rows, gradient_row, wire);
    if (whole < size) decode(values + whole, from + wire_bytes(wire, rows, gradient_row), 1, size - whole, wire);
}

}  // namespace skippipe
