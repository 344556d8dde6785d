// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/batches.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/rng.h"

namespace skippipe {

namespace {

constexpr std::uint64_t data_stream = 0x64617461;  // "data": apart from the streams of the weights

void append(std::span<const char> text, std::size_t at, std::size_t count, Batch& batch) {
    for (const char c : text.subspan(at, count)) batch.tokens.push_back(static_cast<std::uint8_t>(c));
    ++batch.samples;
}

void require_length(std::size_t bytes, int sequence, const char* part, const char* remedy) {
    if (bytes > static_cast<std::size_t>(sequence)) return;
    throw InputError("/data", fmt::format("the corpus is too small: its {} part has {} bytes", part, bytes),
                     fmt::format("a sample of {} tokens takes {} bytes", sequence, static_cast<long long>(sequence) + 1), remedy);
}

}  // namespace

Batches::Batches(std::string corpus, const DataSpec& spec, int microbatch_samples, int sequence, std::uint64_t seed, std::vector<int> sizes)
    : corpus_(std::move(corpus)), samples_(microbatch_samples), sequence_(sequence), validation_samples_(spec.validation_samples), seed_(seed), sizes_(std::move(sizes)) {
    const bool sized = std::all_of(sizes_.begin(), sizes_.end(), [](int samples) { return samples >= 1; });
    if (samples_ < 1 || !sized || sequence_ < 1 || validation_samples_ < 1 || !(spec.validation_fraction > 0 && spec.validation_fraction < 1))
        throw InputError("/data", "samples, sequence or the held-out share is out of range", "a batch has at least one token", "Validate the experiment");
    const auto held_out = static_cast<std::size_t>(std::ceil(static_cast<double>(corpus_.size()) * spec.validation_fraction));
    training_bytes_ = corpus_.size() - std::min(held_out, corpus_.size());
    require_length(training_bytes_, sequence_, "training", "Choose a longer text or a shorter sequence");
    require_length(corpus_.size() - training_bytes_, sequence_, "held-out", "Choose a longer text, a shorter sequence or a larger validation_fraction");
}

Batch Batches::batch(int iteration, int microbatch) const {
    const auto stream = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(iteration)) << 32) | static_cast<std::uint32_t>(microbatch);
    Rng rng(Rng(seed_, data_stream).next(), stream);
    const auto length = static_cast<std::size_t>(sequence_) + 1;
    const int samples = sizes_.empty() ? samples_ : sizes_[static_cast<std::size_t>(microbatch) % sizes_.size()];
    Batch batch{.sequence = sequence_};
    batch.tokens.reserve(length * static_cast<std::size_t>(samples));
    for (int sample = 0; sample < samples; ++sample) append(training_part(), rng.below(training_bytes_ - length + 1), length, batch);
    return batch;
}

Batch Batches::validation(int first, int count) const {
    if (first < 0 || count < 0 || count > validation_samples_ - first) throw std::out_of_range("validation sequences");
    const auto length = static_cast<std::size_t>(sequence_) + 1;
    const auto places = held_out_part().size() - length;
    Batch batch{.sequence = sequence_};
    batch.tokens.reserve(length * static_cast<std::size_t>(count));
    for (int i = first; i < first + count; ++i) {
        const auto at = validation_samples_ == 1 ? 0 : places * static_cast<std::size_t>(i) / static_cast<std::size_t>(validation_samples_ - 1);
        append(held_out_part(), at, length, batch);
    }
    return batch;
}

}  // namespace skippipe
