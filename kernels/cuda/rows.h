// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels over rows, a block a row at a time: RMSNorm, softmax with cross-entropy, gradients as int8. Matrices are
// [rows, width], rows one after the other; T and X are float or Bf16, sums are fp32. The same formulas as
// kernels/norm.h, kernels/cross_entropy.h and core/model/wire.h. V values next to each other are read and written at
// once: where V is more than 1, it divides the width, and all addresses are multiples of 16 bytes. What a thread can
// keep of a row it reads once.
#pragma once
#include "kernels/cuda/elements.h"

namespace skippipe::kernels::device {

/// normed = x / sqrt(mean(x^2) + epsilon) * weight [width]; factors [rows], where given, are kept for the way back.
/// Where `added` is given, sum = x + added comes first, and the norm is that of sum, which may be x.
template <int V, class Block, class X, class T>
SKIPPIPE_DEVICE void rms_norm(Block& block, T* normed, float* factors, X* sum, const X* x, const T* added,
                              const float* weight, std::size_t rows, std::size_t width, float epsilon) {
    constexpr int kept = 2;
    const auto first = static_cast<std::size_t>(block.thread()) * V;
    const auto step = static_cast<std::size_t>(block.threads()) * V;
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const std::size_t start = row * width;
        float squares = 0;
        const auto summed = [&](std::size_t i) {
            auto values = load_pack<V>(x, start + i);
            if (added) {
                const auto more = load_pack<V>(added, start + i);
                SKIPPIPE_UNROLL
                for (int k = 0; k < V; ++k) values.at[k] += more.at[k];
                store_pack<V>(sum, start + i, values);
            }
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) squares += values.at[k] * values.at[k];
            return values;
        };
        Pack<V> values[kept];
        SKIPPIPE_UNROLL
        for (int k = 0; k < kept; ++k)
            if (first + k * step < width) values[k] = summed(first + k * step);
        for (std::size_t i = first + kept * step; i < width; i += step) summed(i);
        const float factor = 1 / sqrtf(reduce(block, squares, Sum{}) / static_cast<float>(width) + epsilon);
        if (factors && first == 0) factors[row] = factor;
        const auto finish = [&](std::size_t i, Pack<V> pack) {
            const auto scale = load_pack<V>(weight, i);
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) pack.at[k] *= factor * scale.at[k];
            store_pack<V>(normed, start + i, pack);
        };
        SKIPPIPE_UNROLL
        for (int k = 0; k < kept; ++k)
            if (first + k * step < width) finish(first + k * step, values[k]);
        for (std::size_t i = first + kept * step; i < width; i += step)
            finish(i, load_pack<V>(added ? sum : x, start + i));
    }
}

/// dx = residual (null: none) + the norm's input gradient; `rounded`, where given, is dx as T. `gradient` comes in as
/// the gradient of the normed values and goes out as the normed values themselves. dx may be residual. parts
/// [blocks, width]: the weight gradient over the rows of each block; sum_rows sums them. width <= V x threads.
template <int V, class Block, class X, class T>
SKIPPIPE_DEVICE void rms_norm_backward(Block& block, X* dx, T* rounded, T* gradient, float* parts, const X* residual,
                                       const X* x, const float* weight, const float* factors, std::size_t rows,
                                       std::size_t width) {
    const auto first = static_cast<std::size_t>(block.thread()) * V;
    const bool mine = first < width;
    Pack<V> sums = {};
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const std::size_t at = row * width + first;
        Pack<V> slopes = {}, values = {}, scales = {}, out = {}, normed;
        float product = 0;
        if (mine) {
            slopes = load_pack<V>(gradient, at);
            values = load_pack<V>(x, at);
            scales = load_pack<V>(weight, first);
            if (residual) out = load_pack<V>(residual, at);
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) product += slopes.at[k] * scales.at[k] * values.at[k];
        }
        const float factor = factors[row];
        const float share = reduce(block, product, Sum{}) * factor * factor * factor / static_cast<float>(width);
        if (!mine) continue;
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) {
            const float slope = factor * slopes.at[k], value = values.at[k];
            sums.at[k] += slope * value;
            out.at[k] += slope * scales.at[k] - value * share;
            normed.at[k] = value * factor * scales.at[k];
        }
        store_pack<V>(dx, at, out);
        if (rounded) store_pack<V>(rounded, at, out);
        store_pack<V>(gradient, at, normed);
    }
    if (mine) store_pack<V>(parts, static_cast<std::size_t>(block.index()) * width + first, sums);
}

/// to [groups, width]: the sums over each group of the rows of parts, first to last; added to it where `adds`.
template <class Block>
SKIPPIPE_DEVICE void sum_rows(Block& block, float* to, const float* parts, std::size_t groups, std::size_t rows,
                              std::size_t width, bool adds) {
    for (std::size_t i = first_element(block); i < groups * width; i += all_threads(block)) {
        const std::size_t group = i / width, column = i - group * width;
        float sum = adds ? to[i] : 0;
        for (std::size_t row = rows * group / groups; row < rows * (group + 1) / groups; ++row)
            sum += parts[row * width + column];
        to[i] = sum;
    }
}

