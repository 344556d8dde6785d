// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/dataset.h"

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/token_cache.h"

namespace skippipe {

namespace {

/// A place's token files; each has its part of the place's weight by its size, so that all are read equally often.
void add_token_files(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits,
                     std::vector<TokenSource>& sources) {
    const auto first = sources.size();
    double total = 0;
    for (const auto& file : files_at(spec, place, limits)) {
        sources.push_back({open_tokens(file, place.pointer), 0, place.pointer});
        total += static_cast<double>(sources.back().tokens.size);
    }
    for (auto i = first; i < sources.size(); ++i)
        sources[i].weight = place.weight * static_cast<double>(sources[i].tokens.size) / total;
}

TokenArray cached_tokens(const DataSpec& spec, const DataPlace& place, const std::filesystem::path& base_dir,
                         const CorpusLimits& limits) {
    const auto cache = token_cache_place(spec, place, base_dir / spec.tokenizer, limits);
    if (auto tokens = open_cached_tokens(cache)) return *tokens;
    throw InputError(
        "/data/tokenizer", cache.name + " has not been tokenised, or changed since",
        "its tokens are read from " + cache.path.string() + ", where `skippipe` puts them on rank 0's host",
        "On several hosts, set XDG_CACHE_HOME on each to a folder that all of them share; else start "
        "again, which tokenises");
}

}  // namespace

Dataset open_dataset(const DataSpec& spec, const std::filesystem::path& base_dir, const CorpusLimits& limits) {
    auto names = name_corpus(spec);
    Dataset dataset{{}, std::move(names.description), std::move(names.notice)};
    const bool tokens_given = spec.source == DataSource::tokens;
    const bool tokenised = !tokens_given && !spec.tokenizer.empty();
    for (const auto& place : data_places(spec, base_dir)) {
        const auto name = place.path.empty() ? dataset.description : place.path.string();
        if (tokens_given)
            add_token_files(spec, place, limits, dataset.sources);
        else if (tokenised)
            dataset.sources.push_back({cached_tokens(spec, place, base_dir, limits), place.weight, place.pointer});
        else
            dataset.sources.push_back({byte_tokens(load_text(spec, place, limits), name), place.weight, place.pointer});
    }
    std::uint64_t total = 0;
    for (const auto& source : dataset.sources) total += source.tokens.size;
    dataset.description += fmt::format(", {} {}", grouped(total), tokens_given || tokenised ? "tokens" : "bytes");
    return dataset;
}

Dataset byte_dataset(std::string text) {
    return {{{byte_tokens(std::move(text), "the text"), 1, "/data"}}, "a text", ""};
}

}  // namespace skippipe
