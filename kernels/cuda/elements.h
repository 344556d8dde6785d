// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels over elements, which all threads of all blocks share out, V next to each other at once: SwiGLU, rotary
// positions, AdamW, sums and rounding for the wire. T is float or Bf16. The same formulas as kernels/swiglu.h,
// kernels/rotary.h and kernels/vector.h. Where V is more than 1, it divides the width of rows, and all addresses are
// multiples of 16 bytes.
#pragma once
#include "kernels/cuda/block.h"
#include "kernels/rotary.h"

namespace skippipe::kernels::device {

inline constexpr float log2_of_e = 1.44269504f;

SKIPPIPE_DEVICE float sigmoid(float x) { return 1 / (1 + power_of_two(-x * log2_of_e)); }

/// out [rows, hidden] = silu(gate) * up of gate_up [rows, 2 hidden].
template <int V, class Block, class T>
SKIPPIPE_DEVICE void swiglu(Block& block, T* out, const T* gate_up, std::size_t rows, std::size_t hidden) {
    for_rows(block, rows, hidden / V, [&](std::size_t row, std::size_t unit) {
        const std::size_t to = row * hidden + unit * V, at = to + row * hidden;
        const auto gate = load_pack<V>(gate_up, at), up = load_pack<V>(gate_up, at + hidden);
        Pack<V> result;
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) result.at[k] = gate.at[k] * sigmoid(gate.at[k]) * up.at[k];
        store_pack<V>(out, to, result);
    });
}

/// `gate_up` goes out as its own gradient; `gradient` [rows, hidden] comes in as that of swiglu's result and goes out
/// as the result.
template <int V, class Block, class T>
SKIPPIPE_DEVICE void swiglu_backward(Block& block, T* gate_up, T* gradient, std::size_t rows, std::size_t hidden) {
    for_rows(block, rows, hidden / V, [&](std::size_t row, std::size_t unit) {
        const std::size_t to = row * hidden + unit * V, at = to + row * hidden;
        const auto gate = load_pack<V>(gate_up, at), up = load_pack<V>(gate_up, at + hidden);
        const auto slope = load_pack<V>(gradient, to);
        Pack<V> of_gate, of_up, result;
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) {
            const float g = gate.at[k], s = sigmoid(g);
            of_gate.at[k] = slope.at[k] * up.at[k] * (s + g * s * (1 - s));
            of_up.at[k] = slope.at[k] * g * s;
            result.at[k] = g * s * up.at[k];
        }
        store_pack<V>(gate_up, at, of_gate);
        store_pack<V>(gate_up, at + hidden, of_up);
        store_pack<V>(gradient, to, result);
    });
}

/// Cosines and sines of P pairs next to each other of one head.
template <int P>
struct Angles {
    Pack<P> cosine, sine;
};
template <int P>
SKIPPIPE_DEVICE Angles<P> load_angles(const float* table, std::size_t angle, std::size_t sines) {
    return {load_pack<P>(table, angle), load_pack<P>(table, sines + angle)};
}

/// P pairs next to each other, read and written at once where there are several.
template <int P, class T>
SKIPPIPE_DEVICE Pack<2 * P> load_pairs(const T* from, std::size_t at) {
    if constexpr (P == 1)
        return {{load(from, at), load(from, at + 1)}};
    else
        return load_pack<2 * P>(from, at);
}
template <int P, class T>
SKIPPIPE_DEVICE void store_pairs(T* to, std::size_t at, const Pack<2 * P>& pack) {
    if constexpr (P == 1) {
        store(to, at, pack.at[0]);
        store(to, at + 1, pack.at[1]);
    } else {
        store_pack<2 * P>(to, at, pack);
    }
}

/// Turned by their angles, or back where `way` is -1.
template <int P>
SKIPPIPE_DEVICE Pack<2 * P> turned(Pack<2 * P> pack, const Angles<P>& angles, float scale, float way) {
    SKIPPIPE_UNROLL
    for (int k = 0; k < P; ++k) {
        const float a = pack.at[2 * k], b = pack.at[2 * k + 1], cosine = angles.cosine.at[k];
        const float sine = way * angles.sine.at[k];
        pack.at[2 * k] = scale * (a * cosine - b * sine);
        pack.at[2 * k + 1] = scale * (a * sine + b * cosine);
    }
    return pack;
}

/// Where in the table the angle of a pair stands.
SKIPPIPE_DEVICE std::size_t angle_of(std::size_t row, std::size_t pair, const RotaryShape& shape) {
    const auto half = static_cast<std::uint32_t>(shape.head_width / 2);
    return std::size_t{static_cast<std::uint32_t>(row) % static_cast<std::uint32_t>(shape.sequence)} * half +
           static_cast<std::uint32_t>(pair) % half;
}

