// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone: when a microbatch can be where.
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// The hops after which a path of `length` nodes may reach the stage (another than 0), within CC1 and CC3.
struct HopRange {
    int first = 1, last = 1;
};
HopRange hops_to(const Problem& problem, int length, StageIndex stage);

/// Of each node, how long a microbatch takes at least to it, beyond it, and back from it; infinite where there is no
/// way. Ways do not turn back at once, though they may meet a node again later.
class Approaches {
public:
    /// Up to so many hops. Takes hops x nodes^2; of more than 300 nodes all count as the best placed one.
    Approaches(const Problem& problem, int most_hops);

    /// From the start of its F on any data node until it arrives after so many hops, 1 or more.
    double before_s(int hops, NodeIndex node) const { return before_s_[at(hops)][node]; }
    /// From the end of its last B on the node that it reached after so many hops until that of its B on its data node.
    double after_s(int hops, NodeIndex node) const { return after_s_[at(hops)][node]; }

    /// From the end of its F on a node until its B (I, where split) can start there, with so many other nodes visited
    /// in between: at the least the loss.
    double beyond_s(int nodes, NodeIndex node) const { return beyond_s_[at(nodes)][node]; }

private:
    std::vector<PerNode<double>> before_s_, after_s_;  ///< by number of hops
    std::vector<PerNode<double>> beyond_s_;            ///< by number of nodes
};

}  // namespace skippipe::bounds
