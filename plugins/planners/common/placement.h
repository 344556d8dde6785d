// SPDX-License-Identifier: GPL-3.0-or-later
// Which node holds which stage, where that is free.
#pragma once
#include <cstdint>
#include <functional>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

/// What a placement costs an iteration, roughly and fast: hops between stages by how often paths take them, each node
/// of a stage matched to near ones of the next; the slowest stage's work; the longest all-reduce.
class PlacementCost {
public:
    /// `flow` [from * stages + to]: share of the microbatches that hop from one stage to another (the way back to stage
    /// 0 included).
    PlacementCost(const Problem& problem, const Network& network, std::vector<double> flow);
    double seconds(const Placement& placement) const;

private:
    double matched_s(const std::vector<NodeIndex>& from, const std::vector<NodeIndex>& to) const;

    const Problem& problem_;
    const Network& network_;
    std::vector<double> flow_;
    PerStage<double> visits_;
};

/// Flow between the stages for paths with these sequences.
std::vector<double> stage_flow(const Problem& problem, const std::vector<std::vector<StageIndex>>& sequences);

/// Stage after stage as many of `nodes`, in their order, as `sizes` says: together at most as many as there are.
Placement placement_in_order(const std::vector<NodeIndex>& nodes, const PerStage<int>& sizes);

/// Nodes into stages in the order they are listed.
Placement listed_placement(const Problem& problem);

struct GeneticBudget {
    int population = 200;           ///< DT-FM's
    std::int64_t offspring = 8000;  ///< DT-FM's
};

struct GeneticResult {
    Placement placement;
    std::int64_t offspring = 0;
};

/// Genetic search over placements (DT-FM, arXiv 2206.01288): children take a part of the stages from each parent, are
/// repaired to the stage sizes and improved by exchanges of nodes, and replace the worst. A given placement is returned
/// as it is.
GeneticResult genetic_placement(const Problem& problem, const PlacementCost& cost, const GeneticBudget& budget,
                                std::uint64_t seed, const std::function<bool(double)>& go_on);

}  // namespace skippipe::planners
