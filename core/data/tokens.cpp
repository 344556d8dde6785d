// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/tokens.h"

#include <bit>
#include <cstring>
#include <limits>

namespace skippipe {

static_assert(std::endian::native == std::endian::little, "token files are read as they lie on the disk");

namespace {

constexpr std::uint32_t token_bits = 24;

template <class Stored>
void widen(const std::byte* from, std::span<std::int32_t> out) {
    for (std::size_t i = 0; i < out.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, from + i * sizeof stored, sizeof stored);
        const bool fits = stored >= 0 && static_cast<std::uint64_t>(stored) <= std::numeric_limits<std::int32_t>::max();
        out[i] = fits ? static_cast<std::int32_t>(stored) : -1;
    }
}

std::uint32_t word_at(const std::byte* data, std::uint64_t i) {
    std::uint32_t word;
    std::memcpy(&word, data + i * sizeof word, sizeof word);
    return word;
}

}  // namespace

std::size_t width_of(TokenType type) {
    switch (type) {
        case TokenType::text:
        case TokenType::uint8:
        case TokenType::int8: return 1;
        case TokenType::uint16:
        case TokenType::int16: return 2;
        case TokenType::uint32:
        case TokenType::int32:
        case TokenType::measured: return 4;
        case TokenType::uint64:
        case TokenType::int64: return 8;
    }
    return 1;
}

void TokenArray::read(std::uint64_t first, std::span<std::int32_t> out) const {
    const auto* from = data + first * width_of(type);
    switch (type) {
        case TokenType::text:
        case TokenType::uint8: return widen<std::uint8_t>(from, out);
        case TokenType::int8: return widen<std::int8_t>(from, out);
        case TokenType::uint16: return widen<std::uint16_t>(from, out);
        case TokenType::int16: return widen<std::int16_t>(from, out);
        case TokenType::uint32: return widen<std::uint32_t>(from, out);
        case TokenType::int32: return widen<std::int32_t>(from, out);
        case TokenType::uint64: return widen<std::uint64_t>(from, out);
        case TokenType::int64: return widen<std::int64_t>(from, out);
        case TokenType::measured:
            for (std::size_t i = 0; i < out.size(); ++i)
                out[i] = static_cast<std::int32_t>(word_at(from, i) & ((1u << token_bits) - 1));
            return;
    }
}

std::int64_t TokenArray::text_bytes(std::uint64_t first, std::uint64_t count) const {
    if (type == TokenType::text) return static_cast<std::int64_t>(count);
    if (type != TokenType::measured) return -1;
    std::int64_t bytes = 0;
    for (std::uint64_t i = first; i < first + count; ++i) bytes += word_at(data, i) >> token_bits;
    return bytes;
}

TokenArray byte_tokens(std::string text, std::string name) {
    auto owner = std::make_shared<const std::string>(std::move(text));
    const auto* data = reinterpret_cast<const std::byte*>(owner->data());
    const auto size = owner->size();
    return {std::move(owner), data, size, TokenType::text, std::move(name)};
}

}  // namespace skippipe
