// SPDX-License-Identifier: GPL-3.0-or-later
// What the parts of the rendezvous share.
#pragma once
#include <algorithm>
#include <chrono>
#include <vector>

namespace skippipe {

/// So many looks must find the same beat before silence counts.
constexpr int looks_in_silence = 3;

inline bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

inline std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
}

}  // namespace skippipe
