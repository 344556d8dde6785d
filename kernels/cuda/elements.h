// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels over elements, which all threads of all blocks share out: SwiGLU, rotary positions, AdamW, sums and rounding
// for the wire. T is float or Bf16. The same formulas as kernels/swiglu.h, kernels/rotary.h and kernels/vector.h.
#pragma once
#include "kernels/cuda/block.h"
#include "kernels/rotary.h"

namespace skippipe::kernels::device {

SKIPPIPE_DEVICE float sigmoid(float x) { return 1 / (1 + expf(-x)); }

/// out [rows, hidden] = silu(gate) * up of gate_up [rows, 2 hidden].
template <class Block, class T>
SKIPPIPE_DEVICE void swiglu(Block& block, T* out, const T* gate_up, std::size_t rows, std::size_t hidden) {
    for (std::size_t i = first_element(block); i < rows * hidden; i += all_threads(block)) {
        const std::size_t at = i / hidden * 2 * hidden + i % hidden;
        const float gate = load(gate_up, at);
        store(out, i, gate * sigmoid(gate) * load(gate_up, at + hidden));
    }
}

/// `gate_up` goes out as its own gradient; `gradient` [rows, hidden] comes in as that of swiglu's result and goes out
/// as the result.
template <class Block, class T>
SKIPPIPE_DEVICE void swiglu_backward(Block& block, T* gate_up, T* gradient, std::size_t rows, std::size_t hidden) {
    for (std::size_t i = first_element(block); i < rows * hidden; i += all_threads(block)) {
        const std::size_t at = i / hidden * 2 * hidden + i % hidden;
        const float gate = load(gate_up, at), up = load(gate_up, at + hidden), slope = load(gradient, i);
        const float s = sigmoid(gate);
        store(gate_up, at, slope * up * (s + gate * s * (1 - s)));
        store(gate_up, at + hidden, slope * gate * s);
        store(gradient, i, gate * s * up);
    }
}

/// Turns query and key of qkv [rows, 3, heads, head_width] in place by their row's position; the query is multiplied by
/// query_scale. table [2, sequence, head_width / 2]: cosines, then sines. `back`: the gradient, turned the other way.
template <class Block, class T>
SKIPPIPE_DEVICE void rotary(Block& block, T* qkv, const float* table, std::size_t rows, const RotaryShape& shape,
                            float query_scale, bool back) {
    const std::size_t half = shape.head_width / 2, pairs = 2 * shape.heads * half;
    for (std::size_t i = first_element(block); i < rows * pairs; i += all_threads(block)) {
        const std::size_t row = i / pairs, part = i % pairs / (shape.heads * half), head = i / half % shape.heads;
        const std::size_t angle = row % shape.sequence * half + i % half;
        const std::size_t at = ((row * 3 + part) * shape.heads + head) * shape.head_width + 2 * (i % half);
        const float cosine = table[angle], sine = table[shape.sequence * half + angle] * (back ? -1.0f : 1.0f);
        const float scale = part == 0 ? query_scale : 1.0f, a = load(qkv, at), b = load(qkv, at + 1);
        store(qkv, at, scale * (a * cosine - b * sine));
        store(qkv, at + 1, scale * (a * sine + b * cosine));
    }
}

/// A step's numbers, made once on the host: what kernels/vector.h's AdamW comes to at its step.
struct AdamWStep {
    float learning_rate, beta1, beta2, epsilon, weight_decay, gradient_scale;
    float mean_factor, variance_factor;  ///< 1 / (1 - beta^step)
};

/// A stage's weights at once: fp32 weights, m and v are updated; `working`, where given, are the weights that forward
/// and backward use, rounded.
template <class Block>
SKIPPIPE_DEVICE void adamw(Block& block, float* weights, Bf16* working, const float* gradient, float* m, float* v,
                           std::size_t n, const AdamWStep& step) {
    for (std::size_t i = first_element(block); i < n; i += all_threads(block)) {
        const float g = gradient[i] * step.gradient_scale;
        const float mean = m[i] = step.beta1 * m[i] + (1 - step.beta1) * g;
        const float variance = v[i] = step.beta2 * v[i] + (1 - step.beta2) * g * g;
        const float change = mean * step.mean_factor / (sqrtf(variance * step.variance_factor) + step.epsilon);
        weights[i] -= step.learning_rate * (change + step.weight_decay * weights[i]);
        if (working) store(working, i, weights[i]);
    }
}

/// to += from.
template <class Block, class T>
SKIPPIPE_DEVICE void accumulate(Block& block, float* to, const T* from, std::size_t n) {
    for (std::size_t i = first_element(block); i < n; i += all_threads(block)) to[i] += load(from, i);
}

/// to = factor x from, rounded to T: a gradient on its way to an all-reduce.
template <class Block, class T>
SKIPPIPE_DEVICE void pack(Block& block, T* to, const float* from, float factor, std::size_t n) {
    for (std::size_t i = first_element(block); i < n; i += all_threads(block)) store(to, i, factor * from[i]);
}

}  // namespace skippipe::kernels::device
