// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

namespace skippipe {

/// Small seeded generator (xoshiro256**, Blackman and Vigna; seeded by SplitMix64).
/// The standard library's distributions differ between implementations; these do not, so seeds mean the same
/// everywhere.
class Rng {
public:
    explicit Rng(std::uint64_t seed) {
        for (auto& word : state_) word = split_mix(seed);
    }

    /// An independent stream: the same (seed, stream) gives the same numbers whoever asks first.
    Rng(std::uint64_t seed, std::uint64_t stream) : Rng(seed ^ (0x9E3779B97F4A7C15ULL * (stream + 1))) {}

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9;
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = rotate(state_[3], 45);
        return result;
    }

    /// Uniform in [0, n); n > 0. (Multiply-shift; the bias is below n / 2^64.)
    std::uint64_t below(std::uint64_t n) { return static_cast<std::uint64_t>((Wide{next()} * n) >> 64); }

    /// Uniform in [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    /// Fisher-Yates.
    template <class Range>
    void shuffle(Range& range) {
        for (std::size_t i = range.size(); i > 1; --i) std::swap(range[i - 1], range[below(i)]);
    }

private:
    __extension__ using Wide = unsigned __int128;

    static std::uint64_t rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
    static std::uint64_t split_mix(std::uint64_t& x) {
        std::uint64_t z = (x += 0x9E3779B97F4A7C15ULL);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
        return z ^ (z >> 31);
    }

    std::uint64_t state_[4]{};
};

}  // namespace skippipe
