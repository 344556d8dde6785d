// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels of a GPU are written in: plain functions over a Block, the threads that share memory and barriers. nvcc
// compiles them with CudaBlock (cuda_block.h); the tests run the same source on the CPU, with a Block whose threads are
// taken in random order. A Block has
//   thread(), threads()     which thread of how many, a multiple of 32 and at most 1,024
//   index(), blocks()       which block of how many
//   sync()                  all threads of the block arrive before any goes on
//   shuffle_xor(x, mask)    x of the thread of the same 32 whose number differs in the bits of mask; all 32 call it
//   scratch()               128 floats that the threads of the block share; uninitialised
#pragma once
#include <math.h>

#include <cstddef>
#include <cstdint>

#if defined(__CUDA__) || defined(__CUDACC__)
#define SKIPPIPE_DEVICE __device__ inline
#define SKIPPIPE_UNROLL _Pragma("unroll")
#else
#define SKIPPIPE_DEVICE inline
#define SKIPPIPE_UNROLL
#endif

namespace skippipe::kernels::device {

inline constexpr int warp = 32;

/// The upper half of an fp32.
struct Bf16 {
    std::uint16_t bits;
};

SKIPPIPE_DEVICE float load(const float* from, std::size_t i) { return from[i]; }
SKIPPIPE_DEVICE float load(const Bf16* from, std::size_t i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(from[i].bits) << 16;
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

SKIPPIPE_DEVICE void store(float* to, std::size_t i, float value) { to[i] = value; }
/// Rounds to nearest, ties to even; a NaN stays one.
SKIPPIPE_DEVICE void store(Bf16* to, std::size_t i, float value) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    to[i].bits =
        static_cast<std::uint16_t>(value != value ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Two values rounded as by store, the first in the lower half.
SKIPPIPE_DEVICE std::uint32_t rounded_pair(float low, float high) {
#if defined(__CUDA_ARCH__)
    std::uint32_t both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
    return both;
#else
    Bf16 both[2];
    store(both, 0, low);
    store(both, 1, high);
    return both[0].bits | static_cast<std::uint32_t>(both[1].bits) << 16;
#endif
}

/// 2^x; what is below the smallest normal number becomes 0 on a GPU.
SKIPPIPE_DEVICE float power_of_two(float x) {
#if defined(__CUDA_ARCH__)
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
#else
    return exp2f(x);
#endif
}

/// V values that lie next to each other, as they are read and written at once: 16 bytes at a time where V is more
/// than 1. Their address is then a multiple of 16 bytes.
template <int V, class T>
struct alignas(16) Raw {
    static_assert(V * sizeof(T) % 16 == 0);
    std::uint32_t words[V * sizeof(T) / 4];
};
template <class T>
struct Raw<1, T> {
    T value;
};

template <int V, class T>
SKIPPIPE_DEVICE Raw<V, T> load_raw(const T* from, std::size_t i) {
#if defined(__CUDA_ARCH__)
    return *reinterpret_cast<const Raw<V, T>*>(from + i);
#else
    Raw<V, T> raw;
    __builtin_memcpy(&raw, from + i, sizeof raw);
    return raw;
#endif
}

SKIPPIPE_DEVICE float float_of(std::uint32_t bits) {
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
SKIPPIPE_DEVICE std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

/// V values to calculate with.
template <int V>
struct Pack {
    float at[V];
};

template <int V>
SKIPPIPE_DEVICE Pack<V> unpack(const Raw<V, float>& raw) {
    Pack<V> pack;
    if constexpr (V == 1) {
        pack.at[0] = raw.value;
    } else {
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) pack.at[k] = float_of(raw.words[k]);
    }
    return pack;
}
template <int V>
SKIPPIPE_DEVICE Pack<V> unpack(const Raw<V, Bf16>& raw) {
    Pack<V> pack;
    if constexpr (V == 1) {
        pack.at[0] = load(&raw.value, 0);
    } else {
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k)
            pack.at[k] = float_of(k % 2 ? raw.words[k / 2] & 0xffff0000u : raw.words[k / 2] << 16);
    }
    return pack;
}
template <int V, class T>
SKIPPIPE_DEVICE Pack<V> load_pack(const T* from, std::size_t i) {
    return unpack(load_raw<V>(from, i));
}

template <int V>
SKIPPIPE_DEVICE Raw<V, float> raw_of(const Pack<V>& pack, const float*) {
    Raw<V, float> raw;
    if constexpr (V == 1) {
        raw.value = pack.at[0];
    } else {
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; ++k) raw.words[k] = bits_of(pack.at[k]);
    }
    return raw;
}
template <int V>
SKIPPIPE_DEVICE Raw<V, Bf16> raw_of(const Pack<V>& pack, const Bf16*) {
    Raw<V, Bf16> raw;
    if constexpr (V == 1) {
        store(&raw.value, 0, pack.at[0]);
    } else {
        SKIPPIPE_UNROLL
        for (int k = 0; k < V; k += 2) raw.words[k / 2] = rounded_pair(pack.at[k], pack.at[k + 1]);
    }
    return raw;
}
template <int V, class T>
SKIPPIPE_DEVICE void store_pack(T* to, std::size_t i, const Pack<V>& pack) {
    const auto raw = raw_of(pack, to);
#if defined(__CUDA_ARCH__)
    if constexpr (V == 1) {
        to[i] = raw.value;
    } else {
        // As an assignment the compiler writes it in pieces of 4 bytes wherever it loses sight of the alignment.
        SKIPPIPE_UNROLL
        for (unsigned k = 0; k < sizeof raw.words / 4; k += 4)
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(reinterpret_cast<std::uint32_t*>(to + i) + k),
                         "r"(raw.words[k]), "r"(raw.words[k + 1]), "r"(raw.words[k + 2]), "r"(raw.words[k + 3])
                         : "memory");
    }
#else
    __builtin_memcpy(to + i, &raw, sizeof raw);
#endif
}

