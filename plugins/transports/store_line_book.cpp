// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/store_line_book.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/engine/transport.h"
#include "plugins/transports/run_store.h"

namespace skippipe {

namespace {

/// "free_s rank booking": who and how often, so that no two bookings are the same text.
double free_time_s(const std::vector<std::uint8_t>& known) {
    if (known.empty()) return 0;
    const auto* begin = reinterpret_cast<const char*>(known.data());
    double free_s = 0;
    const auto [end, error] = std::from_chars(begin, begin + known.size(), free_s);
    if (error != std::errc() || !std::isfinite(free_s)) throw PeerFault(-1, "booked a line for no time");
    return free_s;
}

}  // namespace

double StoreLineBook::reserve(int line, double earliest_s, double occupied_s) {
    const std::lock_guard lock(mutex_);
    auto& known = known_[line];
    for (;;) {
        const double start_s = std::max(earliest_s, free_time_s(known));
        const auto wanted = fmt::format("{:.17g} {} {}", start_s + occupied_s, rank_, ++bookings_);
        const std::vector<std::uint8_t> desired(wanted.begin(), wanted.end());
        auto now = store_->compareSet(fmt::format("line/{}", line), known, desired);
        const bool booked = now == desired;
        known = std::move(now);
        if (booked) return start_s;
    }
}

}  // namespace skippipe
