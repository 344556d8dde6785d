// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone: cheapest cycles, what one data node needs, and what the sharing of nodes
// adds.
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

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

/// No data node with `own` microbatches, each of which holds its place for at least `loop_s`, is through with them
/// sooner.
double data_node_s(const Problem& problem, NodeIndex node, int own, double loop_s);

/// A bound that no set of `data_nodes` data nodes undercuts, seen together with what the other nodes can serve; at
/// least `from_s`, which must be a bound itself. `finish_s`: least time from the last operation of stage 0 to the end
/// of the iteration; `besides_s`: as for ShortestCycles. Takes up to `effort` x 0.2 s.
double lagrangian_bound_s(const Problem& problem, int length, int data_nodes, double finish_s, double besides_s,
                          double from_s, double effort = 1);

}  // namespace skippipe::bounds
