// SPDX-License-Identifier: GPL-3.0-or-later
// Files of tokens and text as tests need them.
#pragma once
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/base/rng.h"
#include "core/data/tokens.h"

namespace skippipe::testing {

inline void write(const std::filesystem::path& path, std::string_view bytes) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
}

/// The first fault in full, empty where nothing was refused.
inline std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const InputError& error) {
        return to_string(error.faults().front());
    }
    return {};
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::string number(T value) {
    return bytes_of(std::vector<T>{value});
}

/// As numpy.save writes it.
inline std::string numpy(const std::string& descr, const std::string& shape, const std::string& data) {
    std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    return "\x93NUMPY" + std::string("\x01\x00", 2) + number(static_cast<std::uint16_t>(header.size())) + header + data;
}

/// As Megatron's indexed_dataset writes an index of sequences that lie one after the other.
inline std::string megatron_index(int code, int width, const std::vector<std::int32_t>& lengths) {
    std::vector<std::int64_t> starts, documents{0};
    std::int64_t at = 0;
    for (const auto length : lengths) {
        starts.push_back(at);
        at += static_cast<std::int64_t>(length) * width;
        documents.push_back(static_cast<std::int64_t>(starts.size()));
    }
    return std::string("MMIDIDX\0\0", 9) + number(std::uint64_t{1}) + number(static_cast<std::uint8_t>(code)) +
           number(static_cast<std::uint64_t>(lengths.size())) + number(static_cast<std::uint64_t>(documents.size())) +
           bytes_of(lengths) + bytes_of(starts) + bytes_of(documents);
}

/// The file with a few bytes changed, cut off, or with numbers made huge.
inline std::string damaged(std::string bytes, Rng& rng) {
    const auto extremes = std::to_array<std::uint64_t>(
        {0, 1, 0x7FFFFFFF, 0xFFFFFFFF, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000});
    for (auto changes = 1 + rng.below(3); changes > 0 && !bytes.empty(); --changes) {
        const auto at = rng.below(std::min<std::uint64_t>(bytes.size(), rng.below(2) ? 200 : bytes.size()));
        switch (rng.below(4)) {
            case 0: bytes[at] = static_cast<char>(rng.next()); break;
            case 1: bytes.resize(at); break;
            case 2: bytes.insert(at, 1 + rng.below(9), static_cast<char>(rng.next())); break;
            default: {
                const auto value = extremes[rng.below(extremes.size())];
                std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(8, bytes.size() - at));
            }
        }
    }
    return bytes;
}

inline std::vector<std::int32_t> all_of(const TokenArray& tokens) {
    std::vector<std::int32_t> values(tokens.size);
    tokens.read(0, values);
    return values;
}

}  // namespace skippipe::testing
