// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Microbatches of one node of a stage that go through another one of it instead, and what that does to an iteration.
struct SharedWork {
    NodeIndex from = -1, to = -1;
    std::vector<MicrobatchIndex> microbatches;  ///< in the order in which they were chosen
    double change = 0;                          ///< of the iteration, as a share of it
    bool operator==(const SharedWork&) const = default;
};

/// The plan with those microbatches through `shared.to`; each node works in the order of `timeline`, a complete one of
/// that plan.
Plan with_shared_work(const Plan& plan, const Problem& problem, const Timeline& timeline, const SharedWork& shared);

/// What sharing the work of the node's stage more evenly would do: the node takes microbatches from the one of its
/// stage with the most, or gives of its own to the one with the fewest where it has the most. They are chosen one by
/// one, each the best of all, while that shortens the iteration and the two stay in that order; where none does, the
/// least harmful one. Absent: the node is a data node or alone in its stage, or the work is even already. Of a complete
/// timeline of that plan. Up to some hundreds of evaluations, of large plans fewer, and absent where not even one
/// microbatch after the other can be tried: not for the window's thread.
std::optional<SharedWork> shared_work(const Problem& given, const Plan& plan, const Timeline& timeline, NodeIndex node);

}  // namespace skippipe
