// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone.
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// Stage of each node where placement is given, else empty.
PerNode<StageIndex> stages_given(const Problem& problem);
/// F of a node for a stage other than 0: the stage it is given, or the one with the fewest blocks.
double least_forward_s(const Problem& problem, NodeIndex node, const PerNode<StageIndex>& stage_of);

/// Cheapest closed cycles of a microbatch from a data node over `length` - 1 others and back. A cycle may repeat nodes,
/// though not at once nor with one between: less than a path costs, so that it bounds it from below. Seconds count an
/// activation and a gradient on each edge.
class ShortestCycles {
public:
    /// `besides_s`: what every cycle takes at least besides what the problem says.
    ShortestCycles(const Problem& problem, int length, double besides_s = 0);

    /// Sets who is a data node (`data`): no cycle passes through one, but for its own.
    void set_data_nodes(const PerNode<bool>& data) { data_ = data; }

    struct Cycle {
        double price = 0;              ///< seconds x time_price + prices of its nodes; infinite: there is none
        double seconds = 0;            ///< from the start of F on the data node until it releases the memory
        std::vector<NodeIndex> nodes;  ///< without the data node
    };
    /// The cycle of the least price. `prices`: of a visit.
    Cycle cheapest(NodeIndex data_node, double time_price, const PerNode<double>& prices) const;
    /// The shortest cycle, in seconds.
    double shortest_s(NodeIndex data_node) const;

private:
    double own_s(NodeIndex data_node) const;

    const Problem& problem_;
    int length_;
    double besides_s_;
    PerNode<bool> data_;
    std::vector<double> edges_s_;
    PerNode<double> visit_s_;
    PerNode<double> free_;  ///< prices of nothing
};

}  // namespace skippipe::bounds
