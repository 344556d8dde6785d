// SPDX-License-Identifier: GPL-3.0-or-later
// Keys that sort as events do: for EventSimulator alone.
#pragma once
#include <bit>
#include <cstdint>

namespace skippipe {

__extension__ using EventKey = unsigned __int128;
inline constexpr EventKey never = ~EventKey{0};

inline EventKey make_key(double time_s, std::uint32_t number, std::uint32_t payload) {
    return EventKey{std::bit_cast<std::uint64_t>(time_s)} << 64 | static_cast<std::uint64_t>(number) << 32 | payload;
}
inline double time_of(EventKey key) { return std::bit_cast<double>(static_cast<std::uint64_t>(key >> 64)); }
inline std::uint32_t number_of(EventKey key) { return static_cast<std::uint32_t>(key >> 32); }
inline std::uint32_t payload_of(EventKey key) { return static_cast<std::uint32_t>(key); }
inline EventKey with_payload(EventKey key, NodeIndex node) {
    return (key & ~EventKey{0xFFFFFFFFu}) | static_cast<std::uint32_t>(node);
}
/// Time and number alone: an operation's key and the key of the event that brings it compare equal.
inline bool handled_by(EventKey item, EventKey now) { return (item >> 32) <= (now >> 32); }
inline EventKey earlier(EventKey a, EventKey b) { return a < b ? a : b; }

}  // namespace skippipe
