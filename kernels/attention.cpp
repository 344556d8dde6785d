// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/attention.h"

#include <algorithm>
#include <cstring>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention.cpp"
// Vectors whose size only the processor knows cannot be held in arrays.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#include <hwy/foreach_target.h>  // before highway.h: this file is compiled once for each kind of processor

#include "kernels/softmax_inl.h"

#ifndef SKIPPIPE_ATTENTION_TILE
#define SKIPPIPE_ATTENTION_TILE
namespace skippipe::kernels {
constexpr std::size_t tile_rows = 32;  ///< queries of a tile
constexpr std::size_t padding = 16;    ///< floats of the largest vector
constexpr std::size_t padded(std::size_t n) { return (n + padding - 1) / padding * padding; }
}  // namespace skippipe::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace skippipe::kernels::HWY_NAMESPACE {
namespace {

/// A matrix whose element (i, j) is at i * row + j * column.
struct View {
    const float* data;
    std::size_t row, column;
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr std::size_t register_rows = 8;  // 32 registers
#else
constexpr std::size_t register_rows = 4;
#endif

template <bool add, std::size_t rows, std::size_t vectors, class D>
HWY_INLINE void multiply_block(D d, float* c, std::size_t c_row, const View& a, const float* b, std::size_t b_row,
                               std::size_t depth) {
    const std::size_t lanes = hn::Lanes(d);
    hn::Vec<D> sums[rows][vectors];
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t v = 0; v < vectors; ++v)
            sums[i][v] = add ? hn::LoadU(d, c + i * c_row + v * lanes) : hn::Zero(d);
    for (std::size_t k = 0; k < depth; ++k) {
        hn::Vec<D> right[vectors];
        for (std::size_t v = 0; v < vectors; ++v) right[v] = hn::LoadU(d, b + k * b_row + v * lanes);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto left = hn::Set(d, a.data[i * a.row + k * a.column]);
            for (std::size_t v = 0; v < vectors; ++v) sums[i][v] = hn::MulAdd(left, right[v], sums[i][v]);
        }
    }
    for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t v = 0; v < vectors; ++v) hn::StoreU(sums[i][v], d, c + i * c_row + v * lanes);
}

template <bool add, std::size_t vectors, class D>
HWY_INLINE void multiply_columns(D d, float* c, std::size_t c_row, View a, const float* b, std::size_t b_row,
                                 std::size_t rows, std::size_t depth) {
    std::size_t i = 0;
    for (; i + register_rows <= rows; i += register_rows, a.data += register_rows * a.row)
        multiply_block<add, register_rows, vectors>(d, c + i * c_row, c_row, a, b, b_row, depth);
    for (; i < rows; ++i, a.data += a.row) multiply_block<add, 1, vectors>(d, c + i * c_row, c_row, a, b, b_row, depth);
}

/// c [rows, columns] = (or +=) a [rows, depth] b [depth, columns]; small enough for the cache.
template <bool add>
HWY_NOINLINE void multiply(float* c, std::size_t c_row, const View& a, const float* b, std::size_t b_row,
                           std::size_t rows, std::size_t columns, std::size_t depth) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    std::size_t j = 0;
    for (; j + 2 * lanes <= columns; j += 2 * lanes)
        multiply_columns<add, 2>(d, c + j, c_row, a, b + j, b_row, rows, depth);
    for (; j + lanes <= columns; j += lanes) multiply_columns<add, 1>(d, c + j, c_row, a, b + j, b_row, rows, depth);
    for (; j < columns; ++j) multiply_columns<add, 1>(One(), c + j, c_row, a, b + j, b_row, rows, depth);
}

void transpose(float* to, const float* from, std::size_t from_row, std::size_t rows, std::size_t columns) {
    constexpr std::size_t at_once = 16;  // rows whose elements the cache holds together, whatever their distance
    for (std::size_t begin = 0; begin < rows; begin += at_once) {
        const std::size_t end = std::min(begin + at_once, rows);
        for (std::size_t j = 0; j < columns; ++j)
            for (std::size_t i = begin; i < end; ++i) to[j * rows + i] = from[i * from_row + j];
    }
}

