// SPDX-License-Identifier: GPL-3.0-or-later
// Text to train on, from packages that apt installs or from the user.
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Where one part of the data lies.
struct DataPlace {
    std::filesystem::path path;  ///< file or folder; empty: installed by apt
    std::string pointer;         ///< of the document's field that names it, for faults
    double weight = 1;
};

struct CorpusNames {
    std::string description;  ///< "King James Bible"
    std::string notice;       ///< what may be done with it
};

struct CorpusLimits {
    std::uint64_t bytes = 1ull << 30;  ///< of text held in memory, where its bytes are the tokens
    int files = 100'000;
};

/// A document's text, valid during the call.
using TakeDocument = std::function<void(std::string_view)>;

CorpusNames name_corpus(const DataSpec& spec);

/// The parts of the data; a relative path is taken from `base_dir` (the experiment file's folder).
/// Throws InputError where the source needs a path and none is named.
std::vector<DataPlace> data_places(const DataSpec& spec, const std::filesystem::path& base_dir);

/// The files of a place: itself or, of a folder, those of the source's kind below it, sorted by path; none where it is
/// installed by apt. Throws InputError where it is missing, holds none or too many.
std::vector<std::filesystem::path> files_at(const DataSpec& spec, const DataPlace& place,
                                            const CorpusLimits& limits = {});

/// Hands on the texts of a place one after the other: the whole of an installed corpus, a file each for `text`, a line
/// each for `jsonl`. Throws InputError where a text is not installed, missing, unreadable, above the limits, not UTF-8
/// or not JSON lines.
void for_each_document(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits,
                       const TakeDocument& take);

/// All texts of a place in one; a newline ends each one of `jsonl`. Throws InputError as for_each_document does, and
/// where they are above the limit.
std::string load_text(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits = {});

/// Throws the InputError of texts above `limit` bytes, which are held in memory.
[[noreturn]] void refuse_size(const DataPlace& place, std::uint64_t limit);

/// Throws InputError where the source is a text that apt installs, and it is not there; says what to install.
void require_installed(DataSource source);

/// "4,404,412"
std::string grouped(std::uint64_t number);

/// Position of the first byte that is not well-formed UTF-8 (RFC 3629), npos where all is.
std::size_t find_invalid_utf8(std::string_view text);

/// Unpacks a gzip file. Throws InputError where it cannot be read, is damaged, or unpacks to more than `limit_bytes`.
std::string read_gzip(const std::filesystem::path& path, std::uint64_t limit_bytes);

/// $XDG_CACHE_HOME/skippipe-studio, or ~/.cache/skippipe-studio; empty where neither is known.
std::filesystem::path cache_folder();

}  // namespace skippipe
