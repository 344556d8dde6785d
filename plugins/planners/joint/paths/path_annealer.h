// SPDX-License-Identifier: GPL-3.0-or-later
// Simulated annealing over placement, paths and priorities.
#pragma once
#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint {

class PathAnnealer : public Annealer<PathState> {
public:
    /// `start` is complete and within CC1-CC3, without a binding order. Keeps references to the problem, and to the
    /// scenarios in `options`, where best_s() is their TailCost.
    PathAnnealer(const Problem& problem, const Network& network, const PlanCandidate& start, std::uint64_t seed,
                 std::uint64_t stream, const PathOptions& options = {})
        : Annealer(seed, stream, all_path_moves(), problem, network, start, options) {}
};

}  // namespace skippipe::planners::joint
