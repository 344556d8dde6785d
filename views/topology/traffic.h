// SPDX-License-Identifier: GPL-3.0-or-later
// What goes on in the network at a moment of a run, and how loaded it is, as values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QString>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// A transfer under way.
struct Parcel {
    int from = -1, to = -1;  ///< lanes
    int microbatch = -1;     ///< -1: of a reduction
    SpanKind kind = SpanKind::transfer_forward;
    double share = 0;  ///< of its time that is over
};

/// What a node executes.
struct WorkNow {
    SpanKind kind = SpanKind::forward;
    int microbatch = -1;
};

/// What a line carries, one way.
struct LineTraffic {
    int from = -1, to = -1;  ///< lanes
    double bytes_per_s = 0;  ///< over all of the stretch
    double queue_s = 0;      ///< the longest that a transfer waited for the line
    double busy = 0;         ///< share of the stretch in which something was under way on it
};

struct Traffic {
    double at_s = 0;
    std::vector<std::string> names;            ///< [lane]
    std::vector<double> busy;                  ///< [lane]: share of the stretch that was worked
    std::vector<std::optional<WorkNow>> work;  ///< [lane]: at that moment
    std::vector<LineTraffic> lines;            ///< that carried something in the stretch, by from and to
    std::vector<Parcel> parcels;               ///< at that moment
    int down = 0;                              ///< nodes that are lost at that moment
    bool is_mean = false;                      ///< loads alone: what goes on at a moment is left out

    int working() const;
};

/// What is under way of that microbatch alone, without loads.
Traffic only_parcels(Traffic traffic, int microbatch);

enum class TrafficWords { whole, brief };
/// "4/20 nodes work, 2 transfers": under way at that moment; "1 down, 4/19 nodes work, 2 transfers". Of loads alone:
/// "nodes work 14 %, 103 MB/s over lines". In brief "4/20 work, 2 transfers" and "work 14 %, 103 MB/s".
QString traffic_words(const Traffic& traffic, TrafficWords how = TrafficWords::whole);

}  // namespace skippipe
