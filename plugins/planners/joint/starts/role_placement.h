// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

/// Which nodes serve which stage where counts matter more than order: a transport model. A visit takes a node's time
/// for F and B, and one of its M places until its microbatch is back: long on the stages that paths visit first, short
/// on the last. So many data nodes are given; of the others those with much memory for their speed serve the first
/// stages, the fast with little memory the last, some of each group in every stage, and each stage gets nodes until all
/// can serve their visits in the same time. `waiting`: how many times as long as its own way a microbatch is under way.
/// Where the problem has stage sizes they are kept.
Placement placement_by_roles(const Problem& problem, const Network& network, const std::vector<int>& groups,
                             const std::vector<NodeIndex>& data_nodes, double waiting);

}  // namespace skippipe::planners::joint
