// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone: what the sharing of nodes adds.
#pragma once
#include <functional>

#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

struct SharedNodes {
    double finish_s = 0;   ///< least time from the last operation of stage 0 to the end of the iteration
    double besides_s = 0;  ///< as for ShortestCycles
    std::function<PerNode<int>(double time_s)> visits;  ///< that each node can serve if an iteration ends by a time
};

/// A bound that no set of `data_nodes` data nodes undercuts, seen together with what the other nodes can serve; at
/// least `from_s`, which must be a bound itself. Takes up to `effort` x 0.2 s.
double lagrangian_bound_s(const Problem& problem, int length, int data_nodes, const SharedNodes& nodes, double from_s,
                          double effort = 1);

}  // namespace skippipe::bounds
