// SPDX-License-Identifier: GPL-3.0-or-later
// Kernels over rows, a block a row at a time: RMSNorm, softmax with cross-entropy, gradients as int8. Matrices are
// [rows, width], rows one after the other; T is float or Bf16, sums are fp32. The same formulas as kernels/norm.h,
// kernels/cross_entropy.h and core/model/wire.h.
#pragma once
#include "kernels/cuda/block.h"

namespace skippipe::kernels::device {

/// normed = x / sqrt(mean(x^2) + epsilon) * weight [width]; factors [rows], where given, are kept for the way back.
/// Where `sum` is given, sum += x first, and the norm is that of sum.
template <class Block, class T>
SKIPPIPE_DEVICE void rms_norm(Block& block, T* normed, float* factors, T* sum, const T* x, const T* weight,
                              std::size_t rows, std::size_t width, float epsilon) {
    const auto thread = static_cast<std::size_t>(block.thread()), threads = static_cast<std::size_t>(block.threads());
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const T* from = x + row * width;
        T* added = sum ? sum + row * width : nullptr;
        float squares = 0;
        for (std::size_t i = thread; i < width; i += threads) {
            if (added) store(added, i, load(from, i) + load(added, i));
            const float value = added ? load(added, i) : load(from, i);
            squares += value * value;
        }
        const float factor = 1 / sqrtf(reduce(block, squares, Sum{}) / static_cast<float>(width) + epsilon);
        if (factors && thread == 0) factors[row] = factor;
        for (std::size_t i = thread; i < width; i += threads) {
            const float value = added ? load(added, i) : load(from, i);
            store(normed + row * width, i, value * factor * load(weight, i));
        }
    }
}

/// parts [chunks, width]: the weight gradient over a share of the rows each. `gradient` is that of the normed values.
/// Comes before rms_norm_backward, which overwrites it; add_rows sums the parts.
template <class Block, class T>
SKIPPIPE_DEVICE void rms_norm_weight_parts(Block& block, float* parts, const T* gradient, const T* x,
                                           const float* factors, std::size_t rows, std::size_t width,
                                           std::size_t chunks) {
    const auto threads = static_cast<std::size_t>(block.threads());
    const std::size_t tiles = (width + threads - 1) / threads;
    for (auto unit = static_cast<std::size_t>(block.index()); unit < chunks * tiles;
         unit += static_cast<std::size_t>(block.blocks())) {
        const std::size_t chunk = unit / tiles,
                          column = unit % tiles * threads + static_cast<std::size_t>(block.thread());
        if (column >= width) continue;
        float sum = 0;
        for (std::size_t row = rows * chunk / chunks; row < rows * (chunk + 1) / chunks; ++row)
            sum += load(gradient, row * width + column) * load(x, row * width + column) * factors[row];
        parts[chunk * width + column] = sum;
    }
}

/// to [width] += the rows of parts, first to last.
template <class Block>
SKIPPIPE_DEVICE void add_rows(Block& block, float* to, const float* parts, std::size_t rows, std::size_t width) {
    for (std::size_t i = first_element(block); i < width; i += all_threads(block)) {
        float sum = to[i];
        for (std::size_t row = 0; row < rows; ++row) sum += parts[row * width + i];
        to[i] = sum;
    }
}

/// dx = residual + the norm's input gradient. `gradient` comes in as the gradient of the normed values and goes out as
/// the normed values themselves. dx may be residual.
template <class Block, class T>
SKIPPIPE_DEVICE void rms_norm_backward(Block& block, T* dx, T* gradient, const T* residual, const T* x, const T* weight,
                                       const float* factors, std::size_t rows, std::size_t width) {
    const auto thread = static_cast<std::size_t>(block.thread()), threads = static_cast<std::size_t>(block.threads());
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const std::size_t start = row * width;
        float product = 0;
        for (std::size_t i = thread; i < width; i += threads)
            product += load(gradient, start + i) * load(weight, i) * load(x, start + i);
        const float factor = factors[row];
        const float share = reduce(block, product, Sum{}) * factor * factor * factor / static_cast<float>(width);
        for (std::size_t i = thread; i < width; i += threads) {
            const float value = load(x, start + i), scale = load(weight, i);
            const float slope = factor * load(gradient, start + i) * scale - value * share;
            store(dx, start + i, load(residual, start + i) + slope);
            store(gradient, start + i, value * factor * scale);
        }
    }
}

