// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/shuffle.h"
#include "core/data/windows.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Samples of sequence + 1 tokens each: the first `sequence` are the input, the last `sequence` what to predict.
struct Batch {
    int samples = 0;
    int sequence = 0;
    std::vector<std::int32_t> tokens;  ///< samples x (sequence + 1), each below the vocabulary
    bool operator==(const Batch&) const = default;
};

struct BatchShape {
    int microbatches = 1;  ///< of an iteration
    int samples = 1;       ///< of a microbatch
    int sequence = 1;      ///< tokens
    int vocabulary = 256;
    std::vector<int> sizes;  ///< samples of microbatch m, entry m modulo their number; empty: `samples` each

    int samples_of(int microbatch) const {
        return sizes.empty() ? samples : sizes[static_cast<std::size_t>(microbatch) % sizes.size()];
    }
    /// Of the iteration's microbatches below this one.
    std::uint64_t samples_before(int microbatch) const;
};

/// Of an experiment's microbatches.
BatchShape batch_shape(const Experiment& experiment);

/// Where a training sample lies: a source's epoch and position count what it has given before.
struct SamplePlace {
    std::size_t source = 0;
    std::uint64_t epoch = 0, position = 0;
    std::uint64_t first_token = 0;
    bool operator==(const SamplePlace&) const = default;
};

/// Samples of a data set, a share of which is held out (Windows). What a batch holds depends on the seed and its two
/// numbers alone, not on who asks, when, or from which thread: so a run that is resumed reads on at the very token.
/// Each source is gone through in epochs: every window once, in an order drawn for that epoch; sources take turns by
/// weight.
class Batches {
public:
    /// Goes through all tokens once. Throws InputError where a source has no window for training, none at all is held
    /// out, or a token is not below the vocabulary.
    Batches(Dataset dataset, const DataSpec& spec, const BatchShape& shape, std::uint64_t seed,
            const Progress& progress = {});

    /// Throws InputError where a file has changed meanwhile and holds a token not below the vocabulary.
    Batch batch(int iteration, int microbatch) const;
    SamplePlace place(int iteration, int microbatch, int sample) const;

    /// Held-out sequences [first, first + count), evenly spaced over each source's, in numbers by weight.
    Batch validation(int first, int count) const;
    /// As many as asked for, or all that are held out.
    int validation_samples() const { return static_cast<int>(validation_.size()); }
    /// Bytes of text that a token to predict stands for, over the validation sequences; 0 where that is not known.
    double bytes_per_token() const { return bytes_per_token_; }

    /// Of all tokens of all sources: two data sets of one hash hold the same.
    std::uint64_t hash() const;

    int vocabulary() const { return shape_.vocabulary; }
    const std::vector<Windows>& sources() const { return sources_; }

private:
    struct Held {
        std::size_t source;
        std::uint64_t first_token;
    };
    void append(std::size_t source, std::uint64_t first_token, Batch& batch) const;
    void choose_validation(int wanted);

    std::vector<Windows> sources_;
    std::vector<std::string> pointers_;
    std::vector<double> weights_;
    std::vector<Held> validation_;
    BatchShape shape_;
    std::uint64_t seed_;
    Mixture mixture_;
    double bytes_per_token_ = 0;
};

}  // namespace skippipe
