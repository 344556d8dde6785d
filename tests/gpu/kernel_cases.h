// SPDX-License-Identifier: GPL-3.0-or-later
// The kernels for GPUs as cases: what they read and write, how they are launched on a GPU, and the same source run on
// this machine (tests/kernels/block_emulator.h).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/base/rng.h"
#include "kernels/cuda/elements.h"
#include "kernels/cuda/rows.h"
#ifdef SKIPPIPE_CUDA_KERNELS
#include "kernels/cuda/launch.h"
#endif
#include "tests/kernels/block_emulator.h"

namespace skippipe::gpu {

using kernels::device::AdamWStep;
using kernels::RotaryShape;
using kernels::device::Bf16;
using testing::EmulatedBlock;

enum class Type { f32, bf16, int8, int64, none };  ///< none: to work in, nobody reads it afterwards
inline std::size_t size_of(Type type) {
    return type == Type::f32 ? 4 : type == Type::bf16 ? 2 : type == Type::int64 ? 8 : 1;
}

struct Array {
    Type type = Type::f32;
    std::vector<std::byte> bytes;
    std::size_t count() const { return bytes.size() / size_of(type); }
    double value(std::size_t i) const {
        switch (type) {
            case Type::f32: {
                float x = 0;
                std::memcpy(&x, bytes.data() + 4 * i, 4);
                return x;
            }
            case Type::bf16: return kernels::device::load(reinterpret_cast<const Bf16*>(bytes.data()), i);
            case Type::int8: return static_cast<double>(static_cast<std::int8_t>(bytes[i]));
            case Type::int64:
            case Type::none: break;
        }
        return 0;
    }
};

/// Normally spread enough: between -1 and 1.
inline Array random_array(Type type, std::size_t count, std::uint64_t seed, std::int64_t below = 1) {
    Array array{type, std::vector<std::byte>(count * size_of(type))};
    Rng rng(seed);
    constexpr std::size_t most = 1 << 20;  // then the same again: a large array is not worth the time
    for (std::size_t i = 0; i < std::min(count, most); ++i) {
        const auto x = static_cast<float>(2 * rng.uniform() - 1);
        auto* at = array.bytes.data() + i * size_of(type);
        if (type == Type::f32) std::memcpy(at, &x, 4);
        if (type == Type::bf16) kernels::device::store(reinterpret_cast<Bf16*>(array.bytes.data()), i, x);
        if (type == Type::int8) *at = static_cast<std::byte>(static_cast<std::int8_t>(127 * x));
        const auto whole = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
        if (type == Type::int64) std::memcpy(at, &whole, 8);
    }
    for (std::size_t at = most * size_of(type); at < array.bytes.size(); at += most * size_of(type))
        std::memcpy(array.bytes.data() + at, array.bytes.data(),
                    std::min(most * size_of(type), array.bytes.size() - at));
    return array;
}

using Pointers = std::vector<std::byte*>;

struct Case {
    std::string name;
    std::vector<Array> arrays;
    double bytes = 0;  ///< read and written at least
    std::function<int(const Pointers&, void* stream)> launch;
    std::function<void(EmulatedBlock&, const Pointers&)> emulate;
    std::function<void(testing::BlockEmulator&, const Pointers&)> emulate_all = {};  ///< instead: several launches
};

inline float* f32(std::byte* p) { return reinterpret_cast<float*>(p); }
inline Bf16* bf16(std::byte* p) { return reinterpret_cast<Bf16*>(p); }
inline std::int8_t* int8(std::byte* p) { return reinterpret_cast<std::int8_t*>(p); }
inline std::int64_t* int64(std::byte* p) { return reinterpret_cast<std::int64_t*>(p); }

#ifdef SKIPPIPE_CUDA_KERNELS
#define SKIPPIPE_GPU_LAUNCH(...) [=](const Pointers& p, void* stream) { return kernels::cuda::__VA_ARGS__; }
#else
#define SKIPPIPE_GPU_LAUNCH(...) nullptr
#endif

/// Heads of 64 values, as many as fit into the width, but one at the least; positions up to 64.
inline RotaryShape turn_shape(std::size_t width) {
    return {.sequence = 64, .heads = std::max<std::size_t>(width / 64, 1), .head_width = 64};
}
inline std::size_t turns(std::size_t width) { return turn_shape(width).heads * 64; }

/// RMSNorm's way back and its sums, as launch.cu has them.
inline void norm_backward(testing::BlockEmulator& emulator, const Pointers& p, std::size_t rows, std::size_t width) {
    constexpr int blocks = 3;
    const int threads = width <= 2048 ? 256 : 1024;
    const auto run = [&](auto v) {
        emulator.launch(blocks, threads, [&](EmulatedBlock& block) {
            kernels::device::rms_norm_backward<v.value>(block, f32(p[0]), bf16(p[1]), bf16(p[2]), f32(p[8]), f32(p[4]),
                                                        f32(p[5]), f32(p[6]), f32(p[7]), rows, width);
        });
    };
    width % 8 == 0 ? run(std::integral_constant<int, 8>()) : run(std::integral_constant<int, 1>());
    emulator.launch(
        1, 256, [&](EmulatedBlock& block) { kernels::device::add_rows(block, f32(p[3]), f32(p[8]), blocks, width); });
}

/// Over matrices of so many rows and columns; those of the names alone, where some are given.
inline std::vector<Case> kernel_cases(std::size_t rows, std::size_t width, const std::set<std::string>& names = {}) {
    const auto wanted = [&](const char* name) { return names.empty() || names.contains(name); };
    namespace device = kernels::device;
    const std::size_t n = rows * width;
    const auto values = static_cast<double>(n);
    const AdamWStep step{1e-3f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.5f, 1 / (1 - 0.9f), 1 / (1 - 0.95f)};
    const auto random = [](Type type, std::size_t count) { return random_array(type, count, count + 7); };
    std::vector<Case> cases;
    const auto wide = [=](const auto& with) {  // as the launch does
        return [=](EmulatedBlock& block, const Pointers& p) {
            width % 8 == 0 ? with(std::integral_constant<int, 8>(), block, p)
                           : with(std::integral_constant<int, 1>(), block, p);
        };
    };
    if (wanted("RMSNorm"))
        cases.push_back({"RMSNorm",
                         {random(Type::bf16, n), random(Type::f32, rows), random(Type::f32, n), random(Type::f32, n),
                          random(Type::bf16, n), random(Type::f32, width)},
                         12 * values,
                         SKIPPIPE_GPU_LAUNCH(rms_norm(bf16(p[0]), f32(p[1]), f32(p[2]), f32(p[3]), bf16(p[4]),
                                                      f32(p[5]), rows, width, 1e-5f, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::rms_norm<v.value>(block, bf16(p[0]), f32(p[1]), f32(p[2]), f32(p[3]), bf16(p[4]),
                                                       f32(p[5]), rows, width, 1e-5f);
                         })});
    if (wanted("RMSNorm, backward"))
        cases.push_back(
            {"RMSNorm, backward",
             {random(Type::f32, n),
              random(Type::bf16, n),
              random(Type::bf16, n),
              random(Type::f32, width),
              random(Type::f32, n),
              random(Type::f32, n),
              random(Type::f32, width),
              random(Type::f32, rows),
              {Type::none, std::vector<std::byte>(1024 * width * sizeof(float))}},
             18 * values,
             SKIPPIPE_GPU_LAUNCH(rms_norm_backward(f32(p[0]), bf16(p[1]), bf16(p[2]), f32(p[3]), f32(p[4]), f32(p[5]),
                                                   f32(p[6]), f32(p[7]), rows, width, f32(p[8]), stream)),
             {},
             [=](testing::BlockEmulator& emulator, const Pointers& p) { norm_backward(emulator, p, rows, width); }});
    if (wanted("rotary"))
        cases.push_back({"rotary",
                         {random(Type::bf16, 3 * rows * turns(width)), random(Type::f32, 64 * 64)},
                         8 * static_cast<double>(rows * turns(width)),
                         SKIPPIPE_GPU_LAUNCH(rotary(bf16(p[0]), f32(p[1]), rows, turn_shape(width), 0.125f, stream)),
                         [=](EmulatedBlock& block, const Pointers& p) {
                             device::rotary<4>(block, bf16(p[0]), f32(p[1]), rows, turn_shape(width), 0.125f);
                         }});
    if (wanted("rotary, backward"))
        cases.push_back({"rotary, backward",
                         {random(Type::bf16, 3 * rows * turns(width)), random(Type::bf16, rows * turns(width)),
                          random(Type::bf16, rows * turns(width)), random(Type::bf16, rows * turns(width)),
                          random(Type::f32, 64 * 64)},
                         12 * static_cast<double>(rows * turns(width)),
                         SKIPPIPE_GPU_LAUNCH(rotary_backward(bf16(p[0]), bf16(p[1]), bf16(p[2]), bf16(p[3]), f32(p[4]),
                                                             rows, turn_shape(width), 0.125f, stream)),
                         [=](EmulatedBlock& block, const Pointers& p) {
                             device::rotary_backward<4>(block, bf16(p[0]), bf16(p[1]), bf16(p[2]), bf16(p[3]),
                                                        f32(p[4]), rows, turn_shape(width), 0.125f);
                         }});
    if (wanted("softmax, cross-entropy"))
        cases.push_back(
            {"softmax, cross-entropy",
             {random(Type::bf16, n), random(Type::f32, rows),
              random_array(Type::int64, rows, 3, static_cast<std::int64_t>(width))},
             4 * values,
             SKIPPIPE_GPU_LAUNCH(softmax_cross_entropy(bf16(p[0]), f32(p[1]), int64(p[2]), rows, width, stream)),
             wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                 device::softmax_cross_entropy<v.value, 64 / v.value>(block, bf16(p[0]), f32(p[1]), int64(p[2]), rows,
                                                                      width);
             })});
    if (wanted("SwiGLU"))
        cases.push_back({"SwiGLU",
                         {random(Type::bf16, n), random(Type::bf16, 2 * n)},
                         6 * values,
                         SKIPPIPE_GPU_LAUNCH(swiglu(bf16(p[0]), bf16(p[1]), rows, width, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::swiglu<v.value>(block, bf16(p[0]), bf16(p[1]), rows, width);
                         })});
    if (wanted("SwiGLU, backward"))
        cases.push_back({"SwiGLU, backward",
                         {random(Type::bf16, 2 * n), random(Type::bf16, n)},
                         12 * values,
                         SKIPPIPE_GPU_LAUNCH(swiglu_backward(bf16(p[0]), bf16(p[1]), rows, width, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::swiglu_backward<v.value>(block, bf16(p[0]), bf16(p[1]), rows, width);
                         })});
    auto positive = random(Type::f32, n);
    for (std::size_t i = 0; i < n; ++i) f32(positive.bytes.data())[i] = std::abs(f32(positive.bytes.data())[i]);
    if (wanted("AdamW"))
        cases.push_back(
            {"AdamW",
             {random(Type::f32, n), random(Type::bf16, n), random(Type::f32, n), random(Type::f32, n), positive},
             30 * values,
             SKIPPIPE_GPU_LAUNCH(adamw(f32(p[0]), bf16(p[1]), f32(p[2]), f32(p[3]), f32(p[4]), n, step, stream)),
             wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                 device::adamw<v.value>(block, f32(p[0]), bf16(p[1]), f32(p[2]), f32(p[3]), f32(p[4]), n, step);
             })});
    if (wanted("accumulate"))
        cases.push_back({"accumulate",
                         {random(Type::f32, n), random(Type::bf16, n)},
                         10 * values,
                         SKIPPIPE_GPU_LAUNCH(accumulate(f32(p[0]), bf16(p[1]), n, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::accumulate<v.value>(block, f32(p[0]), bf16(p[1]), n);
                         })});
    if (wanted("pack"))
        cases.push_back({"pack",
                         {random(Type::bf16, n), random(Type::f32, n)},
                         6 * values,
                         SKIPPIPE_GPU_LAUNCH(pack(bf16(p[0]), f32(p[1]), 0.25f, n, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::pack<v.value>(block, bf16(p[0]), f32(p[1]), 0.25f, n);
                         })});
    if (wanted("int8 with error feedback"))
        cases.push_back(
            {"int8 with error feedback",
             {random(Type::int8, n), random(Type::f32, rows), random(Type::f32, n), random(Type::f32, n)},
             13 * values,
             SKIPPIPE_GPU_LAUNCH(encode_int8(int8(p[0]), f32(p[1]), f32(p[2]), f32(p[3]), rows, width, stream)),
             wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                 device::encode_int8<v.value>(block, int8(p[0]), f32(p[1]), f32(p[2]), f32(p[3]), rows, width);
             })});
    if (wanted("add int8"))
        cases.push_back({"add int8",
                         {random(Type::f32, n), random(Type::int8, n), random(Type::f32, rows)},
                         9 * values,
                         SKIPPIPE_GPU_LAUNCH(add_int8(f32(p[0]), int8(p[1]), f32(p[2]), rows, width, stream)),
                         wide([=](auto v, EmulatedBlock& block, const Pointers& p) {
                             device::add_int8<v.value>(block, f32(p[0]), int8(p[1]), f32(p[2]), rows, width);
                         })});
    return cases;
}
#undef SKIPPIPE_GPU_LAUNCH

/// Largest difference of any value, beside the larger of 1 and the value.
inline double difference(const std::vector<Array>& a, const std::vector<Array>& b) {
    double largest = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
        for (std::size_t i = 0; i < a[k].count(); ++i) {
            const double off = std::abs(a[k].value(i) - b[k].value(i)) / std::max(1.0, std::abs(b[k].value(i)));
            largest = off <= largest ? largest : off;  // a NaN stays
        }
    return largest;
}

/// The case as this machine runs it.
inline std::vector<Array> emulated(Case one, std::uint64_t seed) {
    Pointers pointers;
    for (auto& array : one.arrays) pointers.push_back(array.bytes.data());
    testing::BlockEmulator emulator(seed);
    if (one.emulate_all)
        one.emulate_all(emulator, pointers);
    else
        emulator.launch(3, 64, [&](EmulatedBlock& block) { one.emulate(block, pointers); });
    return one.arrays;
}

}  // namespace skippipe::gpu
