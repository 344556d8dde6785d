// SPDX-License-Identifier: GPL-3.0-or-later
// Paths for all microbatches on a placement, within CC1-CC3, judged without a timeline.
#pragma once
#include <cstdint>
#include <functional>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

struct RouteRules {
    bool aware = true;        ///< prefers near and fast nodes; else any that can be reached
    bool balanced = true;     ///< every node of a stage as many microbatches as its siblings
    std::int64_t trials = 0;  ///< exchanges tried; 0: by the problem's size
};

/// Fills the candidate's paths. Throws InputError where no sequence of stages or no reachable path exists.
void route(const Problem& problem, const Network& network, const std::vector<std::vector<StageIndex>>& sequences,
           const RouteRules& rules, std::uint64_t seed, PlanCandidate& candidate);

/// Data node of each microbatch in release order: each in turn.
std::vector<NodeIndex> data_nodes_in_turn(const Problem& problem, const Placement& stages);

}  // namespace skippipe::planners
