// SPDX-License-Identifier: GPL-3.0-or-later
// Trees that share a stage's lines among them, by what each line, uplink and downlink carries.
#pragma once
#include <vector>

#include "core/planner/plan/reduction.h"
#include "core/planner/plan/problem.h"

namespace skippipe::planners {

struct Packing {
    int pieces = 1;       ///< of equal shares
    double nearness = 1;  ///< how much the latency of a tree's farthest replica weighs
};

/// Piece after piece the pair of trees that adds the least to what is loaded most already, whatever their root: lines
/// cost exponentially more the more they carry (multiplicative weights, as for fractional packings: Garg and Konemann
/// 2007). Many small pieces follow each other over the lines, so that those on their way down do not wait for all on
/// their way up. Of nodes in their order; empty where they do not all reach each other.
Pieces packed_trees(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage,
                    const Packing& packing);

}  // namespace skippipe::planners
