// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>

#include "core/base/fault.h"
#include "core/data/corpus.h"
#include "core/experiment/document.h"

namespace skippipe {

/// How much of a token file is looked at for tokens beyond the vocabulary: all of it up to `whole_bytes` (a fraction of
/// a second), else samples evenly spread over it. Whoever trains looks at every token.
struct TokenScan {
    std::uint64_t whole_bytes = 256u << 20;
    std::uint64_t samples = 1024, sample_tokens = 1 << 14;
};

/// What can be known, before anything is planned or started, of the files that an experiment names: data and tokenizer
/// are there, readable and of their format, a token file holds no token beyond the vocabulary and enough for a sample,
/// and initial weights fit the model. Nothing where nothing is computed (execution.compute cost). Relative paths start
/// at `base_dir`. Every fault that is found, warnings too.
Faults check_files(const Experiment& experiment, const std::filesystem::path& base_dir, const CorpusLimits& limits = {},
                   const TokenScan& scan = {});

}  // namespace skippipe
