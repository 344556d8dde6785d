// SPDX-License-Identifier: GPL-3.0-or-later
// Tokenised text on the disk. Reading it needs no tokenizer: sentencepiece and LibTorch cannot live in one process,
// since each brings its own protobuf under the same names; so `skippipe run` tokenises (core/tokenizer) and the worker
// reads.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/data/corpus.h"
#include "core/data/tokens.h"

namespace skippipe {

/// A token and how many bytes of the text it stands for.
struct MeasuredToken {
    std::uint32_t id = 0;
    std::uint32_t bytes = 0;
};

/// Where the tokens of a place's texts are kept, and how many bytes of content that is.
struct TokenCachePlace {
    std::filesystem::path
        path;  ///< in the cache folder, named by a hash of content, tokenizer and field read, not of names or dates
    std::string name;  ///< of the place, for faults and progress
    std::uint64_t content_bytes = 0;
};

/// Reads all of the content for its hash. Throws InputError where something is missing, or there is no cache folder.
TokenCachePlace token_cache_place(const DataSpec& spec, const DataPlace& place, const std::filesystem::path& tokenizer,
                                  const CorpusLimits& limits);

/// The tokens kept there; nothing where there are none, or they are damaged.
std::optional<TokenArray> open_cached_tokens(const TokenCachePlace& place);

/// Tokens on their way into the cache: the file appears whole with `finish` or not at all.
class TokenCacheWriter {
public:
    /// Throws InputError where it cannot be written, and so does each member.
    explicit TokenCacheWriter(const TokenCachePlace& place);
    ~TokenCacheWriter();
    void add(const std::vector<MeasuredToken>& tokens);
    /// Bytes of text without a token of their own, counted for the next.
    void carry(std::uint64_t bytes);
    void finish();

private:
    struct Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace skippipe
