// SPDX-License-Identifier: GPL-3.0-or-later
// Conflict-based search over uniform execution (CC2), memory (TC1) and collisions (TC2), after SkipPipe.
//
// As in the authors' planner, the microbatches that a data node can hold at once each get a path, and the same paths are used
// again until all are through; every microbatch first takes the path that is best for it alone, and conflicts are settled one by
// one, CC2 before TC1 before TC2, by a tree of constraints: who leaves a stage, who leaves a node, who waits. What differs from
// theirs: the tree is searched best first by open conflicts, then time, within a number of expansions; every node of it that
// meets CC2 is judged by the exact timeline, where dispatch decides who waits; and what is returned always meets CC1-CC3.
#pragma once
#include <functional>

#include "plugins/planners/draft.h"

namespace skippipe {

struct ConflictRules {
    std::int64_t expansions = 400;
};

struct ConflictResult {
    bool found = false;
    Draft draft;
    double iteration_s = 0;
    std::int64_t expansions = 0;
};

/// Searches paths on the placement of `base`. `go_on` is asked with the fraction done before each expansion.
ConflictResult conflict_search(const Problem& problem, const Network& network, const Draft& base, const ConflictRules& rules,
                               const std::function<bool(double)>& go_on);

}  // namespace skippipe
