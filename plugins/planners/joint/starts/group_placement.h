// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

/// Groups of nodes that are near each other and far from the rest: the number of each node's, from 0 on. One group
/// where none stand apart. By farthest-first traversal (Gonzalez 1985), the most whose last centre shortens the
/// farthest way to one by much.
std::vector<int> near_groups(const Problem& problem, const Network& network);

/// Where the nodes with the most memory are to be data nodes.
enum class DataNodes { of_each_group, anywhere };

/// So many nodes with the most memory: of each group its share, or whatever group they are of.
std::vector<NodeIndex> data_nodes_in_groups(const Problem& problem, const std::vector<int>& groups, int count,
                                            DataNodes which);

/// So many nodes for each stage, some of each group in every stage; the data nodes those with the most memory, as they
/// hold a microbatch from its beginning to its end, the other stages about as much memory each.
Placement placement_in_groups(const Problem& problem, const std::vector<int>& groups, const PerStage<int>& sizes,
                              DataNodes data_nodes);

/// So many nodes for each stage, group after group and stage after stage, so that the nodes of a stage are near each
/// other: what they sum crosses few of the lines between groups.
Placement placement_by_groups(const Problem& problem, const std::vector<int>& groups, const PerStage<int>& sizes);

}  // namespace skippipe::planners::joint
