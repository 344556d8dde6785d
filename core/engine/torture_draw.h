// SPDX-License-Identifier: GPL-3.0-or-later
// Random networks and plans, drawn from a seed alone.
#pragma once
#include "core/base/index.h"
#include "core/base/rng.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

struct Draw {
    Rng rng;
    int between(int low, int high) { return low + static_cast<int>(rng.below(at(high - low + 1))); }
    bool chance(double share) { return rng.uniform() < share; }
    template <class Range>
    auto one_of(const Range& range) {
        return range[rng.below(std::size(range))];
    }
};

/// Uneven speeds, equal and zero latencies (ties) or none, shared or unlimited lines.
Problem random_network(Draw& draw, int stages, int length, int nodes, int microbatches);
/// One to four of equal shares, or the default.
Pieces random_pieces(Draw& draw, int replicas);
/// Each stage has a node at least.
Plan random_plan(Draw& draw, const Problem& problem);
/// Planned reductions, uplinks and downlinks; drawn apart, so that seeds keep their networks and paths.
void draw_transfers(Draw& draw, Problem& problem, Plan& plan);

/// The first so many of the release order alone; 0: all.
void leave_microbatches(Problem& problem, Plan& plan, int microbatches);

}  // namespace skippipe
