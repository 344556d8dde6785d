// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/token_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/mapped_file.h"
#include "core/experiment/atomic_file.h"
#include "core/experiment/describe.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t format_mark = 0x31534E454B4F54ULL;  // "TOKENS1", at the end of a whole file

struct Trailer {
    std::uint64_t mark = format_mark, tokens = 0, checksum = 0;
};

XXH128_hash_t hash_of(const MappedFile& file) { return XXH3_128bits(file.data, file.size); }

/// A hash of pieces, each with its length.
class PieceHash {
public:
    PieceHash() { XXH3_128bits_reset(&state_); }
    void add(std::string_view bytes) {
        const std::uint64_t size = bytes.size();
        XXH3_128bits_update(&state_, &size, sizeof size);
        XXH3_128bits_update(&state_, bytes.data(), bytes.size());
        total_ += size;
    }
    std::uint64_t total_bytes() const { return total_; }
    std::string hex() const {
        const auto hash = XXH3_128bits_digest(&state_);
        return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
    }

private:
    XXH3_state_t state_;
    std::uint64_t total_ = 0;
};

}  // namespace

TokenCachePlace token_cache_place(const DataSpec& spec, const DataPlace& place, const fs::path& tokenizer,
                                  const CorpusLimits& limits) {
    const auto folder = cache_folder() / "tokens";
    if (!folder.is_absolute())
        throw InputError("/data/tokenizer", "there is no cache folder", "tokenised text is kept there",
                         "Set HOME or XDG_CACHE_HOME");
    PieceHash content;
    const auto files = files_at(spec, place, limits);
    for (const auto& path : files) {
        const auto file = map_file(path, place.pointer);
        content.add({reinterpret_cast<const char*>(file.data), file.size});
    }
    if (files.empty()) for_each_document(spec, place, limits, [&](std::string_view text) { content.add(text); });
    const auto total = content.total_bytes();
    const auto model = hash_of(map_file(tokenizer, "/data/tokenizer"));
    content.add(fmt::format("{} {:016x}{:016x} {}", name_of(spec.source), model.high64, model.low64,
                            spec.source == DataSource::jsonl ? spec.text_field : ""));
    return {folder / (content.hex() + ".tokens"),
            place.path.empty() ? name_corpus(spec).description : place.path.string(), total};
}

std::optional<TokenArray> open_cached_tokens(const TokenCachePlace& place) {
    std::error_code error;
    if (!fs::is_regular_file(place.path, error)) return {};
    const auto file = map_file(place.path, "/data/tokenizer");
    Trailer trailer;
    if (file.size < sizeof trailer || (file.size - sizeof trailer) % 4 != 0) return {};
    const auto bytes = file.size - sizeof trailer;
    std::memcpy(&trailer, file.data + bytes, sizeof trailer);
    if (trailer.mark != format_mark || trailer.tokens != bytes / 4 || trailer.checksum != XXH3_64bits(file.data, bytes))
        return {};
    return TokenArray{file.owner, file.data, trailer.tokens, TokenType::measured, place.name};
}

struct TokenCacheWriter::Implementation {
    explicit Implementation(const fs::path& path) : file(path) { XXH3_64bits_reset(&state); }
    AtomicFile file;
    XXH3_state_t state;
    std::vector<std::uint32_t> words;
    std::uint64_t carried = 0, count = 0;
};

TokenCacheWriter::TokenCacheWriter(const TokenCachePlace& place) {
    std::error_code error;
    fs::create_directories(place.path.parent_path(), error);
    implementation_ = std::make_unique<Implementation>(place.path);
}

TokenCacheWriter::~TokenCacheWriter() = default;

void TokenCacheWriter::add(const std::vector<MeasuredToken>& tokens) {
    auto& self = *implementation_;
    self.words.clear();
    for (const auto& token : tokens) {
        self.carried += token.bytes;
        const auto bytes = std::min<std::uint64_t>(self.carried, 255);  // the rest goes to the next: sums stay right
        self.carried -= bytes;
        self.words.push_back(token.id | static_cast<std::uint32_t>(bytes) << 24);
    }
    const std::string_view packed(reinterpret_cast<const char*>(self.words.data()),
                                  self.words.size() * sizeof(std::uint32_t));
    XXH3_64bits_update(&self.state, packed.data(), packed.size());
    self.file.write(packed);
    self.count += self.words.size();
}

void TokenCacheWriter::carry(std::uint64_t bytes) { implementation_->carried += bytes; }

void TokenCacheWriter::finish() {
    auto& self = *implementation_;
    const Trailer trailer{format_mark, self.count, XXH3_64bits_digest(&self.state)};
    self.file.write({reinterpret_cast<const char*>(&trailer), sizeof trailer});
    self.file.commit();
}

}  // namespace skippipe
