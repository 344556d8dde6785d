// SPDX-License-Identifier: GPL-3.0-or-later
// Text to train on, from packages that apt installs or from the user.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/experiment/document.h"

namespace skippipe {

struct Corpus {
    std::string bytes;        ///< UTF-8
    std::string description;  ///< "King James Bible, 4,404,412 bytes"
    std::string notice;       ///< what may be done with it
};

struct CorpusLimits {
    std::uint64_t bytes = 1ull << 30;
    int files = 100'000;
};

/// Reads the corpus of `spec`; a relative path is taken from `base_dir` (the experiment file's folder).
/// Throws InputError where it is not installed, missing, unreadable, above the limits or not UTF-8.
Corpus load_corpus(const DataSpec& spec, const std::filesystem::path& base_dir, const CorpusLimits& limits = {});

/// Position of the first byte that is not well-formed UTF-8 (RFC 3629), npos where all is.
std::size_t find_invalid_utf8(std::string_view text);

/// Unpacks a gzip file. Throws InputError where it cannot be read, is damaged, or unpacks to more than `limit_bytes`.
std::string read_gzip(const std::filesystem::path& path, std::uint64_t limit_bytes);

/// $XDG_CACHE_HOME/skippipe-studio, or ~/.cache/skippipe-studio; empty where neither is known.
std::filesystem::path cache_folder();

}  // namespace skippipe
