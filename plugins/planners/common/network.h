// SPDX-License-Identifier: GPL-3.0-or-later
// What the network costs where nothing else uses it.
#pragma once
#include <cstddef>
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::planners {

/// Added for each hop that has no line: far above any time, and still a number to compare.
inline constexpr double unreachable_s = 1e9;

/// Seconds between nodes that nothing else uses.
class Network {
public:
    /// Keeps a reference.
    explicit Network(const Problem& problem);
    /// There with the activation and back with the gradient; unreachable_s or more where a line is missing.
    double round_s(NodeIndex from, NodeIndex to) const {
        return from == to ? 0 : round_s_[at(hops_.group_of(from) * groups_ + hops_.group_of(to))];
    }

private:
    const Hops& hops_;
    int groups_;
    std::vector<double> round_s_;  ///< of each two groups of nodes
};

/// The order of a stage's nodes that makes a ring's slowest edge shortest (all orders up to 7 nodes, else nearest
/// neighbours).
void best_ring(const Problem& problem, std::vector<NodeIndex>& ring, StageIndex stage);
/// The same where a ring is charged; else they stay as they are.
void order_ring(const Problem& problem, std::vector<NodeIndex>& ring, StageIndex stage);

}  // namespace skippipe::planners