/// losses [rows] in nats; `logits` [rows, vocabulary] go out as the gradient of the sum of the losses, softmax -
/// one-hot. targets in [0, vocabulary).
template <int V, class Block, class T>
SKIPPIPE_DEVICE void softmax_cross_entropy(Block& block, T* logits, float* losses, const std::int64_t* targets,
                                           std::size_t rows, std::size_t vocabulary) {
    constexpr int kept = 8;
    const auto first = static_cast<std::size_t>(block.thread()) * V;
    const auto step = static_cast<std::size_t>(block.threads()) * V;
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        T* values = logits + row * vocabulary;
        Raw<V, T> raw[kept];
        const auto each = [&](auto work) {
            SKIPPIPE_UNROLL
            for (int k = 0; k < kept; ++k)
                if (first + k * step < vocabulary) work(first + k * step, unpack(raw[k]));
            for (std::size_t i = first + kept * step; i < vocabulary; i += step) work(i, load_pack<V>(values, i));
        };
        SKIPPIPE_UNROLL
        for (int k = 0; k < kept; ++k)
            if (first + k * step < vocabulary) raw[k] = load_raw<V>(values, first + k * step);
        float mine = -INFINITY;
        each([&](std::size_t, const Pack<V>& pack) {
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) mine = Maximum{}(mine, pack.at[k]);
        });
        const float largest = reduce(block, mine, Maximum{});
        float part = 0;
        each([&](std::size_t, const Pack<V>& pack) {
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) part += exp2f((pack.at[k] - largest) * log2_of_e);
        });
        const float sum = reduce(block, part, Sum{}), inverse = 1 / sum;
        const auto target = static_cast<std::size_t>(targets[row]);
        if (target % step / V * V == first) losses[row] = logf(sum) + largest - load(values, target);
        each([&](std::size_t i, Pack<V> pack) {
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) {
                pack.at[k] = exp2f((pack.at[k] - largest) * log2_of_e) * inverse;
                if (i + static_cast<std::size_t>(k) == target) pack.at[k] -= 1;
            }
            store_pack<V>(values, i, pack);
        });
    }
}

/// V whole numbers next to each other, read and written at once; at an address that V divides.
template <int V>
struct alignas(V) Bytes {
    std::int8_t at[V];
};
template <int V>
SKIPPIPE_DEVICE Bytes<V> load_bytes(const std::int8_t* from) {
#if defined(__CUDA_ARCH__)
    return *reinterpret_cast<const Bytes<V>*>(from);
#else
    Bytes<V> bytes;
    __builtin_memcpy(&bytes, from, sizeof bytes);
    return bytes;
#endif
}
template <int V>
SKIPPIPE_DEVICE void store_bytes(std::int8_t* to, const Bytes<V>& bytes) {
#if defined(__CUDA_ARCH__)
    *reinterpret_cast<Bytes<V>*>(to) = bytes;
#else
    __builtin_memcpy(to, &bytes, sizeof bytes);
#endif
}

/// A row of whole numbers and its scale: value = scale x int8, scale = largest |value| / 127. `residual` [rows, width]
/// is added before and holds afterwards what rounding took away. A row with a value that is no finite number decodes to
/// such, and leaves no residual.
template <int V, class Block>
SKIPPIPE_DEVICE void encode_int8(Block& block, std::int8_t* to, float* scales, const float* values, float* residual,
                                 std::size_t rows, std::size_t width) {
    constexpr float shift = 12582912;  // 1.5 x 2^23: beyond it floats are whole numbers
    constexpr int kept = 2;
    const auto first = static_cast<std::size_t>(block.thread()) * V;
    const auto step = static_cast<std::size_t>(block.threads()) * V;
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const std::size_t start = row * width;
        const auto due = [&](std::size_t i) {
            auto pack = load_pack<V>(values, start + i);
            if (!residual) return pack;
            const auto left = load_pack<V>(residual, start + i);
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) pack.at[k] += left.at[k];
            return pack;
        };
        float mine = 0;
        const auto look = [&](const Pack<V>& pack) {
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) mine = Maximum{}(mine, fabsf(pack.at[k]));
        };
        Pack<V> packs[kept];
        SKIPPIPE_UNROLL
        for (int k = 0; k < kept; ++k)
            if (first + k * step < width) look(packs[k] = due(first + k * step));
        for (std::size_t i = first + kept * step; i < width; i += step) look(due(i));
        const float largest = reduce(block, mine, Maximum{});
        const bool finite = largest - largest == 0;
        const float scale = largest / 127, inverse = scale > 1.17549435e-38f ? 1 / scale : 0;
        if (first == 0) scales[row] = finite ? scale : NAN;
        const auto finish = [&](std::size_t i, Pack<V> pack) {
            Bytes<V> bytes;
            SKIPPIPE_UNROLL
            for (int k = 0; k < V; ++k) {
                const float whole = fminf(fmaxf((pack.at[k] * inverse + shift) - shift, -127), 127);
                bytes.at[k] = finite ? static_cast<std::int8_t>(whole) : std::int8_t{1};
                pack.at[k] = finite ? pack.at[k] - scale * whole : 0;
            }
            store_bytes(to + start + i, bytes);
            if (residual) store_pack<V>(residual, start + i, pack);
        };
        SKIPPIPE_UNROLL
        for (int k = 0; k < kept; ++k)
            if (first + k * step < width) finish(first + k * step, packs[k]);
        for (std::size_t i = first + kept * step; i < width; i += step) finish(i, due(i));
    }
}

/// to += what encode_int8 made.
template <int V, class Block>
SKIPPIPE_DEVICE void add_int8(Block& block, float* to, const std::int8_t* from, const float* scales, std::size_t rows,
                              std::size_t width) {
    const std::size_t each = width / V;
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        auto sum = load_pack<V>(to, i * V);
        const float scale = scales[i / each];
        const auto bytes = load_bytes<V>(from + i * V);
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) sum.at[k] += scale * static_cast<float>(bytes.at[k]);
        store_pack<V>(to, i * V, sum);
    }
}

}  // namespace skippipe::kernels::device
