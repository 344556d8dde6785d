// SPDX-License-Identifier: GPL-3.0-or-later
// Through which queues transfers passed, told from their spans.
#pragma once
#include <unordered_map>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// A transfer at one of the queues that it passes: its line, an uplink, a downlink (the numbers of
/// Problem::line_names).
struct QueueStop {
    int line = no_line;
    double head_s = 0, begin_s = 0, end_s = 0;  ///< its head comes, its service begins and ends
    const Span* ahead = nullptr;                ///< what the queue served before it; null where there is none
};

/// Built from the spans alone; those of unknown nodes, without a line or with times that are no numbers are left out.
/// Keeps references to problem and timeline. Exact for the evaluator's timelines and the virtual clock's.
class QueueStops {
public:
    QueueStops(const Problem& problem, const Timeline& timeline);

    /// Its queues, one after the other: without uplinks and downlinks its line alone.
    std::vector<QueueStop> of(const Span& transfer) const;
    /// The transfer that the line sent last before this one (`links: shared`); null where there is none.
    const Span* previous_on_line(const Span& transfer) const;
    /// Of a transfer's queues the one whose service, and what was left of the way then, ended with its arrival.
    std::size_t left_last(const Span& transfer, const std::vector<QueueStop>& stops) const;
    /// Seconds that the transfer occupies its line.
    double occupied_s(const Span& transfer) const;
    /// Latency and overhead.
    double latency_s(const Span& transfer) const { return hop(transfer).latency_s + problem_.overhead_s; }
    int line(const Span& transfer) const { return hop(transfer).line; }

private:
    Hop hop(const Span& transfer) const { return problem_.hop(transfer.node, transfer.to_node); }
    bool usable(const Span& span) const;
    void pass_uplinks();
    double passed_s(const Span& transfer, double bytes_per_s) const;

    const Problem& problem_;
    std::vector<const Span*> transfers_;             ///< as in the timeline
    std::vector<std::vector<const Span*>> on_line_;  ///< transfers of each line in the order it sends them
    std::unordered_map<const Span*, std::vector<QueueStop>> stops_;  ///< where there are uplinks
};

}  // namespace skippipe
