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

/// Of values and residuals together; NaN where one is not finite.
float largest_of(const float* values, std::int64_t width, const float* residual) {
    float largest = 0;
    bool finite = true;
    for (std::int64_t i = 0; i < width; ++i) {
        const float size = std::abs(residual ? values[i] + residual[i] : values[i]);
        finite = finite && size <= std::numeric_limits<float>::max();
        largest = std::max(largest, size);
    }
    return finite ? largest : std::numeric_limits<float>::quiet_NaN();
}

/// How many of a row's scales a code q stands for, and the code next to so many: messages.
struct Linear {
    static float scales(float q) { return q; }
    static float code(float scales) { return nearest(scales); }
};
/// Gradients: q |q|, so that small values keep some precision beside large ones, which AdamW needs.
struct Squared {
    static float scales(float q) { return q * std::abs(q); }
    static float code(float scales) { return std::copysign(nearest(std::sqrt(std::abs(scales))), scales); }
};

template <typename Code>
void encode_row(std::int8_t* to, const float* values, std::int64_t width, float* residual, float scale) {
    if (std::isnan(scale)) {
        std::fill(to, to + width, std::int8_t{1});
        if (residual) std::fill(residual, residual + width, 0.0f);
        return;
    }
    const float inverse = scale > std::numeric_limits<float>::min() ? 1 / scale : 0;
    for (std::int64_t i = 0; i < width; ++i) {
        const float value = residual ? values[i] + residual[i] : values[i];
        const float code = std::clamp(Code::code(value * inverse), -127.0f, 127.0f);
        to[i] = static_cast<std::int8_t>(code);
        if (residual) residual[i] = value - scale * Code::scales(code);
    }
}

template <typename Code>
void decode_row(float* values, const std::int8_t* from, std::int64_t width, float scale) {
    for (std::int64_t i = 0; i < width; ++i) values[i] = scale * Code::scales(static_cast<float>(from[i]));
}

/// The least bf16 that is not below a value >= 0, so that a row's largest value still fits.
std::uint16_t bf16_above(float value) {
    if (value != value) return to_bf16(value);
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) + 0xffff) >> 16);
}

/// Calls `row(number, first value, values)` of every row of so many values, the last may be shorter.
template <typename Row>
void each_gradient_row(std::int64_t size, const Row& row) {
    for (std::int64_t begin = 0; begin < size; begin += gradient_row)
        row(begin / gradient_row, begin, std::min(gradient_row, size - begin));
}

}  // namespace

void encode(std::byte* to, const float* values, std::int64_t rows, std::int64_t width, WireType wire, float* residual) {
    if (wire == WireType::fp32) return void(std::memcpy(to, values, wire_bytes(wire, rows, width)));
    if (wire == WireType::bf16)
        return encode_bf16(reinterpret_cast<std::uint16_t*>(to), values, rows * width, residual);
    auto* whole = reinterpret_cast<std::int8_t*>(to + 4 * rows);
    for (std::int64_t row = 0; row < rows; ++row) {
        float* const owed = residual ? residual + row * width : nullptr;
        const float scale = largest_of(values + row * width, width, owed) / 127;
        encode_row<Linear>(whole + row * width, values + row * width, width, owed, scale);
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
        decode_row<Linear>(values + row * width, whole + row * width, width, scale);
    }
}

void encode_gradient(std::byte* to, const float* values, std::int64_t size, WireType wire, float* residual) {
    if (wire != WireType::int8) return encode(to, values, 1, size, wire, residual);
    std::byte* const whole = to + gradient_wire_bytes(wire, size) - size;
    each_gradient_row(size, [&](std::int64_t row, std::int64_t begin, std::int64_t width) {
        float* const owed = residual ? residual + begin : nullptr;
        const std::uint16_t scale = bf16_above(largest_of(values + begin, width, owed) / (127 * 127));
        encode_row<Squared>(reinterpret_cast<std::int8_t*>(whole + begin), values + begin, width, owed,
                            from_bf16(scale));
        std::memcpy(to + row * gradient_scale_bytes, &scale, sizeof scale);
    });
}

void decode_gradient(float* values, const std::byte* from, std::int64_t size, WireType wire) {
    if (wire != WireType::int8) return decode(values, from, 1, size, wire);
    const std::byte* const whole = from + gradient_wire_bytes(wire, size) - size;
    each_gradient_row(size, [&](std::int64_t row, std::int64_t begin, std::int64_t width) {
        std::uint16_t scale = 0;
        static_assert(sizeof scale == gradient_scale_bytes);
        std::memcpy(&scale, from + row * gradient_scale_bytes, sizeof scale);
        decode_row<Squared>(values + begin, reinterpret_cast<const std::int8_t*>(whole + begin), width,
                            from_bf16(scale));
    });
}

}  // namespace skippipe
