// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone: what the sharing of nodes adds.
#pragma once
#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// A bound that no set of `data_nodes` data nodes undercuts, seen together with what the other nodes can serve; at
/// least `from_s`, which must be a bound itself. `finish_s`: least time from the last operation of stage 0 to the end
/// of the iteration; `besides_s`: as for ShortestCycles. Takes up to `effort` x 0.2 s.
double lagrangian_bound_s(const Problem& problem, int length, int data_nodes, double finish_s, double besides_s,
                          double from_s, double effort = 1);

}  // namespace skippipe::bounds
