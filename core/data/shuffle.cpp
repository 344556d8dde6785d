// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/shuffle.h"

#include <cmath>

#include "core/base/rng.h"

namespace skippipe {

namespace {

std::uint64_t mixed(std::uint64_t x) {  // MurmurHash3's finaliser (Appleby)
    x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDULL;
    x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53ULL;
    return x ^ (x >> 33);
}

}  // namespace

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n) {
    while (half_bits_ < 32 && (1ull << (2 * half_bits_)) < n) ++half_bits_;
    Rng rng(seed);
    for (auto& key : keys_) key = rng.next();
}

std::uint64_t Permutation::operator()(std::uint64_t i) const {
    const std::uint64_t mask = (1ull << half_bits_) - 1;
    do {
        std::uint64_t left = i >> half_bits_, right = i & mask;
        for (const auto key : keys_) {
            const auto next = left ^ (mixed(right ^ key) & mask);
            left = right;
            right = next;
        }
        i = left << half_bits_ | right;
    } while (i >= n_);
    return i;
}

Mixture::Mixture(const std::vector<double>& weights) : shares_(weights.size(), 1.0) {
    double rest = 0;
    for (std::size_t i = weights.size(); i-- > 0;) {
        rest += weights[i];
        if (i + 1 < weights.size()) shares_[i] = weights[i] / rest;
    }
}

Mixture::Place Mixture::at(std::uint64_t k) const {
    // Of the samples that reach a source it takes its share, evenly spread, and leaves the others to those after it.
    for (std::size_t source = 0;; ++source) {
        if (source + 1 == shares_.size()) return {source, k};
        const auto taken = [&](std::uint64_t samples) {
            return static_cast<std::uint64_t>(std::floor(static_cast<double>(samples) * shares_[source] + 0.5));
        };
        const auto before = taken(k);
        if (taken(k + 1) > before) return {source, before};
        k -= before;
    }
}

}  // namespace skippipe
