// SPDX-License-Identifier: GPL-3.0-or-later
// Time to pixels and back; no widget.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/planner/plan/timeline.h"
#include "views/theme/numbers.h"

namespace skippipe {

struct TimeScale {
    double begin = 0, end = 1;   ///< seconds in sight
    double left = 0, right = 1;  ///< their pixels

    double pixels_per_second() const { return (right - left) / (end - begin); }
    double x(double seconds) const { return left + (seconds - begin) * pixels_per_second(); }
    double time(double x) const { return begin + (x - left) / pixels_per_second(); }
    /// Ticks at least `pixels` apart, as clocks have them.
    double tick_step(double pixels) const { return clock_step(pixels / pixels_per_second()); }
};

constexpr double least_handle = 24;  ///< pixels of what scrolls the lanes

/// Lanes from top to bottom; the first ones, if they are pinned, stay there while others scroll below them.
struct LaneStack {
    double top = 0, height = 28, scroll = 0;
    int count = 0, pinned = 0;

    double pinned_bottom() const { return top + pinned * height; }
    double lane_top(int lane) const { return top + lane * height - (lane < pinned ? 0 : scroll); }
    int lane_at(double y) const {
        if (y < top) return -1;
        const int lane = static_cast<int>(std::floor((y - top + (y < pinned_bottom() ? 0 : scroll)) / height));
        return lane >= 0 && lane < count ? lane : -1;
    }
    double content_height() const { return count * height; }
    /// Pixels of the handle that says which lanes of all are seen, from its upper end on; all are seen: no height.
    struct Handle {
        double top = 0, height = 0;
    };
    Handle handle(double view_height) const {
        const double room = view_height - top, all = content_height();
        if (all <= room || room <= 0) return {};
        const double tall = std::min(room, std::max(least_handle, room * room / all));
        return {top + scroll / (all - room) * (room - tall), tall};
    }
    /// What is scrolled to where the handle is moved by so many pixels.
    double scroll_after(double handle_pixels, double view_height) const {
        const double room = view_height - top, free = room - handle(view_height).height;
        return clamp_scroll(scroll + (free > 0 ? handle_pixels / free * (content_height() - room) : 0), view_height);
    }
    double clamp_scroll(double value, double view_height) const {
        const double most = content_height() - (view_height - top);
        return value < 0 || most <= 0 ? 0 : value > most ? most : value;
    }
};

/// Transfers are thin lines above a lane's work, a row a kind: pixels below the lane's top. In a low lane work has what
/// room there is.
inline constexpr double roomy_lane = 24;
inline double work_row(double lane_height) { return lane_height < roomy_lane ? 6 : 7; }
inline double below_work(double lane_height) { return lane_height < roomy_lane ? 1 : 3; }
inline double transfer_row(SpanKind kind, double lane_height) {
    const double above_work = kind == SpanKind::transfer_forward ? 5 : kind == SpanKind::transfer_backward ? 3 : 2;
    return work_row(lane_height) - above_work;
}
/// The kind whose row is at that height below a lane's top.
inline SpanKind transfer_kind_at(double below_top, double lane_height) {
    const auto above = [&](SpanKind kind) { return below_top < transfer_row(kind, lane_height); };
    return above(SpanKind::transfer_backward)    ? SpanKind::transfer_forward
           : above(SpanKind::transfer_reduction) ? SpanKind::transfer_backward
                                                 : SpanKind::transfer_reduction;
}

/// What stands above the lanes, from top to bottom. Pixels.
struct TimelineBands {
    double overview = 0, axis = 0, ruler = 0, counters = 0;  ///< heights; 0: there is none

    double axis_top() const { return overview; }
    double ruler_top() const { return overview + axis; }
    double counters_top() const { return ruler_top() + ruler; }
    double top() const { return counters_top() + counters; }
};

struct Box {
    double x0 = 0, y0 = 0, x1 = 0, y1 = 0;

    double width() const { return x1 - x0; }
    double height() const { return y1 - y0; }
    bool meets(const Box& other) const { return x0 < other.x1 && other.x0 < x1 && y0 < other.y1 && other.y0 < y1; }
    bool meets_any(const std::vector<Box>& others) const {
        return std::any_of(others.begin(), others.end(), [this](const Box& other) { return meets(other); });
    }
};

/// Where a card stands that explains something: below it, above it or beside it, in this order, wherever it fits in the
/// room without covering it, nor any of `others` where that can be; begins near `x`. Where it fits nowhere it is as far
/// below as there is room.
inline Box place_card(const Box& about, double width, double height, double x, const Box& room,
                      const std::vector<Box>& others = {}) {
    constexpr double apart = 6;
    const double left = std::clamp(x, room.x0, std::max(room.x0, room.x1 - width));
    const double high = std::clamp(about.y0, room.y0, std::max(room.y0, room.y1 - height));
    const Box places[] = {{left, about.y1 + apart, left + width, about.y1 + apart + height},
                          {left, about.y0 - apart - height, left + width, about.y0 - apart},
                          {about.x1 + apart, high, about.x1 + apart + width, high + height},
                          {about.x0 - apart - width, high, about.x0 - apart, high + height}};
    const Box* second = nullptr;
    for (const Box& place : places) {
        if (place.x0 < room.x0 || place.x1 > room.x1 || place.y0 < room.y0 || place.y1 > room.y1) continue;
        if (!place.meets_any(others)) return place;
        // Beside the others, where they are as high, there is room as well.
        for (const Box& other : others)
            for (const double x0 : {other.x1 + apart, other.x0 - apart - width})
                if (const Box aside{x0, place.y0, x0 + width, place.y1};
                    x0 >= room.x0 && aside.x1 <= room.x1 && !aside.meets(about) && !aside.meets_any(others))
                    return aside;
        if (second == nullptr) second = &place;
    }
    if (second != nullptr) return *second;
    const double low = std::max(room.y0, room.y1 - height);
    return {left, low, left + width, low + height};
}

}  // namespace skippipe
