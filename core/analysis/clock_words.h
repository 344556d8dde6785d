// SPDX-License-Identifier: GPL-3.0-or-later
// What a run's seconds are called: of the drawn network, or under the wall clock those that passed while it trained.
// The same wherever they stand: in the window, on the command line, in a report that is read elsewhere.
#pragma once
#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// By whose clock runs counted.
enum class RunClock { network, wall, mixed };

inline RunClock run_clock(const std::vector<Clock>& clocks) {
    const auto wall = std::count(clocks.begin(), clocks.end(), Clock::wall);
    if (wall == 0) return RunClock::network;
    return wall == static_cast<std::ptrdiff_t>(clocks.size()) ? RunClock::wall : RunClock::mixed;
}

/// Within a sentence.
inline std::string_view time_words(RunClock clock) {
    return clock == RunClock::network ? "network time"
           : clock == RunClock::wall  ? "wall-clock time"
                                      : "network or wall-clock time";
}

/// At the beginning of one, or alone.
inline std::string time_title(RunClock clock) {
    std::string title{time_words(clock)};
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    return title;
}

/// "1.20 s an iteration " + "of the network".
inline std::string_view of_whom(RunClock clock) {
    return clock == RunClock::network ? "of the network"
           : clock == RunClock::wall  ? "by the wall clock"
                                      : "of the network or by the wall clock";
}

}  // namespace skippipe
