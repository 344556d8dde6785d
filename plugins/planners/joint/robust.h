// SPDX-License-Identifier: GPL-3.0-or-later
// Plans that stay short when nodes and links vary: the choice at the end of the search.
#pragma once
#include <string>
#include <vector>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

/// Of these complete candidates, and of each with its dispatch order bound, the one with the least 95th percentile over
/// the request's sample, the first of equals; `note` says what came out against the first.
PlanCandidate most_robust(const Problem& problem, const std::vector<PlanCandidate>& candidates,
                          const PlanRequest& request, std::string& note);

}  // namespace skippipe::planners::joint