struct Sum {
    SKIPPIPE_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
    /// A NaN wins, so that it is not lost.
    SKIPPIPE_DEVICE float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

/// Joins one value of each thread of a block again and again, in an order fixed by their number; every thread gets the
/// result. One barrier each: whoever comes to the next one writes into the other half of the scratch.
template <class Block>
class Reduction {
public:
    SKIPPIPE_DEVICE explicit Reduction(Block& block) : block_(block) {}
    template <class Join>
    SKIPPIPE_DEVICE float operator()(float value, Join join) {
        value = of_warp(value, join);
        float* of_warps = next_half();
        if (block_.thread() % warp == 0) of_warps[block_.thread() / warp] = value;
        block_.sync();
        value = of_warps[0];
        for (int i = 1; i < block_.threads() / warp; ++i) value = join(value, of_warps[i]);
        return value;
    }
    template <class Join>
    SKIPPIPE_DEVICE float of_warp(float value, Join join) {
        SKIPPIPE_UNROLL
        for (int mask = warp / 2; mask > 0; mask /= 2) value = join(value, block_.shuffle_xor(value, mask));
        return value;
    }
    /// 64 floats that nobody reads any more once all have come to the barrier after the next.
    SKIPPIPE_DEVICE float* next_half() {
        half_ = 2 * warp - half_;
        return block_.scratch() + half_;
    }

private:
    Block& block_;
    int half_ = 0;
};

/// Where this thread begins and how far it goes on, when all threads of all blocks share out elements.
template <class Block>
SKIPPIPE_DEVICE std::size_t first_element(const Block& block) {
    return static_cast<std::size_t>(block.index()) * static_cast<std::size_t>(block.threads()) +
           static_cast<std::size_t>(block.thread());
}
template <class Block>
SKIPPIPE_DEVICE std::size_t all_threads(const Block& block) {
    return static_cast<std::size_t>(block.blocks()) * static_cast<std::size_t>(block.threads());
}

/// work(row, unit) for `each` units of every row, shared out to all threads of all blocks. Fewer than 2^32 in all,
/// whose division is quick.
template <class Block, class Work>
SKIPPIPE_DEVICE void for_rows(const Block& block, std::size_t rows, std::size_t each, Work work) {
    const auto units = static_cast<std::uint32_t>(each);
    for (std::size_t i = first_element(block); i < rows * each; i += all_threads(block)) {
        const auto n = static_cast<std::uint32_t>(i), row = n / units;
        work(std::size_t{row}, std::size_t{n - row * units});
    }
}

/// work(i, Together<V>) for packs of n elements, shared out to all threads of all blocks, and work(i, Together<1>) for
/// those that are left over.
template <int V>
struct Together {};
template <int V, class Block, class Work>
SKIPPIPE_DEVICE void for_elements(const Block& block, std::size_t n, Work work) {
    for (std::size_t i = first_element(block); i < n / V; i += all_threads(block)) work(i * V, Together<V>{});
    if constexpr (V > 1)
        for (std::size_t i = n / V * V + first_element(block); i < n; i += all_threads(block)) work(i, Together<1>{});
}

}  // namespace skippipe::kernels::device
