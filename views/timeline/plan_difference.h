// SPDX-License-Identifier: GPL-3.0-or-later
// What was planned beside what was done: where they part, and by what. Pure.
#pragma once
#include <vector>

#include "views/timeline/lanes.h"

namespace skippipe {

/// A span that was planned and done. Seconds from the iteration's start; what is later or longer than planned is
/// positive. later_input_s + longer_wait_s + longer_s is how much later it ended.
struct PlanDifference {
    int lane = -1;
    LaneSpan done;  ///< its times from the run's start
    double planned_start_s = 0, planned_end_s = 0, start_s = 0, end_s = 0;
    double later_input_s = 0;  ///< it became ready: handed down from what came before
    double longer_wait_s = 0;  ///< ready, it waited for its node or line
    double longer_s = 0;       ///< it took

    /// What it adds of its own to how late things are.
    double own_s() const { return longer_wait_s + longer_s; }
    double later_s() const { return end_s - planned_end_s; }
};

/// Of one iteration of a run against its plan, what adds most of its own first. `planned` begins at 0. Spans that have
/// no partner are left out.
std::vector<PlanDifference> plan_differences(const TimelineData& planned, const TimelineData& done,
                                             const IterationTime& iteration);

}  // namespace skippipe
