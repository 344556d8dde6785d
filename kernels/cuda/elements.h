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

SKIPPIPE_DEVICE float sigmoid(float x) { return 1 / (1 + exp2f(-x * log2_of_e)); }

/// out [rows, hidden] = silu(gate) * up of gate_up [rows, 2 hidden].
template <int V, class Block, class T>
SKIPPIPE_DEVICE void swiglu(Block& block, T* out, const T* gate_up, std::size_t rows, std::size_t hidden) {
    const std::size_t each = hidden / V;
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        const std::size_t row = i / each, at = row * 2 * hidden + (i - row * each) * V;
        const auto gate = load_pack<V>(gate_up, at), up = load_pack<V>(gate_up, at + hidden);
        Pack<V> result;
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) result.at[k] = gate.at[k] * sigmoid(gate.at[k]) * up.at[k];
        store_pack<V>(out, i * V, result);
    }
}

/// `gate_up` goes out as its own gradient; `gradient` [rows, hidden] comes in as that of swiglu's result and goes out
/// as the result.
template <int V, class Block, class T>
SKIPPIPE_DEVICE void swiglu_backward(Block& block, T* gate_up, T* gradient, std::size_t rows, std::size_t hidden) {
    const std::size_t each = hidden / V;
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        const std::size_t row = i / each, at = row * 2 * hidden + (i - row * each) * V;
        const auto gate = load_pack<V>(gate_up, at), up = load_pack<V>(gate_up, at + hidden);
        const auto slope = load_pack<V>(gradient, i * V);
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
        store_pack<V>(gradient, i * V, result);
    }
}

/// P pairs next to each other of one head, turned by their row's position.
template <int P, class T>
SKIPPIPE_DEVICE void turn(T* to, std::size_t at, const T* from, std::size_t from_at, const float* table,
                          std::size_t angle, std::size_t sines, float scale, float way) {
    if constexpr (P == 1) {
        const float cosine = table[angle], sine = way * table[sines + angle];
        const float a = load(from, from_at), b = load(from, from_at + 1);
        store(to, at, scale * (a * cosine - b * sine));
        store(to, at + 1, scale * (a * sine + b * cosine));
    } else {
        const auto cosine = load_pack<P>(table, angle), sine = load_pack<P>(table, sines + angle);
        auto pack = load_pack<2 * P>(from, from_at);
        SKIPPIPE_UNROLL
        for (int k = 0; k < P; ++k) {
            const float a = pack.at[2 * k], b = pack.at[2 * k + 1], s = way * sine.at[k];
            pack.at[2 * k] = scale * (a * cosine.at[k] - b * s);
            pack.at[2 * k + 1] = scale * (a * s + b * cosine.at[k]);
        }
        store_pack<2 * P>(to, at, pack);
    }
}

/// Where in the table the angle of a pair stands. Rows and pairs of a row are fewer than 2^32, whose division is quick.
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
    const std::size_t half = shape.head_width / 2, width = shape.heads * half, each = 2 * width / P;
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        const std::size_t row = i / each, pair = (i - row * each) * P, at = row * 6 * width + 2 * pair;
        turn<P>(qkv, at, qkv, at, table, angle_of(row, pair, shape), shape.sequence * half,
                pair < width ? query_scale : 1.0f, 1.0f);
    }
}

/// The gradient of qkv before it was turned, from those of query, key and value [rows, heads, head_width].
template <int P, class Block, class T>
SKIPPIPE_DEVICE void rotary_backward(Block& block, T* qkv, const T* query, const T* key, const T* value,
                                     const float* table, std::size_t rows, const RotaryShape& shape,
                                     float query_scale) {
    const std::size_t half = shape.head_width / 2, width = shape.heads * half, each = width / P;
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        const std::size_t row = i / each, pair = (i - row * each) * P;
        const std::size_t angle = angle_of(row, pair, shape), sines = shape.sequence * half;
        const std::size_t at = row * 6 * width + 2 * pair, from = row * 2 * width + 2 * pair;
        turn<P>(qkv, at, query, from, table, angle, sines, query_scale, -1.0f);
        turn<P>(qkv, at + 2 * width, key, from, table, angle, sines, 1.0f, -1.0f);
        if constexpr (P == 1) {
            qkv[at + 4 * width] = value[from];
            qkv[at + 4 * width + 1] = value[from + 1];
        } else {
            store_pack<2 * P>(qkv, at + 4 * width, load_pack<2 * P>(value, from));
        }
    }
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
