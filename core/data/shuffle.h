// SPDX-License-Identifier: GPL-3.0-or-later
// Orders that need no memory: any place in them is found from its number alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace skippipe {

/// A pseudo-random order of 0 .. n-1: a Feistel network over the next power of four, walked until it lands below n
/// (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). n >= 1.
class Permutation {
public:
    Permutation(std::uint64_t n, std::uint64_t seed);
    std::uint64_t operator()(std::uint64_t i) const;

private:
    static constexpr int rounds = 6;
    std::uint64_t n_;
    int half_bits_ = 1;
    std::uint64_t keys_[rounds];
};

/// Which of several sources gives the k-th sample, and how many samples that source has given before. Among the first k
/// samples the count of each source is its share of k to within 1.5, for every k. Weights are above 0.
class Mixture {
public:
    explicit Mixture(const std::vector<double>& weights);
    struct Place {
        std::size_t source = 0;
        std::uint64_t index = 0;
    };
    Place at(std::uint64_t k) const;

private:
    std::vector<double> shares_;  ///< of a source, among it and those after it
};

}  // namespace skippipe
