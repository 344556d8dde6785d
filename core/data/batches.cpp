// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/batches.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/rng.h"

namespace skippipe {

namespace {

constexpr std::uint64_t data_stream = 0x64617461;  // "data": apart from the streams of the weights

std::vector<double> weights_of(const Dataset& dataset) {
    std::vector<double> weights;
    for (const auto& source : dataset.sources) weights.push_back(source.weight);
    return weights;
}

void require_shape(const Dataset& dataset, const DataSpec& spec, const BatchShape& shape) {
    const bool listed = std::all_of(shape.sizes.begin(), shape.sizes.end(), [](int samples) { return samples >= 1; });
    const bool sizes =
        shape.microbatches >= 1 && shape.samples >= 1 && listed && shape.sequence >= 1 && spec.validation_samples >= 1;
    const bool weights =
        std::all_of(dataset.sources.begin(), dataset.sources.end(), [](const TokenSource& s) { return s.weight > 0; });
    if (!sizes || !weights || dataset.sources.empty() ||
        !(spec.validation_fraction > 0 && spec.validation_fraction < 1))
        throw InputError("/data", "samples, sequence, weights or the held-out share are out of range",
                         "a batch has at least one token", "Validate the experiment");
}

}  // namespace

BatchShape batch_shape(const Experiment& e) {
    return {e.pipeline.microbatches, e.pipeline.microbatch_samples, e.model.sequence, e.model.vocabulary,
            e.pipeline.microbatch_sizes};
}

std::uint64_t BatchShape::samples_before(int microbatch) const {
    const auto before = static_cast<std::uint64_t>(microbatch);
    if (sizes.empty()) return before * static_cast<std::uint64_t>(samples);
    std::uint64_t round = 0, rest = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        round += static_cast<std::uint64_t>(sizes[i]);
        if (i < before % sizes.size()) rest += static_cast<std::uint64_t>(sizes[i]);
    }
    return before / sizes.size() * round + rest;
}

Batches::Batches(Dataset dataset, const DataSpec& spec, const BatchShape& shape, std::uint64_t seed,
                 const Progress& progress)
    : weights_(weights_of(dataset)), shape_(shape), seed_(Rng(seed, data_stream).next()), mixture_(weights_) {
    require_shape(dataset, spec, shape);
    for (auto& source : dataset.sources) {
        sources_.emplace_back(std::move(source.tokens), shape.sequence, shape.vocabulary, spec.validation_fraction,
                              source.pointer, progress);
        pointers_.push_back(source.pointer);
        const auto& windows = sources_.back();
        if (windows.training() == 0)
            refuse_short(windows.tokens().name, windows.tokens().size, shape.sequence, source.pointer);
    }
    choose_validation(spec.validation_samples);
}

std::uint64_t Batches::hash() const {
    std::vector<std::uint64_t> hashes;
    for (const auto& source : sources_) hashes.push_back(source.hash());
    return XXH3_64bits(hashes.data(), hashes.size() * sizeof(std::uint64_t));
}

void Batches::choose_validation(int wanted) {
    std::uint64_t held_out = 0;
    double weight = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        held_out += sources_[s].held_out();
        if (sources_[s].held_out() > 0) weight += weights_[s];
    }
    if (held_out == 0)
        throw InputError("/data/validation_fraction", "no sample is held out for validation",
                         "a hash of its tokens decides, and none of these few fell below the share",
                         "Choose a longer text, a shorter sequence or a larger validation_fraction");
    double passed = 0;
    std::uint64_t before = 0;
    for (std::size_t s = 0; s < sources_.size(); ++s) {
        const auto have = sources_[s].held_out();
        if (have == 0) continue;
        passed += weights_[s];
        const auto until = static_cast<std::uint64_t>(passed / weight * wanted + 0.5);
        const auto take = std::min(have, until - before);
        before = until;
        for (std::uint64_t i = 0; i < take; ++i)
            validation_.push_back({s, sources_[s].held_out_start(take == 1 ? 0 : i * (have - 1) / (take - 1))});
    }
    std::int64_t bytes = 0;
    for (const auto& held : validation_) {
        const auto known = sources_[held.source].tokens().text_bytes(held.first_token + 1,
                                                                     static_cast<std::uint64_t>(shape_.sequence));
        if (known < 0) return;
        bytes += known;
    }
    bytes_per_token_ = static_cast<double>(bytes) / (static_cast<double>(validation_.size()) * shape_.sequence);
}

void Batches::append(std::size_t source, std::uint64_t first_token, Batch& batch) const {
    const auto length = static_cast<std::size_t>(shape_.sequence) + 1, at = batch.tokens.size();
    batch.tokens.resize(at + length);
    const auto values = std::span(batch.tokens).subspan(at);
    sources_[source].tokens().read(first_token, values);
    require_known(sources_[source].tokens(), first_token, values, shape_.vocabulary, pointers_[source]);
    ++batch.samples;
}

SamplePlace Batches::place(int iteration, int microbatch, int sample) const {
    const auto wide = [](int number) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(number)); };
    const auto number =
        wide(iteration) * shape_.samples_before(shape_.microbatches) + shape_.samples_before(microbatch) + wide(sample);
    const auto [source, index] = mixture_.at(number);
    const auto count = sources_[source].training();
    const SamplePlace at{source, index / count, index % count};
    const Permutation order(count, Rng(Rng(seed_, source).next(), at.epoch).next());
    return {source, at.epoch, at.position, sources_[source].training_start(order(at.position))};
}

Batch Batches::batch(int iteration, int microbatch) const {
    Batch batch{.sequence = shape_.sequence};
    batch.tokens.reserve((static_cast<std::size_t>(shape_.sequence) + 1) *
                         static_cast<std::size_t>(shape_.samples_of(microbatch)));
    for (int sample = 0; sample < shape_.samples_of(microbatch); ++sample) {
        const auto at = place(iteration, microbatch, sample);
        append(at.source, at.first_token, batch);
    }
    return batch;
}

Batch Batches::validation(int first, int count) const {
    if (first < 0 || count < 0 || count > validation_samples() - first) throw std::out_of_range("validation sequences");
    Batch batch{.sequence = shape_.sequence};
    for (int i = first; i < first + count; ++i)
        append(validation_[static_cast<std::size_t>(i)].source, validation_[static_cast<std::size_t>(i)].first_token,
               batch);
    return batch;
}

}  // namespace skippipe
