// SPDX-License-Identifier: GPL-3.0-or-later
// Which stages the microbatches of fixed pipelines visit.
#pragma once
#include <optional>
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe::planners::joint {

/// How many pipelines, with how many data nodes each.
struct PipelineShape {
    int pipelines = 1, data_nodes_each = 1;
    double crossing = 1;  ///< transfers over lines that several nodes hand to are thought to take so many times as long
    int data_nodes() const { return pipelines * data_nodes_each; }
};

/// Those that leave every data node as many microbatches and every place a node. Where lines are shared by several
/// nodes each comes twice: as if they were not, and as far as pipelines can do without them.
std::vector<PipelineShape> pipeline_shapes(const Problem& problem);

/// The problem as pipelines of a shape see it.
Problem with_crossing(const Problem& problem, double crossing);

/// At a place of a pipeline, so many of its microbatches visit another stage, on a node of their own.
struct Diversion {
    std::size_t place = 0;
    StageIndex stage = 0;
    int visits = 0;
};

struct PipelineRoute {
    std::vector<StageIndex> stages;     ///< of each place
    std::vector<Diversion> diversions;  ///< never of two places side by side
};

/// Of each pipeline: within CC1 and CC3, all stages used as evenly as CC2 wants them; as whole pipelines alone rarely
/// can, some divert a part of their microbatches to a neighbouring stage. Nothing where that does not suffice,
/// where a stage would not be used at all, or nodes are too few; throws InputError where there are no such sequences of
/// stages.
std::optional<std::vector<PipelineRoute>> pipeline_routes(const Problem& problem, const PipelineShape& shape);

}  // namespace skippipe::planners::joint
