// SPDX-License-Identifier: GPL-3.0-or-later
// The end of an iteration: gradients of each stage summed over its copies and divided by tokens, then the optimizer's
// step. Sums run in the order of the plan's stages, whatever the number of threads.
#pragma once
#include <vector>

#include "core/model/node_state.h"
#include "core/engine/task_graph.h"
#include "core/planner/plan/reduction.h"
#include "kernels/vector.h"

namespace skippipe {

/// The copies of a stage, in the order of the plan.
struct StageCopies {
    std::vector<NodeState*> nodes;
    std::int64_t tokens = 0;  ///< V(s)'s; 0: the stage does not step
    Pieces pieces;            ///< where reductions are planned, how all copies are summed; empty: in their order
    /// Where the sum is, apart from every copy's own gradient; not defined: in the first copy's gradient.
    torch::Tensor apart;
    torch::Tensor& sum() { return apart.defined() ? apart : nodes.front()->stage.gradient(); }
};

/// Where each piece of a stage's flat gradient of so many values ends: its share of them, in their order.
std::vector<std::int64_t> piece_ends(const Pieces& pieces, std::int64_t values);

/// What of a reduction is done in one pass over the sum.
enum class ReductionPass {
    add,     ///< the gradients of the copies here are added up; those that saw no token have nothing to add
    divide,  ///< it is divided by `tokens`, which are not 0
    both
};

/// Returns the squared norm of the mean gradient where the pass divides.
double reduce_gradient(StageCopies& stage, ReductionPass pass, TaskGraph& graph);

/// AdamW on every copy of the stages that have tokens, from the reduced gradient.
void step_stages(std::vector<StageCopies>& stages, const std::vector<kernels::AdamW>& parameters, TaskGraph& graph);

}  // namespace skippipe
