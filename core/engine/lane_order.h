// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks whose device does one thing at a time (a lane each): transfers and sums of stages in one order that all share.
#pragma once
#include <cstddef>
#include <vector>

#include "core/engine/schedule.h"

namespace skippipe {

/// One thing that ranks do together: a transfer, or the sum of a stage.
struct LaneStep {
    std::size_t transfer = 0;  ///< its place in RankSchedule::transfers; of a sum: of those that come before it
    int stage = -1;            ///< of a sum; -1: a transfer
    bool is_sum() const { return stage >= 0; }
    bool operator==(const LaneStep&) const = default;
};

/// All transfers, and the sums of all stages that several ranks host and no planned reduction sums, in the order in
/// which the plan's timeline comes to them.
std::vector<LaneStep> lane_order(const RankSchedule& schedule);

/// Those that a rank takes part in, in the same order.
std::vector<LaneStep> lane_of(const RankSchedule& schedule, int rank);

}  // namespace skippipe
