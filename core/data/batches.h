// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Samples of sequence + 1 byte tokens each: the first `sequence` are the input, the last `sequence` what to predict.
struct Batch {
    int samples = 0;
    int sequence = 0;
    std::vector<std::uint8_t> tokens;  ///< samples x (sequence + 1)
    bool operator==(const Batch&) const = default;
};

/// Byte-level samples of a corpus whose last part is held out. What a batch holds depends on the seed and its two numbers
/// alone, not on who asks, when, or from which thread.
class Batches {
public:
    /// `sizes`: samples of microbatch m, entry m modulo their number; empty: `microbatch_samples` each.
    /// Throws InputError where either part is shorter than one sample.
    Batches(std::string corpus, const DataSpec& spec, int microbatch_samples, int sequence, std::uint64_t seed, std::vector<int> sizes = {});

    /// Drawn uniformly, with replacement, from the training part.
    Batch batch(int iteration, int microbatch) const;
    /// Validation sequences [first, first + count), evenly spaced over the held-out part.
    Batch validation(int first, int count) const;
    int validation_samples() const { return validation_samples_; }

    std::span<const char> training_part() const { return std::span(corpus_).first(training_bytes_); }
    std::span<const char> held_out_part() const { return std::span(corpus_).subspan(training_bytes_); }

private:
    std::string corpus_;
    std::size_t training_bytes_ = 0;
    int samples_, sequence_, validation_samples_;
    std::uint64_t seed_;
    std::vector<int> sizes_;
};

}  // namespace skippipe