float dot(const float* a, const float* b, std::size_t n) {
    const Wide d;
    const std::size_t lanes = hn::Lanes(d);
    auto sums = hn::Zero(d);
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) sums = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sums);
    float sum = hn::GetLane(hn::SumOfLanes(d, sums));
    for (; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/// Each part of the workspace begins at a multiple of the largest vector.
struct Workspace {
    Workspace(float* at, const AttentionShape& shape) {
        const std::size_t n = shape.sequence, w = shape.head_width;
        const auto take = [&at](std::size_t size) { return std::exchange(at, at + padded(size)); };
        scores = take(tile_rows * padded(n));
        slopes = take(tile_rows * padded(n));
        keys = take(n * w);
        values = take(n * w);
        key_gradient = take(n * w);
        value_gradient = take(n * w);
    }
    float *scores, *slopes;  ///< [tile_rows, padded(sequence)]: then probabilities, and the gradient of the scores
    float *keys, *values;    ///< transposed: [head_width, sequence]
    float *key_gradient, *value_gradient;  ///< [sequence, head_width]
};

/// What follows the first `columns` scores counts nothing: e^ of it is 0 in the vector they end in, and 0 behind that.
HWY_INLINE void mask_row(float* scores, std::size_t columns, std::size_t end) {
    const std::size_t whole = padded(columns);
    std::fill(scores + columns, scores + whole, -1e30f);
    if (whole < end) std::fill(scores + whole, scores + end, 0.0f);
}

void Attend(float* out, float* log_sums, const float* qkv, const AttentionShape& shape, float* workspace) {
    const std::size_t n = shape.sequence, w = shape.head_width, width = shape.heads * w, row = 3 * width,
                      across = padded(n);
    const Workspace space(workspace, shape);
    float inverse_sums[tile_rows];
    for (std::size_t head = 0; head < shape.heads; ++head, log_sums += n) {
        const float *query = qkv + head * w, *key = query + width, *value = key + width;
        transpose(space.keys, key, row, n, w);
        for (std::size_t begin = 0; begin < n; begin += tile_rows) {
            const std::size_t end = std::min(begin + tile_rows, n), rows = end - begin;
            multiply<false>(space.scores, across, {query + begin * row, row, 1}, space.keys, n, rows, end, w);
            for (std::size_t i = begin; i < end; ++i) {
                float* scores = space.scores + (i - begin) * across;
                mask_row(scores, i + 1, end);
                const float largest = row_maximum(scores, padded(i + 1)),
                            sum = exponentials(scores, padded(i + 1), largest);
                log_sums[i] = largest + std::log(sum);
                inverse_sums[i - begin] = 1 / sum;
            }
            float* to = out + begin * width + head * w;
            multiply<false>(to, width, {space.scores, across, 1}, value, row, rows, w, end);
            for (std::size_t i = 0; i < rows; ++i) scale_row(to + i * width, w, inverse_sums[i]);
        }
    }
}

/// Scores become probabilities; `slopes`, the gradient of the probabilities, becomes that of the scores.
void softmax_backward_row(float* scores, float* slopes, std::size_t columns, std::size_t end, float log_sum,
                          float product) {
    const Wide d;
    const std::size_t whole = padded(columns);
    mask_row(scores, columns, end);
    std::fill(slopes + columns, slopes + std::max(whole, end), 0.0f);
    exponentials(scores, whole, log_sum);
    for (std::size_t j = 0; j < whole; j += hn::Lanes(d))
        hn::StoreU(hn::Mul(hn::LoadU(d, scores + j), hn::Sub(hn::LoadU(d, slopes + j), hn::Set(d, product))), d,
                   slopes + j);
}

void AttendBackward(float* qkv, const float* out_gradient, const float* out, const float* log_sums,
                    const AttentionShape& shape, float* workspace) {
    const std::size_t n = shape.sequence, w = shape.head_width, width = shape.heads * w, row = 3 * width,
                      across = padded(n);
    const Workspace space(workspace, shape);
    for (std::size_t head = 0; head < shape.heads; ++head, log_sums += n) {
        float *query = qkv + head * w, *key = query + width, *value = key + width;
        transpose(space.keys, key, row, n, w);
        transpose(space.values, value, row, n, w);
        std::fill(space.key_gradient, space.key_gradient + n * w, 0.0f);
        std::fill(space.value_gradient, space.value_gradient + n * w, 0.0f);
        for (std::size_t begin = 0; begin < n; begin += tile_rows) {
            const std::size_t end = std::min(begin + tile_rows, n), rows = end - begin;
            float* tile = query + begin * row;
            const float* gradient = out_gradient + begin * width + head * w;
            multiply<false>(space.scores, across, {tile, row, 1}, space.keys, n, rows, end, w);
            multiply<false>(space.slopes, across, {gradient, width, 1}, space.values, n, rows, end, w);
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t at = i * width + head * w, in_tile = (i - begin) * across;
                softmax_backward_row(space.scores + in_tile, space.slopes + in_tile, i + 1, end, log_sums[i],
                                     dot(out_gradient + at, out + at, w));
            }
            multiply<true>(space.value_gradient, w, {space.scores, 1, across}, gradient, width, end, w, rows);
            multiply<true>(space.key_gradient, w, {space.slopes, 1, across}, tile, row, end, w, rows);
            multiply<false>(tile, row, {space.slopes, across, 1}, key, row, rows, w, end);
        }
        for (std::size_t i = 0; i < n; ++i) {
            std::memcpy(key + i * row, space.key_gradient + i * w, w * sizeof(float));
            std::memcpy(value + i * row, space.value_gradient + i * w, w * sizeof(float));
        }
    }
}

}  // namespace
}  // namespace skippipe::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skippipe::kernels {

HWY_EXPORT(Attend);
HWY_EXPORT(AttendBackward);

std::size_t attention_workspace(const AttentionShape& shape) noexcept {
    return 2 * tile_rows * padded(shape.sequence) + 4 * padded(shape.sequence * shape.head_width);
}

void causal_attention(float* out, float* log_sums, const float* qkv, const AttentionShape& shape,
                      float* workspace) noexcept {
    HWY_DYNAMIC_DISPATCH(Attend)(out, log_sums, qkv, shape, workspace);
}

void causal_attention_backward(float* qkv, const float* out_gradient, const float* out, const float* log_sums,
                               const AttentionShape& shape, float* workspace) noexcept {
    HWY_DYNAMIC_DISPATCH(AttendBackward)(qkv, out_gradient, out, log_sums, shape, workspace);
}

}  // namespace skippipe::kernels
#endif
