// SPDX-License-Identifier: GPL-3.0-or-later
// For the files of the lower bounds alone.
#pragma once
#include "core/planner/plan/problem.h"

namespace skippipe::bounds {

/// No data node with `own` microbatches, each of which holds its place for at least `loop_s`, is through with them
/// sooner.
double data_node_s(const Problem& problem, NodeIndex node, int own, double loop_s);

}  // namespace skippipe::bounds
