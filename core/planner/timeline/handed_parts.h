// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/planner/plan/problem.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

/// A transfer of a planned reduction in a timeline, and what it brings.
struct PartTransfer {
    NodeIndex from = 0, to = 0;
    double ready_s = 0, arrival_s = 0, bytes = 0;
    std::uint32_t slot = 0;  ///< of the ReductionMachine of the plan's stages and pieces
    HandedPart part;
};

/// The pieces by which a plan's stages are summed, with the default where it says nothing; none of a stage that no
/// microbatch visits or that has one node, and none at all where reductions are not planned.
PerStage<Pieces> summed_pieces(const Problem& problem, const Plan& plan);

/// Every transfer of the plan's reductions in the order in which its timeline hands them over. The timeline is the
/// evaluator's, and complete; `pieces` are summed_pieces, none for none.
std::vector<PartTransfer> handed_parts(const Problem& problem, const Plan& plan, const PerStage<Pieces>& pieces,
                                       const Timeline& timeline);

}  // namespace skippipe
