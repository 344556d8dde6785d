// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

/// A placement and paths within CC1-CC3 along lines that exist, whatever they cost: by depth-first search on seeded
/// placements (the given one, where there is one). For networks with so few lines that ascending paths on the cheapest
/// placement do not exist. Nothing where none was found, which proves nothing.
std::optional<PlanCandidate> feasible_paths(const Problem& problem, std::uint64_t seed);

}  // namespace skippipe::planners::joint
