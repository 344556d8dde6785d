// SPDX-License-Identifier: GPL-3.0-or-later
// Rows of lines below the lanes of nodes: which transfer goes over which line, and what of its time is queue, wire and
// latency. Pure.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/planner/plan/problem.h"
#include "views/document/selection.h"
#include "views/timeline/lanes.h"

namespace skippipe {

struct LineRows {
    struct Way {
        int row = -1;          ///< place of the line in `names`
        double latency_s = 0;  ///< with the overhead of a message
        bool operator==(const Way&) const = default;
    };
    std::vector<std::string> names;           ///< "A → B", by the problem's lines
    std::vector<LinkKey> ends;                ///< of each of them
    std::map<std::pair<int, int>, Way> ways;  ///< by the lanes of sender and receiver
    bool operator==(const LineRows&) const = default;
};

/// The lines over which transfers of `data` go.
LineRows line_rows(const TimelineData& data, const Problem& problem);

/// A transfer on its line, seconds from the run's start: handed over, at the head of the queue, all bytes sent,
/// arrived.
struct LineParts {
    double queue_s = 0, wire_s = 0, latency_s = 0, arrival_s = 0;
};
LineParts line_parts(const LaneSpan& transfer, double latency_s);

/// The transfer of that row that is on the wire at `time`, else one that is under way or in the queue then, and is sent
/// before `until`; none: null.
TimelineData::Place transfer_on_line(const TimelineData& data, const LineRows& lines, int row, double time,
                                     double until);

}  // namespace skippipe