/// Turns query and key of qkv [rows, 3, heads, head_width] in place by their row's position, P pairs at once; the query
/// is multiplied by query_scale. table [2, sequence, head_width / 2]: cosines, then sines.
template <int P, class Block, class T>
SKIPPIPE_DEVICE void rotary(Block& block, T* qkv, const float* table, std::size_t rows, const RotaryShape& shape,
                            float query_scale) {
    const std::size_t half = shape.head_width / 2, width = shape.heads * half;
    for_rows(block, rows, width / P, [&](std::size_t row, std::size_t unit) {
        const std::size_t pair = unit * P, at = row * 6 * width + 2 * pair;
        const auto query = load_pairs<P>(qkv, at), key = load_pairs<P>(qkv, at + 2 * width);
        const auto angles = load_angles<P>(table, angle_of(row, pair, shape), shape.sequence * half);
        store_pairs<P>(qkv, at, turned<P>(query, angles, query_scale, 1.0f));
        store_pairs<P>(qkv, at + 2 * width, turned<P>(key, angles, 1.0f, 1.0f));
    });
}

/// The gradient of qkv before it was turned, from those of query, key and value [rows, heads, head_width].
template <int P, class Block, class T>
SKIPPIPE_DEVICE void rotary_backward(Block& block, T* qkv, const T* query, const T* key, const T* value,
                                     const float* table, std::size_t rows, const RotaryShape& shape,
                                     float query_scale) {
    const std::size_t half = shape.head_width / 2, width = shape.heads * half;
    for_rows(block, rows, width / P, [&](std::size_t row, std::size_t unit) {
        const std::size_t pair = unit * P, at = row * 6 * width + 2 * pair, from = row * 2 * width + 2 * pair;
        const auto of_query = load_pairs<P>(query, from), of_key = load_pairs<P>(key, from),
                   of_value = load_pairs<P>(value, from);
        const auto angles = load_angles<P>(table, angle_of(row, pair, shape), shape.sequence * half);
        store_pairs<P>(qkv, at, turned<P>(of_query, angles, query_scale, -1.0f));
        store_pairs<P>(qkv, at + 2 * width, turned<P>(of_key, angles, 1.0f, -1.0f));
        store_pairs<P>(qkv, at + 4 * width, of_value);
    });
}

/// A step's numbers, made once on the host: what kernels/vector.h's AdamW comes to at its step.
struct AdamWStep {
    float learning_rate, beta1, beta2, epsilon, weight_decay, gradient_scale;
    float mean_factor, variance_factor;  ///< 1 / (1 - beta^step)
};

template <int V>
SKIPPIPE_DEVICE void step_pack(Together<V>, float* weights, Bf16* working, const float* gradient, float* m, float* v,
                               std::size_t i, const AdamWStep& step) {
    const auto slopes = load_pack<V>(gradient, i);
    auto weight = load_pack<V>(weights, i), mean = load_pack<V>(m, i), variance = load_pack<V>(v, i);
    SKIPPIPE_UNROLL
    for (int k = 0; k < V; ++k) {
        const float g = slopes.at[k] * step.gradient_scale;
        mean.at[k] = step.beta1 * mean.at[k] + (1 - step.beta1) * g;
        variance.at[k] = step.beta2 * variance.at[k] + (1 - step.beta2) * g * g;
        const float change =
            mean.at[k] * step.mean_factor / (sqrtf(variance.at[k] * step.variance_factor) + step.epsilon);
        weight.at[k] -= step.learning_rate * (change + step.weight_decay * weight.at[k]);
    }
    store_pack<V>(weights, i, weight);
    store_pack<V>(m, i, mean);
    store_pack<V>(v, i, variance);
    if (working) store_pack<V>(working, i, weight);
}

/// A stage's weights at once: fp32 weights, m and v are updated; `working`, where given, are the weights that forward
/// and backward use, rounded.
template <int V, class Block>
SKIPPIPE_DEVICE void adamw(Block& block, float* weights, Bf16* working, const float* gradient, float* m, float* v,
                           std::size_t n, const AdamWStep& step) {
    for_elements<V>(block, n, [&](std::size_t i, auto together) {
        step_pack(together, weights, working, gradient, m, v, i, step);
    });
}

template <int V, class T>
SKIPPIPE_DEVICE void accumulate_pack(Together<V>, float* to, const T* from, std::size_t i) {
    auto sum = load_pack<V>(to, i);
    const auto added = load_pack<V>(from, i);
    SKIPPIPE_UNROLL
    for (int k = 0; k < V; ++k) sum.at[k] += added.at[k];
    store_pack<V>(to, i, sum);
}
/// to += from.
template <int V, class Block, class T>
SKIPPIPE_DEVICE void accumulate(Block& block, float* to, const T* from, std::size_t n) {
    for_elements<V>(block, n, [&](std::size_t i, auto together) { accumulate_pack(together, to, from, i); });
}

template <int V, class T>
SKIPPIPE_DEVICE void pack_pack(Together<V>, T* to, const float* from, float factor, std::size_t i) {
    auto values = load_pack<V>(from, i);
    SKIPPIPE_UNROLL
    for (int k = 0; k < V; ++k) values.at[k] *= factor;
    store_pack<V>(to, i, values);
}
/// to = factor x from, rounded to T: a gradient on its way to an all-reduce.
template <int V, class Block, class T>
SKIPPIPE_DEVICE void pack(Block& block, T* to, const float* from, float factor, std::size_t n) {
    for_elements<V>(block, n, [&](std::size_t i, auto together) { pack_pack(together, to, from, factor, i); });
}

}  // namespace skippipe::kernels::device
