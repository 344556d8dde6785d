// SPDX-License-Identifier: GPL-3.0-or-later
// Formats: nanoGPT (data/*/prepare.py: uint16 alone), Megatron-LM (core/datasets/indexed_dataset.py: MMIDIDX version
// 1), NumPy (numpy.lib.format, versions 1.0 to 3.0).
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/mapped_file.h"
#include "core/data/tokens.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view numpy_magic("\x93NUMPY", 6), megatron_magic("MMIDIDX\0\0", 9);

/// A file under scrutiny.
struct Examined {
    MappedFile file;
    fs::path path;
    const std::string& pointer;

    [[noreturn]] void refuse(const std::string& what,
                             const char* remedy = "Write the file again, or name another one") const {
        throw InputError(pointer, path.string() + " " + what, "its tokens cannot be told", remedy);
    }
    bool starts_with(std::string_view magic) const {
        return file.size >= magic.size() && std::memcmp(file.data, magic.data(), magic.size()) == 0;
    }
    /// A number at a byte position that need not be aligned.
    template <class T>
    T at(std::uint64_t position) const {
        T value;
        if (position > file.size || file.size - position < sizeof value) refuse("ends too early");
        std::memcpy(&value, file.data + position, sizeof value);
        return value;
    }
};

Examined examine(const fs::path& path, const std::string& pointer) { return {map_file(path, pointer), path, pointer}; }

TokenArray tokens_from(const Examined& e, std::uint64_t skipped, TokenType type) {
    const auto bytes = e.file.size - skipped;
    if (bytes == 0) e.refuse("holds no token");
    if (bytes % width_of(type) != 0)
        e.refuse(fmt::format("has {} bytes of tokens, which {} does not divide", bytes, width_of(type)));
    return {e.file.owner, e.file.data + skipped, bytes / width_of(type), type, e.path.string()};
}

/// The value of a key in NumPy's header, a Python dictionary: what follows the colon.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
    for (const char quote : {'\'', '"'}) {
        const auto found = header.find(fmt::format("{}{}{}", quote, key, quote));
        if (found == std::string_view::npos) continue;
        auto rest = header.substr(found + key.size() + 2);
        const auto start = rest.find_first_not_of(" \t");
        if (start == std::string_view::npos || rest[start] != ':') return {};
        rest.remove_prefix(start + 1);
        rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
        return rest;
    }
    return {};
}

std::optional<TokenType> numpy_type(std::string_view text) {
    if (text.size() < 5 || (text[0] != '\'' && text[0] != '"') || text[4] != text[0]) return {};
    constexpr std::pair<std::string_view, TokenType> types[] = {
        {"|u1", TokenType::uint8},  {"|i1", TokenType::int8},  {"<u2", TokenType::uint16}, {"<i2", TokenType::int16},
        {"<u4", TokenType::uint32}, {"<i4", TokenType::int32}, {"<u8", TokenType::uint64}, {"<i8", TokenType::int64}};
    for (const auto& [name, type] : types)
        if (text.substr(1, 3) == name) return type;
    return {};
}

/// The one extent of "(1000,)" or "(1000, )".
std::optional<std::uint64_t> numpy_length(std::string_view text) {
    if (text.empty() || text[0] != '(') return {};
    std::uint64_t length = 0;
    std::size_t i = 1;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
        if (length > std::numeric_limits<std::uint64_t>::max() / 10 - 1) return {};
        length = 10 * length + static_cast<std::uint64_t>(text[i] - '0');
    }
    if (i == 1 || i >= text.size() || text[i] != ',') return {};
    const auto end = text.find_first_not_of(' ', i + 1);
    return end != std::string_view::npos && text[end] == ')' ? std::optional(length) : std::nullopt;
}

