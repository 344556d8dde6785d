// SPDX-License-Identifier: GPL-3.0-or-later
// Token sequences in the formats people have, memory-mapped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace skippipe {

/// How one token is stored, little-endian. `text`: a byte of text. `measured`: the token in the low 24 bits, the bytes
/// of text it stands for above.
enum class TokenType { text, uint8, int8, uint16, int16, uint32, int32, uint64, int64, measured };

std::size_t width_of(TokenType type);

/// Tokens somewhere in memory, most often a mapped file; copies share it.
struct TokenArray {
    std::shared_ptr<const void> owner;
    const std::byte* data = nullptr;
    std::uint64_t size = 0;  ///< tokens
    TokenType type = TokenType::uint8;
    std::string name;  ///< the file, for faults

    /// Tokens [first, first + out.size()), which must exist; -1 where one is negative or above 2^31 - 1.
    void read(std::uint64_t first, std::span<std::int32_t> out) const;
    /// Bytes of text that tokens [first, first + count) stand for; -1 where that is not known.
    std::int64_t text_bytes(std::uint64_t first, std::uint64_t count) const;
};

/// A text whose bytes are the tokens.
TokenArray byte_tokens(std::string text, std::string name);

/// Opens nanoGPT's .bin (uint16 without a header), Megatron's .bin or .idx (the other one lies beside it), or a .npy of
/// one dimension of integers. Throws InputError at `pointer` where it is none of them or damaged.
TokenArray open_tokens(const std::filesystem::path& path, const std::string& pointer);

}  // namespace skippipe
