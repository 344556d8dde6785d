// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

struct LowerBound {
    double seconds = 0;
    std::string which;    ///< what proves it, for people: "work of the busiest node", ...
    NodeIndex node = -1;  ///< the data node that proves it alone, where placement is given
    bool operator==(const LowerBound&) const = default;
};

/// No plan for this problem with paths of `length` ends its iteration earlier.
LowerBound lower_bound(const Problem& problem, int length);

/// No plan that keeps this one's nodes in their stages, its blocks, path length and split ends its iteration earlier,
/// whatever its paths and orders.
LowerBound placed_bound(const Problem& problem, const Plan& plan);

/// No pieces sum the stage's gradient over these nodes in less, seconds, if all parts are there at once and nothing
/// else uses the lines: a part has to reach the farthest other node; between groups of the nodes each byte of a tree
/// goes over all of them, first up and then down, and each byte of an exchange between all pairs; lines, uplinks and
/// downlinks carry no more than they can. Takes milliseconds for 12 nodes, for more it is less sharp.
double lone_reduction_bound_s(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage);

/// Of each of a stage's nodes: no pieces let all have the sum sooner than so long after its own part is there, seconds.
std::vector<double> part_bounds_s(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage);

}  // namespace skippipe
