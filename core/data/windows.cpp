// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/windows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/corpus.h"

namespace skippipe {

namespace {

constexpr std::uint64_t windows_a_report = 1 << 14;

std::uint64_t threshold(double share) {
    return static_cast<std::uint64_t>(std::ldexp(std::clamp(share, 0.0, 0.999999), 64));
}

}  // namespace

void require_known(const TokenArray& tokens, std::uint64_t first, std::span<const std::int32_t> values, int vocabulary,
                   const std::string& pointer) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] >= 0 && values[i] < vocabulary) continue;
        const auto what = values[i] < 0 ? std::string("is negative or too large")
                                        : fmt::format("is {}", grouped(static_cast<std::uint64_t>(values[i])));
        throw InputError(pointer, fmt::format("token {} of {} {}", grouped(first + i), tokens.name, what),
                         fmt::format("the model knows tokens 0 to {}", vocabulary - 1),
                         "Set /model/vocabulary to the tokenizer's, or check that the file holds tokens of that type");
    }
}

void refuse_short(const std::string& name, std::uint64_t tokens, int sequence, const std::string& pointer) {
    throw InputError(pointer,
                     fmt::format("{} is too small: {} tokens leave nothing to train on", name, grouped(tokens)),
                     fmt::format("a sample takes {} tokens, and a share of the samples is held out",
                                 grouped(static_cast<std::uint64_t>(sequence) + 1)),
                     "Choose a longer text or a shorter sequence");
}

Windows::Windows(TokenArray tokens, int sequence, int vocabulary, double held_out_share, const std::string& pointer,
                 const Progress& progress)
    : tokens_(std::move(tokens)), sequence_(sequence) {
    const auto step = static_cast<std::uint64_t>(sequence);
    count_ = tokens_.size > 0 ? (tokens_.size - 1) / step : 0;
    bits_.assign((count_ + 63) / 64, 0);
    std::vector<std::int32_t> window(step + 1);
    const auto limit = threshold(held_out_share);
    XXH3_state_t whole;
    XXH3_64bits_reset(&whole);
    const auto add = [&](std::uint64_t first, std::uint64_t count) {
        const auto width = width_of(tokens_.type);
        XXH3_64bits_update(&whole, tokens_.data + first * width, count * width);
    };
    for (std::uint64_t i = 0; i < count_; ++i) {
        tokens_.read(i * step, window);
        require_known(tokens_, i * step, window, vocabulary, pointer);
        add(i * step, step);
        if (XXH3_64bits(window.data(), window.size() * sizeof(std::int32_t)) < limit) bits_[i / 64] |= 1ull << (i % 64);
        if (progress && i % windows_a_report == 0)
            progress("reading " + tokens_.name, static_cast<double>(i) / static_cast<double>(count_));
    }
    add(count_ * step, tokens_.size - count_ * step);
    hash_ = XXH3_64bits_digest(&whole);
    before_.assign(bits_.size() + 1, 0);
    for (std::size_t w = 0; w < bits_.size(); ++w)
        before_[w + 1] = before_[w] + static_cast<std::uint64_t>(std::popcount(bits_[w]));
}

std::uint64_t Windows::find(std::uint64_t k, bool held_out) const {
    // Words before the one that holds the k-th of its side, by bisection; then its bits.
    const auto count_before = [&](std::size_t word) { return held_out ? before_[word] : 64 * word - before_[word]; };
    std::size_t low = 0, high = bits_.size();
    while (high - low > 1) {
        const auto middle = low + (high - low) / 2;
        (count_before(middle) <= k ? low : high) = middle;
    }
    auto word = held_out ? bits_[low] : ~bits_[low];
    for (auto left = k - count_before(low); left > 0; --left) word &= word - 1;
    return 64 * low + static_cast<std::uint64_t>(std::countr_zero(word));
}

}  // namespace skippipe
