// SPDX-License-Identifier: GPL-3.0-or-later
// Time to pixels and back; no widget.
#pragma once
#include <cmath>

#include "views/theme/numbers.h"

namespace skippipe {

struct TimeScale {
    double begin = 0, end = 1;   ///< seconds in sight
    double left = 0, right = 1;  ///< their pixels

    double pixels_per_second() const { return (right - left) / (end - begin); }
    double x(double seconds) const { return left + (seconds - begin) * pixels_per_second(); }
    double time(double x) const { return begin + (x - left) / pixels_per_second(); }
    /// Ticks at least `pixels` apart, at 1, 2 or 5 x 10^n seconds.
    double tick_step(double pixels) const { return nice_step(pixels / pixels_per_second()); }
    double first_tick(double step) const { return std::ceil(begin / step - 1e-9) * step; }
};

/// Lanes from top to bottom.
struct LaneStack {
    double top = 0, height = 28, scroll = 0;
    int count = 0;

    double lane_top(int lane) const { return top + lane * height - scroll; }
    int lane_at(double y) const {
        if (y < top) return -1;
        const int lane = static_cast<int>(std::floor((y - top + scroll) / height));
        return lane >= 0 && lane < count ? lane : -1;
    }
    double content_height() const { return count * height; }
    double clamp_scroll(double value, double view_height) const {
        const double most = content_height() - (view_height - top);
        return value < 0 || most <= 0 ? 0 : value > most ? most : value;
    }
};

}  // namespace skippipe
