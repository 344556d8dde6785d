// SPDX-License-Identifier: GPL-3.0-or-later
// What is minimised for plans that stay short when nodes and links vary, where reductions are planned or nodes have
// uplinks: there who is first at a line hangs on every other transfer, so that lanes (tail_cost.h) do not follow it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/planner/timeline/jitter.h"
#include "core/planner/timeline/simulator.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/paths/tail_cost.h"

namespace skippipe::planners::joint {

/// Whether TailCost leaves out some of the problem's transfers.
inline bool wants_drawn_networks(const Problem& problem) { return problem.plan_reductions || problem.has_uplinks(); }

/// The exact timeline on each of some drawn networks. The same networks for every candidate.
class DrawnNetworks {
public:
    static constexpr int count = 16;

    /// Never the networks that plans are judged by (`distribution`).
    DrawnNetworks(const Problem& problem, const Jitter& jitter, std::uint64_t seed);

    /// Mean of the longer half of the iterations, and of the data nodes' ends over all; infinite where the candidate
    /// deadlocks on one, or as soon as the mean is sure to reach `cutoff_s`.
    TailCost::Value operator()(const PlanCandidate& candidate, double cutoff_s);

private:
    std::vector<std::unique_ptr<Problem>> problems_;
    std::vector<Simulator> simulators_;
    std::vector<double> iteration_s_;
};

}  // namespace skippipe::planners::joint
