// SPDX-License-Identifier: GPL-3.0-or-later
// Conflict-based search (Sharon et al. 2015) over uniform execution (CC2), memory (TC1) and collisions (TC2), after
// SkipPipe (arXiv 2502.19913).
//
// As in the authors' planner, the microbatches that a data node can hold at once each get a path, and the same paths
// are used again until all are through; every microbatch first takes the path that is best for it alone, and conflicts
// are settled one by one, CC2 before TC1 before TC2, by a tree of constraints: who leaves a stage, who leaves a node,
// who waits. Where this departs from theirs, and why:
// 1. The tree is searched best first by open conflicts, then time, and no further than a number of expansions (400,
//    fewer on large problems); of the agents in a conflict at most 16 are asked to give way, and the 3 that lose least
//    become branches. Theirs goes on until no conflict is left, 13 minutes on the 20 nodes.
// 2. Every node of the tree that meets CC2 is a plan, judged by the exact timeline, where dispatch decides who waits;
//    the best is returned. Theirs writes down a processing order that nothing reads, and times it in a simulator of
//    its own.
// 3. What is returned always meets CC1-CC3 and TC1; where the tree holds nothing better, it is the balanced paths that
//    it began with.
// 4. Paths of one agent are found by a beam of 96 partial paths instead of all of them.
// 5. Paths are used again in rounds only where the rounds together meet CC2; else every microbatch is an agent of its
//    own.
// 6. A data node's own microbatches do not collide with each other: it starts them one after the other anyway.
// 7. The placement is searched for skipping paths (100 candidates, 1,500 offspring), not taken from the full pipeline.
// 8. Nodes may differ in speed and memory, lines may be missing, and there may be any number of stages.
#pragma once
#include <functional>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

struct ConflictRules {
    std::int64_t expansions = 400;
};

struct ConflictResult {
    bool found = false;
    PlanCandidate candidate;
    double iteration_s = 0;
    std::int64_t expansions = 0;
};

/// Searches paths on the placement of `base`. `go_on` is asked with the fraction done before each expansion.
ConflictResult conflict_search(const Problem& problem, const Network& network, const PlanCandidate& base,
                               const ConflictRules& rules, const std::function<bool(double)>& go_on);

}  // namespace skippipe::planners