/// Largest value of some and the sum of e^(value - largest), which join without a second look at the values.
struct Exponentials {
    float largest, sum;
    SKIPPIPE_DEVICE void add(const Exponentials& other) {
        if (other.sum == 0) return;
        const float most = Maximum{}(largest, other.largest);
        sum = (sum == 0 ? 0 : sum * expf(largest - most)) + other.sum * expf(other.largest - most);
        largest = most;
    }
};

template <class Block>
SKIPPIPE_DEVICE Exponentials reduce(Block& block, Exponentials value) {
    for (int mask = warp / 2; mask > 0; mask /= 2) {
        const Exponentials other{block.shuffle_xor(value.largest, mask), block.shuffle_xor(value.sum, mask)};
        // Both threads of a pair join in one order, so that they agree to the bit.
        Exponentials first = block.thread() & mask ? other : value;
        first.add(block.thread() & mask ? value : other);
        value = first;
    }
    float* of_warps = block.scratch();
    if (block.thread() % warp == 0) {
        of_warps[2 * (block.thread() / warp)] = value.largest;
        of_warps[2 * (block.thread() / warp) + 1] = value.sum;
    }
    block.sync();
    value = {of_warps[0], of_warps[1]};
    for (int i = 1; i < block.threads() / warp; ++i) value.add({of_warps[2 * i], of_warps[2 * i + 1]});
    block.sync();  // before anybody writes there again
    return value;
}

/// losses [rows] in nats; `logits` [rows, vocabulary] go out as the gradient of the sum of the losses, softmax -
/// one-hot. targets in [0, vocabulary). The logits are read twice and written once.
template <class Block, class T>
SKIPPIPE_DEVICE void softmax_cross_entropy(Block& block, T* logits, float* losses, const std::int64_t* targets,
                                           std::size_t rows, std::size_t vocabulary) {
    const auto thread = static_cast<std::size_t>(block.thread()), threads = static_cast<std::size_t>(block.threads());
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        T* values = logits + row * vocabulary;
        Exponentials mine{-INFINITY, 0};
        for (std::size_t i = thread; i < vocabulary; i += threads) mine.add({load(values, i), 1});
        const Exponentials all = reduce(block, mine);
        const float inverse = 1 / all.sum;
        for (std::size_t i = thread; i < vocabulary; i += threads) {
            const float value = load(values, i);
            const bool target = i == static_cast<std::size_t>(targets[row]);
            if (target) losses[row] = logf(all.sum) + all.largest - value;
            store(values, i, expf(value - all.largest) * inverse - (target ? 1.0f : 0.0f));
        }
    }
}

/// A row of whole numbers and its scale: value = scale x int8, scale = largest |value| / 127. `residual` [rows, width]
/// is added before and holds afterwards what rounding took away. A row with a value that is no finite number decodes to
/// such, and leaves no residual.
template <class Block>
SKIPPIPE_DEVICE void encode_int8(Block& block, std::int8_t* to, float* scales, const float* values, float* residual,
                                 std::size_t rows, std::size_t width) {
    constexpr float shift = 12582912;  // 1.5 x 2^23: beyond it floats are whole numbers
    const auto thread = static_cast<std::size_t>(block.thread()), threads = static_cast<std::size_t>(block.threads());
    for (auto row = static_cast<std::size_t>(block.index()); row < rows;
         row += static_cast<std::size_t>(block.blocks())) {
        const std::size_t start = row * width;
        float mine = 0;
        for (std::size_t i = thread; i < width; i += threads)
            mine = Maximum{}(mine, fabsf(residual ? values[start + i] + residual[start + i] : values[start + i]));
        const float largest = reduce(block, mine, Maximum{});
        const bool finite = largest - largest == 0;
        const float scale = largest / 127, inverse = scale > 1.17549435e-38f ? 1 / scale : 0;
        if (thread == 0) scales[row] = finite ? scale : NAN;
        for (std::size_t i = thread; i < width; i += threads) {
            const float value = residual ? values[start + i] + residual[start + i] : values[start + i];
            const float whole = fminf(fmaxf((value * inverse + shift) - shift, -127), 127);
            to[start + i] = finite ? static_cast<std::int8_t>(whole) : std::int8_t{1};
            if (residual) residual[start + i] = finite ? value - scale * whole : 0;
        }
    }
}

/// to += what encode_int8 made.
template <class Block>
SKIPPIPE_DEVICE void add_int8(Block& block, float* to, const std::int8_t* from, const float* scales, std::size_t rows,
                              std::size_t width) {
    for (std::size_t i = first_element(block); i < rows * width; i += all_threads(block))
        to[i] += scales[i / width] * static_cast<float>(from[i]);
}

}  // namespace skippipe::kernels::device
