// SPDX-License-Identifier: GPL-3.0-or-later
// Time to pixels and back; no widget.
#pragma once
#include <cmath>

#include "core/planner/plan/timeline.h"
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

/// Transfers are thin lines above a lane's work, a row a kind: pixels below the lane's top.
inline constexpr double work_row = 7;
inline double transfer_row(SpanKind kind) {
    return kind == SpanKind::transfer_forward ? 2 : kind == SpanKind::transfer_backward ? 4 : work_row - 2;
}
/// The kind whose row is at that height below a lane's top.
inline SpanKind transfer_kind_at(double below_top) {
    return below_top < 4                                            ? SpanKind::transfer_forward
           : below_top < transfer_row(SpanKind::transfer_reduction) ? SpanKind::transfer_backward
                                                                    : SpanKind::transfer_reduction;
}

}  // namespace skippipe
