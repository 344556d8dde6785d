// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "plugins/planners/common/search.h"

namespace skippipe::planners {

struct SkipCandidate {
    PlanCandidate candidate;
    std::int64_t steps = 0;
    std::string note;
};

/// Placement for skipping and cheapest paths on it, collisions ignored (what `skippipe-no-tc2` plans). Always complete.
SkipCandidate cheapest_paths(const Problem& problem, const PlanRequest& request, const Budget& budget);

inline constexpr std::int64_t default_expansions = 400;

/// The same, then the conflict-based search over CC2, TC1 and TC2 (what `skippipe` plans). Always complete, never
/// longer.
SkipCandidate conflict_free_paths(const Problem& problem, const PlanRequest& request, const Budget& budget,
                                  std::int64_t expansions);

}  // namespace skippipe::planners
