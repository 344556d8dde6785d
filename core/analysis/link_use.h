// SPDX-License-Identifier: GPL-3.0-or-later
// What goes over a link in one iteration, counted alike for plans and for runs.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/experiment/document.h"
#include "core/planner/plan/problem.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Seconds below which nothing waits: what is less is left over by rounding.
inline constexpr double least_wait_s = 1e-9;

/// One transfer.
struct LinkTransfer {
    SpanKind kind = SpanKind::transfer_forward;
    NodeIndex from = -1, to = -1;
    StageIndex stage = -1;
    MicrobatchIndex microbatch = -1;
    double bytes = 0;
    double waited_s = 0;  ///< from being ready until it began
};

/// What goes over one of a link's lines.
struct LineUse {
    std::string to;
    int line = no_line;
    int activations = 0, gradients = 0, parts = 0;  ///< transfers; parts: of sums of gradients
    double bytes = 0, busy_s = 0;
    LinkTransfer longest;  ///< that waited the longest; waited_s 0: none did

    int transfers() const { return activations + gradients + parts; }
};

/// What goes over all of a link's lines.
struct LinkUse {
    std::vector<LineUse> ways;                             ///< one, or both where it goes both ways
    std::map<std::pair<NodeIndex, NodeIndex>, int> pairs;  ///< transfers from one node to another
    std::set<int> microbatches;
    std::map<int, double> reductions;  ///< bytes by stage

    LinkUse(const Link& link, const Problem& problem);
    /// The way of that line; null: it is none of the link's.
    LineUse* way_of(int line);
    /// What goes by another link is left out.
    void add(const LinkTransfer& transfer, const Problem& problem);
    /// Nodes that send to each other, the most first.
    std::vector<std::pair<std::pair<NodeIndex, NodeIndex>, int>> busiest_pairs() const;
};

}  // namespace skippipe
