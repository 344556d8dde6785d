// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

/// The order in which each node runs its operations in the candidate's timeline. Empty where the timeline is
/// incomplete.
PerNode<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const PlanCandidate& candidate);

}  // namespace skippipe::planners
