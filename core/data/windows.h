// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/data/tokens.h"

namespace skippipe {

/// How far something long has come: what, and its share from 0 to 1.
using Progress = std::function<void(const std::string& what, double share)>;

/// A token sequence cut into windows of `sequence` + 1 tokens, each beginning with the last token of the one before
/// (the target of one is the input of the next); a rest too short for a window is left out.
///
/// A window is held out where a hash of its tokens is below the held-out share. So a window's side depends on what it
/// says alone: adding, renaming or reordering files moves nothing, every machine agrees, and a passage that occurs
/// twice is never trained on and validated on. It does depend on where the windows begin, thus on `sequence`.
class Windows {
public:
    /// Goes through all tokens once. Throws InputError at `pointer`, naming file and position, where one is not below
    /// `vocabulary`.
    Windows(TokenArray tokens, int sequence, int vocabulary, double held_out_share, const std::string& pointer,
            const Progress& progress = {});

    std::uint64_t training() const { return count_ - held_out(); }
    std::uint64_t held_out() const { return before_.back(); }
    /// First token of the k-th window of either side.
    std::uint64_t training_start(std::uint64_t k) const {
        return find(k, false) * static_cast<std::uint64_t>(sequence_);
    }
    std::uint64_t held_out_start(std::uint64_t k) const {
        return find(k, true) * static_cast<std::uint64_t>(sequence_);
    }
    const TokenArray& tokens() const { return tokens_; }
    /// XXH3 of all tokens as they are stored, whatever the windows.
    std::uint64_t hash() const { return hash_; }

private:
    std::uint64_t find(std::uint64_t k, bool held_out) const;

    TokenArray tokens_;
    int sequence_;
    std::uint64_t count_ = 0, hash_ = 0;
    std::vector<std::uint64_t> bits_;    ///< a bit a window: held out
    std::vector<std::uint64_t> before_;  ///< held-out windows before each word of bits, and all of them
};

/// Throws InputError where a token read from `tokens` at `first` is not below `vocabulary`.
void require_known(const TokenArray& tokens, std::uint64_t first, std::span<const std::int32_t> values, int vocabulary,
                   const std::string& pointer);

/// Throws the InputError of data from which no sample can be cut: a sample takes `sequence` + 1 tokens.
[[noreturn]] void refuse_short(const std::string& name, std::uint64_t tokens, int sequence, const std::string& pointer);

}  // namespace skippipe
