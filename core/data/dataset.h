// SPDX-License-Identifier: GPL-3.0-or-later
// What an experiment's data is, as token sequences with weights.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/data/corpus.h"
#include "core/data/tokens.h"

namespace skippipe {

/// Tokens that samples come from.
struct TokenSource {
    TokenArray tokens;
    double weight = 1;  ///< share of the samples, over the sum of all weights
    std::string pointer = "/data";
};

struct Dataset {
    std::vector<TokenSource> sources;
    std::string description;  ///< "King James Bible, 4,404,412 bytes"
    std::string notice;       ///< what may be done with it
};

/// Opens the data; relative paths start at `base_dir`. Text with a tokenizer is read from the cache, where `tokenise`
/// (core/tokenizer) has put it. Throws InputError where something is missing or damaged.
Dataset open_dataset(const DataSpec& spec, const std::filesystem::path& base_dir, const CorpusLimits& limits = {});

/// One text whose bytes are the tokens.
Dataset byte_dataset(std::string text);

}  // namespace skippipe
