// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels of a GPU are written in: plain functions over a Block, the threads that share memory and barriers. nvcc
// compiles them with CudaBlock (cuda_block.h); the tests run the same source on the CPU, with a Block whose threads are
// taken in random order. A Block has
//   thread(), threads()     which thread of how many, a multiple of 32 and at most 1,024
//   index(), blocks()       which block of how many
//   sync()                  all threads of the block arrive before any goes on
//   shuffle_xor(x, mask)    x of the thread of the same 32 whose number differs in the bits of mask; all 32 call it
//   scratch()               64 floats that the threads of the block share; uninitialised
#pragma once
#include <math.h>

#include <cstddef>
#include <cstdint>

#if defined(__CUDA__) || defined(__CUDACC__)
#define SKIPPIPE_DEVICE __device__ inline
#else
#define SKIPPIPE_DEVICE inline
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

struct Sum {
    SKIPPIPE_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Maximum {
    /// A NaN wins, so that it is not lost.
    SKIPPIPE_DEVICE float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

/// One value of all threads of the block, in an order fixed by their number; every thread gets it.
template <class Block, class Join>
SKIPPIPE_DEVICE float reduce(Block& block, float value, Join join) {
    for (int mask = warp / 2; mask > 0; mask /= 2) value = join(value, block.shuffle_xor(value, mask));
    float* of_warps = block.scratch();
    if (block.thread() % warp == 0) of_warps[block.thread() / warp] = value;
    block.sync();
    value = of_warps[0];
    for (int i = 1; i < block.threads() / warp; ++i) value = join(value, of_warps[i]);
    block.sync();  // before anybody writes there again
    return value;
}

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

}  // namespace skippipe::kernels::device
