// SPDX-License-Identifier: GPL-3.0-or-later
// The end of an iteration: gradients of each stage summed over its copies and divided by tokens, then the optimizer's
// step. Sums run in the order of the plan's stages, whatever the number of threads.
#pragma once
#include <vector>

#include "core/model/node_state.h"
#include "core/engine/task_graph.h"
#include "kernels/vector.h"

namespace skippipe {

/// The copies of a stage, in the order of the plan.
struct StageCopies {
    std::vector<NodeState*> nodes;
    std::int64_t tokens = 0;  ///< V(s)'s; 0: the stage does not step
};

/// Leaves the mean gradient over the tokens of V(s) in the first copy's gradient tensor; returns each stage's squared
/// norm, negative for stages without tokens.
std::vector<double> reduce_gradients(std::vector<StageCopies>& stages, TaskGraph& graph);

/// AdamW on every copy of the stages that have tokens, from the reduced gradient.
void step_stages(std::vector<StageCopies>& stages, const std::vector<kernels::AdamW>& parameters, TaskGraph& graph);

}  // namespace skippipe
