// SPDX-License-Identifier: GPL-3.0-or-later
// Keys that sort as events do: for the files of the simulator alone.
#pragma once
#include <bit>
#include <cstdint>

namespace skippipe {

__extension__ using Key = unsigned __int128;
inline constexpr Key never = ~Key{0};

inline Key make_key(double time_s, std::uint32_t number, std::uint32_t payload) {
    return Key{std::bit_cast<std::uint64_t>(time_s)} << 64 | static_cast<std::uint64_t>(number) << 32 | payload;
}
inline double time_of(Key key) { return std::bit_cast<double>(static_cast<std::uint64_t>(key >> 64)); }
inline std::uint32_t payload_of(Key key) { return static_cast<std::uint32_t>(key); }
inline Key with_payload(Key key, int node) { return (key & ~Key{0xFFFFFFFFu}) | static_cast<std::uint32_t>(node); }
/// Time and number alone: an operation's key and the key of the event that brings it compare equal.
inline bool handled_by(Key item, Key now) { return (item >> 32) <= (now >> 32); }
inline Key earlier(Key a, Key b) { return a < b ? a : b; }

}  // namespace skippipe
