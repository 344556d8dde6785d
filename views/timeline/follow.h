// SPDX-License-Identifier: GPL-3.0-or-later
// From what is seen to what it waited for, back along cause and effect.
#pragma once
#include <vector>

#include "views/timeline/lanes.h"

namespace skippipe {

/// What a span waited for: work for the transfer that brought its input (its own node's work where nothing was
/// brought), a transfer for the work that handed it over, a reduction's for the part or sum that its sender had last.
TimelineData::Place waited_for(const TimelineData& data, const TimelineData::Place& place);
/// What a gap of a lane waited for, by its cause; nothing where it waited for nobody.
TimelineData::Place waited_for(const TimelineData& data, int lane, const LaneGap& gap);
/// The work that ended a gap; none: the iteration's end did.
TimelineData::Place ended_by(const TimelineData& data, int lane, const LaneGap& gap);

/// All spans of the microbatch of this one in its iteration, by time.
std::vector<TimelineData::Place> way_of(const TimelineData& data, const TimelineData::Place& place);
/// The same of a microbatch in an iteration.
std::vector<TimelineData::Place> way_of(const TimelineData& data, int microbatch, const IterationTime& one);

/// Who holds a node's memory while it waits for it, and whose backward frees a place first.
struct MemoryHolders {
    std::vector<int> microbatches;  ///< in the order in which they came
    int freed_by = -1;              ///< -1: none of them any more
};
MemoryHolders memory_holders(const TimelineData& data, int lane, const LaneGap& gap);

}  // namespace skippipe
