// SPDX-License-Identifier: GPL-3.0-or-later
// What planners work on until it becomes a Plan, and what they all need: costs of an idle network, stage sizes, rings.
#pragma once
#include <string>
#include <vector>

#include "core/planner/planner.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

using Placement = std::vector<std::vector<int>>;  ///< nodes of each stage, in ring order

struct PlanCandidate {
    Placement stages;
    FlatPlan schedule;
    std::vector<int> blocks;  ///< of each stage: the problem's, or chosen where they are planned
};

bool operator==(const PlanCandidate& a, const PlanCandidate& b);

/// Added for each hop that has no line: far above any time, and still a number to compare.
inline constexpr double unreachable_s = 1e9;

/// Seconds between nodes that nothing else uses.
class Network {
public:
    explicit Network(const Problem& problem);
    /// There with the activation and back with the gradient; unreachable_s or more where a line is missing.
    double round_s(int from, int to) const {
        return round_s_[static_cast<std::size_t>(from) * nodes_ + static_cast<std::size_t>(to)];
    }

private:
    std::size_t nodes_;
    std::vector<double> round_s_;
};

/// Throws InputError where a number of the problem rules out every plan: a node without memory for one microbatch
/// (TC1).
void check_solvable(const Problem& problem);

/// Nodes of each stage: as asked for, or the default.
std::vector<int> stage_sizes(const Problem& problem);

/// Nodes of each stage of a placement.
std::vector<int> sizes_of(const Placement& placement);

/// The order of a stage's nodes that makes its all-reduce shortest (all orders up to 7 nodes, else nearest neighbours).
void order_ring(const Problem& problem, std::vector<int>& ring, int stage);

/// Throws InputError naming a pair of nodes where the candidate needs a line that does not exist.
void check_reach(const Problem& problem, const PlanCandidate& candidate);

PlanCandidate make_candidate(const Problem& problem, const Placement& stages, int length);
PlanCandidate candidate_of(const Problem& problem, const Plan& plan);
Plan make_plan(const Problem& problem, const PlanCandidate& candidate, const std::string& planner,
               const PlanRequest& request, std::int64_t steps, std::string note);

/// Whether a path's stages are allowed (CC1, CC3).
bool fits_stages(const Problem& problem, const FlatPlan& schedule, int index);
/// Whether every two neighbours on a path have lines both ways.
bool has_lines(const Problem& problem, const FlatPlan& schedule, int index);
/// Whether charged all-reduces have their lines.
bool has_ring_lines(const Problem& problem, const PlanCandidate& candidate);
/// Whether all paths are allowed, and they and charged all-reduces have their lines.
bool fits_everywhere(const Problem& problem, const PlanCandidate& candidate);

/// Mean end of the data nodes' last operations, seconds. Searches add a part of it to the iteration that they minimise:
/// it tells apart the many neighbours that leave the last of the data nodes as it is.
double mean_end_s(const std::vector<int>& data_nodes, const std::vector<double>& node_end_s);

/// Iteration time of a candidate; infinite where it deadlocks.
double iteration_s(const Problem& problem, const PlanCandidate& candidate);
/// The same by the evaluator, which records every span: slow, and apart from what searches ask.
double evaluated_s(const Problem& problem, const PlanCandidate& candidate);

}  // namespace skippipe
