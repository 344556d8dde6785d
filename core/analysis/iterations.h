// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <vector>

#include "core/record/record.h"

namespace skippipe {

/// When an iteration ran that came to its end, from where it was begun for the last time. Network seconds from the
/// run's start.
struct IterationTime {
    int iteration = 0;
    double end_s = 0, length_s = 0;

    double begin_s() const { return end_s - length_s; }
    bool operator==(const IterationTime&) const = default;
};

/// By iteration, from the metrics in the order in which they were recorded; of an iteration that was done twice the
/// last time.
std::map<int, IterationTime> iteration_times(const std::vector<Metric>& metrics);

/// The one under way at that time; before the first the first one, in a hole between two the one before, after all the
/// last. Null where there is none. `times` by time.
const IterationTime* iteration_at(const std::vector<IterationTime>& times, double time_s);

}  // namespace skippipe
