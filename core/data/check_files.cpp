// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/check_files.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/data/llama_file.h"
#include "core/data/mapped_file.h"
#include "core/data/tokens.h"
#include "core/data/windows.h"

namespace skippipe {

namespace {

/// Throws InputError where a token that is looked at is not below the vocabulary.
void scan_tokens(const TokenArray& tokens, int vocabulary, const std::string& pointer, const TokenScan& scan) {
    const bool whole = tokens.size * width_of(tokens.type) <= scan.whole_bytes;
    const auto step = whole ? scan.sample_tokens : std::max(scan.sample_tokens, tokens.size / scan.samples);
    std::vector<std::int32_t> values;
    const auto look_at = [&](std::uint64_t first) {
        values.resize(std::min(scan.sample_tokens, tokens.size - first));
        tokens.read(first, values);
        require_known(tokens, first, values, vocabulary, pointer);
    };
    for (std::uint64_t first = 0; first < tokens.size; first += step) look_at(first);
    if (!whole) look_at(tokens.size - std::min(scan.sample_tokens, tokens.size));
}

void check_place(const Experiment& e, const DataPlace& place, const CorpusLimits& limits, const TokenScan& scan) {
    require_installed(e.data.source);
    std::uint64_t bytes = 0;
    for (const auto& file : files_at(e.data, place, limits)) {
        if (e.data.source != DataSource::tokens) {
            bytes += map_file(file, place.pointer).size;
            continue;
        }
        const auto tokens = open_tokens(file, place.pointer);
        if (tokens.size <= static_cast<std::uint64_t>(e.model.sequence))
            refuse_short(tokens.name, tokens.size, e.model.sequence, place.pointer);
        scan_tokens(tokens, e.model.vocabulary, place.pointer, scan);
    }
    if (e.data.source != DataSource::text || !e.data.tokenizer.empty()) return;
    if (bytes > limits.bytes) refuse_size(place, limits.bytes);
    if (bytes <= static_cast<std::uint64_t>(e.model.sequence))
        refuse_short(place.path.string(), bytes, e.model.sequence, place.pointer);
}

}  // namespace

Faults check_files(const Experiment& experiment, const std::filesystem::path& base_dir, const CorpusLimits& limits,
                   const TokenScan& scan) {
    if (experiment.execution.compute == Compute::cost) return {};
    Faults faults;
    const auto collect = [&](const auto& check) {
        try {
            check();
        } catch (const InputError& error) {
            faults.insert(faults.end(), error.faults().begin(), error.faults().end());
        }
    };
    const auto& data = experiment.data;
    std::vector<DataPlace> places;
    collect([&] { places = data_places(data, base_dir); });
    for (const auto& place : places) collect([&] { check_place(experiment, place, limits, scan); });
    if (!data.tokenizer.empty() && data.source != DataSource::tokens)
        collect([&] { map_file(base_dir / data.tokenizer, "/data/tokenizer", "it cuts the text into tokens"); });
    if (const auto& weights = experiment.training.initial_weights; !weights.empty())
        collect([&] {
            const auto said = LlamaFile(base_dir / weights, experiment.model).warnings();
            faults.insert(faults.end(), said.begin(), said.end());
        });
    return faults;
}

}  // namespace skippipe
