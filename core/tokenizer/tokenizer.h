// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/data/token_cache.h"
#include "core/data/windows.h"

namespace skippipe {

/// A sentencepiece model.
class Tokenizer {
public:
    /// Throws InputError at /data/tokenizer where it cannot be read or is no sentencepiece model.
    explicit Tokenizer(const std::filesystem::path& model);
    Tokenizer(Tokenizer&&) noexcept;
    ~Tokenizer();

    int vocabulary() const;
    /// Hands on the tokens of one document, at most 256 KiB of text at a time, cut at ends of lines, else at blanks;
    /// the model's end-of-sentence token last where it has one. Bytes that no token stands for (blanks that the model
    /// drops) count for the next. Returns those left at the end of a document without an end-of-sentence token.
    std::uint32_t encode(std::string_view document,
                         const std::function<void(const std::vector<MeasuredToken>&)>& take) const;

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

/// The data's tokenizer; nothing where the data need none. Throws InputError where it is missing or damaged, or has
/// more pieces than `vocabulary`.
std::optional<Tokenizer> open_tokenizer(const DataSpec& spec, const std::filesystem::path& base_dir, int vocabulary);

/// Tokenises what of the data is not in the cache yet; nothing where the data need no tokenizer. Throws InputError
/// where something is missing or damaged, and as open_tokenizer does.
void tokenise(const DataSpec& spec, const std::filesystem::path& base_dir, int vocabulary,
              const Progress& progress = {}, const CorpusLimits& limits = {});

}  // namespace skippipe
