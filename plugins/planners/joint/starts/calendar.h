// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <vector>

namespace skippipe::planners::joint {

/// When a node or a line is taken. Times in seconds; what is taken does not overlap.
class Calendar {
public:
    void clear() { taken_.clear(); }

    /// The earliest time, not before `from_s`, at which so many seconds are free.
    double earliest_s(double from_s, double seconds) const {
        for (auto next = after(from_s); next != taken_.end() && next->begin_s - from_s < seconds; ++next)
            from_s = std::max(from_s, next->end_s);
        return from_s;
    }

    void take(double begin_s, double seconds) {
        if (seconds <= 0) return;
        taken_.insert(std::partition_point(taken_.begin(), taken_.end(),
                                           [&](const Interval& other) { return other.begin_s < begin_s; }),
                      {begin_s, begin_s + seconds});
    }

private:
    struct Interval {
        double begin_s = 0, end_s = 0;
    };
    /// The first that ends later. Mostly one of the last.
    std::vector<Interval>::const_iterator after(double time_s) const {
        auto next = taken_.end();
        for (int k = 0; k < near_the_end; ++k) {
            if (next == taken_.begin() || std::prev(next)->end_s <= time_s) return next;
            --next;
        }
        return std::partition_point(taken_.begin(), next, [&](const Interval& other) { return other.end_s <= time_s; });
    }

    static constexpr int near_the_end = 8;
    std::vector<Interval> taken_;  ///< by time
};

}  // namespace skippipe::planners::joint
