// SPDX-License-Identifier: GPL-3.0-or-later
// How a rest sums gradients where reductions are planned and replicas are no longer those of the plan.
#pragma once
#include <optional>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// The pieces of a stage for those of its nodes that are left: in each tree the children of one that is not hang on its
/// nearest ancestor that is; where the root is lost, on the first of them. `left`: some of `nodes`, in their order.
Pieces pieces_without_lost(const Pieces& pieces, const std::vector<NodeIndex>& nodes,
                           const std::vector<NodeIndex>& left);

/// Pieces for a stage's nodes as they are now: of what is left of those it had (`had`, of `had_nodes`), an equal share
/// to each root, one exchange and a star to each root, those that take the least where all parts are there at once and
/// nothing else uses the lines. Empty for one node; nothing where each needs a line that is missing.
std::optional<Pieces> rest_pieces(const Problem& network, StageIndex stage, const std::vector<NodeIndex>& nodes,
                                  const Pieces& had, const std::vector<NodeIndex>& had_nodes);

/// Of every stage, as its plan has them or by default; empty where reductions are not planned.
PerStage<Pieces> pieces_of(const Problem& problem, const Plan& plan);

}  // namespace skippipe
