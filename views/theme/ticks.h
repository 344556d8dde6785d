// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cmath>
#include <vector>

namespace skippipe {

/// The multiples of `step` from `low` to `high`; none where they would be more than anybody could tell apart, as where
/// rounding leaves nothing between the two.
inline std::vector<double> ticks_between(double low, double high, double step) {
    constexpr double most = 1'000;
    std::vector<double> ticks;
    if (!(step > 0) || !std::isfinite(step) || !((high - low) / step < most)) return ticks;
    const double first = std::ceil(low / step - 1e-9);
    for (int k = 0; k <= static_cast<int>(most); ++k)
        if (const double at = (first + k) * step; at <= high) ticks.push_back(at);
    return ticks;
}

}  // namespace skippipe
