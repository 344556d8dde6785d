// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone: what the nodes can serve, each of one stage, wherever they stand.
#pragma once
#include <functional>

#include "core/planner/bounds/approaches.h"
#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// What has to be done where, besides what the problem says.
struct StageNeeds {
    int data_nodes = 1;
    double finish_s = 0;          ///< least time from the last operation of stage 0 to the end of the iteration
    PerStage<int> fewest_visits;  ///< of each stage
    PerStage<double> reduce_s;    ///< from a stage's last operation to the end of the iteration, at least
};

/// A bound from the visits that nodes can serve in time, whichever node serves which stage; at least `from_s`, which
/// must be a bound itself. `length`: of paths, 2 or more; `ways`: up to one hop less.
double places_bound_s(const Problem& problem, int length, const Approaches& ways, const StageNeeds& needs,
                      double from_s);

/// Of each node the most visits that it can serve of one stage, whichever that is, if an iteration ends by a time.
/// Keeps references to all.
std::function<PerNode<int>(double time_s)> visits_in_time(const Problem& problem, int length, const Approaches& ways,
                                                          const StageNeeds& needs);

}  // namespace skippipe::bounds