TokenArray open_numpy(const Examined& e) {
    if (!e.starts_with(numpy_magic)) e.refuse("does not begin as a NumPy file");
    const int version = e.at<std::uint8_t>(6);
    if (version < 1 || version > 3) e.refuse(fmt::format("has NumPy's format {}, which is not known", version));
    const std::uint64_t length = version == 1 ? e.at<std::uint16_t>(8) : e.at<std::uint32_t>(8);
    const std::uint64_t begin = version == 1 ? 10 : 12;
    if (length > e.file.size || begin > e.file.size - length) e.refuse("ends within its header");
    const std::string_view header(reinterpret_cast<const char*>(e.file.data) + begin, length);
    const auto descr = value_of(header, "descr"), order = value_of(header, "fortran_order"),
               shape = value_of(header, "shape");
    if (!descr || !order || !shape) e.refuse("has a header without descr, fortran_order and shape");
    const auto type = numpy_type(*descr);
    if (!type)
        e.refuse(fmt::format("holds {}, not little-endian integers", in_quotes(descr->substr(0, 12))),
                 "Save it as uint16 or int32");
    const auto count = numpy_length(*shape);
    if (!count)
        e.refuse(fmt::format("has the shape {}, not one dimension", in_quotes(shape->substr(0, 24))),
                 "Save it with .reshape(-1)");
    auto tokens = tokens_from(e, begin + length, *type);
    if (tokens.size != *count) e.refuse(fmt::format("says {} tokens and holds {}", *count, tokens.size));
    return tokens;
}

std::optional<TokenType> megatron_type(int code) {
    constexpr TokenType types[] = {TokenType::uint8, TokenType::int8, TokenType::int16, TokenType::int32,
                                   TokenType::int64};
    if (code >= 1 && code <= 5) return types[code - 1];
    return code == 8 ? std::optional(TokenType::uint16) : std::nullopt;  // 6 and 7 are floating point
}

/// The index says where each sequence of the .bin begins and how long it is; here they must follow each other without a
/// gap, as Megatron's own writer leaves them.
TokenArray open_megatron(const Examined& index, const Examined& data) {
    if (!index.starts_with(megatron_magic)) index.refuse("does not begin as a Megatron index");
    if (const auto version = index.at<std::uint64_t>(9); version != 1)
        index.refuse(fmt::format("has version {}, which is not known", version));
    const int code = index.at<std::uint8_t>(17);
    const auto type = megatron_type(code);
    if (!type) index.refuse(fmt::format("has the token type {}, which is no integer", code));
    const auto sequences = index.at<std::uint64_t>(18), documents = index.at<std::uint64_t>(26);
    constexpr std::uint64_t header = 34;
    const auto room = index.file.size - header;
    if (sequences > room / 12 || documents > (room - 12 * sequences) / 8)
        index.refuse(fmt::format("says {} sequences and {} documents, more than its {} bytes hold", sequences,
                                 documents, index.file.size));
    std::uint64_t end = 0;
    for (std::uint64_t i = 0; i < sequences; ++i) {
        const auto length = index.at<std::int32_t>(header + 4 * i);
        const auto begin = index.at<std::int64_t>(header + 4 * sequences + 8 * i);
        if (length < 0 || begin < 0 || static_cast<std::uint64_t>(begin) != end)
            index.refuse(
                fmt::format("puts sequence {} of {} tokens at byte {}, where byte {} is next", i, length, begin, end),
                "Write it again with Megatron's preprocessing");
        end += static_cast<std::uint64_t>(length) * width_of(*type);
        if (end > data.file.size)
            index.refuse(fmt::format("points beyond the {} bytes of {}", data.file.size, data.path.string()));
    }
    if (end != data.file.size)
        index.refuse(fmt::format("names {} bytes of {}, which has {}", end, data.path.string(), data.file.size));
    return tokens_from(data, 0, *type);
}

fs::path with_end(fs::path path, const char* end) { return path.replace_extension(end); }

}  // namespace

TokenArray open_tokens(const fs::path& path, const std::string& pointer) {
    const auto end = path.extension();
    if (end == ".idx") return open_megatron(examine(path, pointer), examine(with_end(path, ".bin"), pointer));
    const auto file = examine(path, pointer);
    if (end == ".npy" || file.starts_with(numpy_magic)) return open_numpy(file);
    if (file.starts_with(megatron_magic)) file.refuse("is an index, not tokens", "Name it .idx, and its tokens .bin");
    if (end != ".bin")
        file.refuse("has an unknown ending", "Token files are nanoGPT's .bin, Megatron's .idx with .bin, or .npy");
    std::error_code error;
    if (const auto index = with_end(path, ".idx"); fs::exists(index, error))
        return open_megatron(examine(index, pointer), file);
    return tokens_from(file, 0, TokenType::uint16);
}

}  // namespace skippipe
