// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/tokenizer/tokenizer.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/mapped_file.h"

namespace skippipe {

namespace {

constexpr const char* pointer = "/data/tokenizer";
constexpr std::size_t piece_bytes = 256u << 10;
constexpr std::size_t max_model_bytes = 256u << 20;

/// Length of the next piece: all, or up to the last end of a line, else the last blank, else whole characters.
std::size_t next_piece(std::string_view text) {
    if (text.size() <= piece_bytes) return text.size();
    const auto head = text.substr(0, piece_bytes);
    for (const char end : {'\n', ' '})
        if (const auto at = head.rfind(end); at != std::string_view::npos) return at + 1;
    std::size_t length = piece_bytes;
    while (length > 1 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) --length;
    return length;
}

}  // namespace

struct Tokenizer::Implementation {
    sentencepiece::SentencePieceProcessor processor;

    /// Tokens of one piece; `pending` bytes of text have no token yet.
    void encode(std::string_view piece, std::uint32_t& pending, std::vector<MeasuredToken>& out) const {
        const auto found = processor.EncodeAsImmutableProto(std::string(piece));
        std::uint32_t done = 0;
        for (std::size_t i = 0; i < found.pieces_size(); ++i) {
            const auto token = found.pieces(static_cast<int>(i));
            const auto end = std::clamp(token.end(), done, static_cast<std::uint32_t>(piece.size()));
            out.push_back({token.id(), end - done + std::exchange(pending, 0)});
            done = end;
        }
        pending += static_cast<std::uint32_t>(piece.size()) - done;
    }
};

Tokenizer::Tokenizer(const std::filesystem::path& model) : implementation_(std::make_unique<Implementation>()) {
    const auto refuse = [&](const std::string& what) {
        return InputError(
            pointer, model.string() + " " + what, "it turns text into tokens",
            "Name a sentencepiece model (most often tokenizer.model or *.model), or leave it out to train on bytes");
    };
    const auto file = map_file(model, pointer);
    if (file.size == 0 || file.size > max_model_bytes) throw refuse("is empty or too large for a sentencepiece model");
    auto& processor = implementation_->processor;
    const auto status =
        processor.LoadFromSerializedProto(std::string(reinterpret_cast<const char*>(file.data), file.size));
    if (!status.ok()) throw refuse("is no sentencepiece model: " + status.ToString());
    if (processor.GetPieceSize() < 1 || processor.GetPieceSize() >= 1 << 24)
        throw refuse(fmt::format("has {} pieces", processor.GetPieceSize()));
}

Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

int Tokenizer::vocabulary() const { return implementation_->processor.GetPieceSize(); }

std::uint32_t Tokenizer::encode(std::string_view document,
                                const std::function<void(const std::vector<MeasuredToken>&)>& take) const {
    std::uint32_t pending = 0;
    std::vector<MeasuredToken> tokens;
    const int end = implementation_->processor.eos_id();
    do {
        const auto length = next_piece(document);
        tokens.clear();
        implementation_->encode(document.substr(0, length), pending, tokens);
        document.remove_prefix(length);
        if (document.empty() && end >= 0)
            tokens.push_back({static_cast<std::uint32_t>(end), std::exchange(pending, 0)});
        take(tokens);
    } while (!document.empty());
    return pending;
}

namespace {

void tokenise_place(const DataSpec& spec, const DataPlace& place, const Tokenizer& tokenizer,
                    const TokenCachePlace& cache, const CorpusLimits& limits, const Progress& progress) {
    TokenCacheWriter writer(cache);
    std::uint64_t done = 0;
    const double total = static_cast<double>(std::max<std::uint64_t>(1, cache.content_bytes));
    for_each_document(spec, place, limits, [&](std::string_view document) {
        writer.carry(tokenizer.encode(document, [&](const std::vector<MeasuredToken>& tokens) {
            writer.add(tokens);
            for (const auto& token : tokens) done += token.bytes;
            if (progress) progress("tokenising " + cache.name, std::min(1.0, static_cast<double>(done) / total));
        }));
    });
    writer.finish();
}

}  // namespace

std::optional<Tokenizer> open_tokenizer(const DataSpec& spec, const std::filesystem::path& base_dir, int vocabulary) {
    if (spec.tokenizer.empty() || spec.source == DataSource::tokens) return {};
    Tokenizer tokenizer(base_dir / spec.tokenizer);
    if (tokenizer.vocabulary() > vocabulary)
        throw InputError(
            "/model/vocabulary",
            fmt::format("the tokenizer has {} pieces, the model knows {}", tokenizer.vocabulary(), vocabulary),
            "the model needs a row for each", fmt::format("Set it to {}", tokenizer.vocabulary()));
    return tokenizer;
}

void tokenise(const DataSpec& spec, const std::filesystem::path& base_dir, int vocabulary, const Progress& progress,
              const CorpusLimits& limits) {
    const auto tokenizer = open_tokenizer(spec, base_dir, vocabulary);
    if (!tokenizer) return;
    for (const auto& place : data_places(spec, base_dir)) {
        const auto cache = token_cache_place(spec, place, base_dir / spec.tokenizer, limits);
        if (!open_cached_tokens(cache)) tokenise_place(spec, place, *tokenizer, cache, limits, progress);
    }
}

}  // namespace skippipe
