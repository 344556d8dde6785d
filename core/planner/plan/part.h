// SPDX-License-Identifier: GPL-3.0-or-later
// A network without some of its nodes, as a problem of its own.
#pragma once
#include <vector>

#include "core/planner/plan/plan.h"

namespace skippipe {

/// The problem with these nodes alone, numbered anew in this order. Sizes and placement are free; lines keep their
/// numbers, uplinks and downlinks follow them.
Problem with_nodes(const Problem& whole, const std::vector<NodeIndex>& nodes);

/// A plan of with_nodes(whole, nodes) in the numbers of the whole network.
Plan plan_of_whole(const Problem& whole, const std::vector<NodeIndex>& nodes, Plan part);

/// The other way round; the plan names no other nodes.
Plan plan_of_part(const Problem& whole, const std::vector<NodeIndex>& nodes, Plan plan);

}  // namespace skippipe
