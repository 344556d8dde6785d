// SPDX-License-Identifier: GPL-3.0-or-later
// Large problems in parts that do not wait for each other: partitions of near nodes with some of every stage, each with
// its share of the microbatches. A change in one is then judged by its own timeline, a small part of the whole.
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

struct Partition {
    std::vector<NodeIndex> nodes;  ///< the problem's node for each of its own
    Problem problem;
};

/// Cells of `least_operations` or more each, with the given numbers of nodes a stage divided among them; empty where
/// the problem cannot be divided into two.
std::vector<Partition> make_partitions(const Problem& problem, const Network& network, const PerStage<int>& sizes,
                                       int least_operations, std::uint64_t seed);

/// The plan that the partitions' plans make together, with bound orders.
PlanCandidate merge_partitions(const Problem& problem, const std::vector<Partition>& partitions,
                               const std::vector<PlanCandidate>& candidates);

}  // namespace skippipe::planners::joint
