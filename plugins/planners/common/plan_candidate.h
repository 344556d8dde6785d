// SPDX-License-Identifier: GPL-3.0-or-later
// What planners work on until it becomes a Plan.
#pragma once
#include <string>
#include <vector>

#include "core/planner/planner.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe::planners {

using Placement = PerStage<std::vector<NodeIndex>>;  ///< nodes of each stage, in ring order

/// Flat, cheap to copy and to change in place.
struct PlanCandidate {
    Placement stages;
    FlatPlan schedule;
    PerStage<int> blocks;  ///< the problem's, or chosen where they are planned
};

bool operator==(const PlanCandidate& a, const PlanCandidate& b);

/// Where reductions are planned: each stage's shortest start (ReductionChoice), for a placement that is complete.
void choose_reductions(const Problem& problem, PlanCandidate& candidate);

/// Nodes of each stage: as asked for, or the default.
PerStage<int> stage_sizes(const Problem& problem);

/// Nodes of each stage of a placement.
PerStage<int> sizes_of(const Placement& placement);

/// On a placement, with paths of so many nodes that are still to be filled in: node -1 everywhere.
PlanCandidate make_candidate(const Problem& problem, const Placement& stages, int length);
/// The same, where reductions are planned without pieces.
PlanCandidate candidate_without_pieces(const Problem& problem, const Placement& stages, int length);
/// `plan` must have passed check_structure.
PlanCandidate candidate_of(const Problem& problem, const Plan& plan);
/// `steps`, `note`: what the plan says of its search.
Plan make_plan(const Problem& problem, const PlanCandidate& candidate, const std::string& planner,
               const PlanRequest& request, std::int64_t steps, std::string note);

/// Mean end of the data nodes' last operations, seconds. Searches add a part of it to the iteration that they minimise:
/// it tells apart the many neighbours that leave the last of the data nodes as it is.
double mean_end_s(const std::vector<NodeIndex>& data_nodes, const PerNode<double>& node_end_s);

/// Of the timeline of a plan with paths of the problem's length: F at each of a path's nodes, L, and B at each. How
/// long searches and their temperatures last goes by them.
inline double operations_of(const Problem& problem) {
    return static_cast<double>(problem.microbatches) * (2 * problem.path_length + 1);
}

/// Iteration time of a candidate; infinite where it deadlocks.
double iteration_s(const Problem& problem, const PlanCandidate& candidate);
/// The same by the evaluator, which records every span: slow, and apart from what searches ask.
double evaluated_s(const Problem& problem, const PlanCandidate& candidate);

}  // namespace skippipe::planners
