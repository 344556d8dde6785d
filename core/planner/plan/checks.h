// SPDX-License-Identifier: GPL-3.0-or-later
// The single checks of a plan, for the validators alone. Each adds what it finds.
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/plan/validator.h"

namespace skippipe::validation {

using Violations = std::vector<Violation>;

inline const std::string& id(const Problem& problem, NodeIndex node) { return problem.node_ids[node]; }

/// Known nodes, each in one stage, no stage empty, as many blocks as the model has. False where one is broken: nothing
/// else can be looked at then.
bool check_stages(const Problem& problem, const Plan& plan, Violations& found);
/// CC1, each stage at most once (CC2), and lines both ways. `stage_of`: -1 for none.
void check_path(const Problem& problem, const Path& path, const PerNode<StageIndex>& stage_of, Violations& found);
/// The operations each node must run ("F3"), from the paths alone.
std::map<NodeIndex, std::multiset<std::string>> expected_operations(const Plan& plan);
/// The order, where there is one, names each node's operations exactly once.
void check_order(const Problem& problem, const Plan& plan, Violations& found);
/// Charged all-reduces have their lines.
void check_rings(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, Violations& found);

/// Planned reductions: pieces that add up, trees of the stage's nodes, and lines for their transfers. Call after the
/// checks of stages and paths.
void check_reductions(const Problem& problem, const Plan& plan, const PerStage<char>& visited, Violations& found);
/// Of each stage, whether a path visits it.
PerStage<char> visited_stages(const Plan& plan, const PerNode<StageIndex>& stage_of);

/// Whether data nodes start as many microbatches each.
enum class Shares { equal, any };
/// What a timeline has of a plan.
enum class Ran { everything, rest };

/// Path length, the data nodes' shares (CC1), and at most `cap` visits of a stage (CC2).
void check_counts(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, int length,
                  Shares shares, int cap, Violations& found);
/// CC3.
void check_disorder(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, Violations& found);
/// TC1 and TC2 from what was executed: microbatches held at once, and one operation at a time; and each node's order.
/// `held_before`: microbatches that nodes held at the start. Ran::rest: only the last part of each order.
void check_nodes(const Problem& problem, const Plan& plan, const Timeline& timeline,
                 const std::map<NodeIndex, int>& held_before, Ran ran, Violations& found);

/// Planned reductions as they ran: every transfer of the pieces once, none handed over before its sender had its own
/// part and those of its children, or the sum, and no step before the node's last sum. `pieces`: none for a stage that
/// is not summed; `own_part_s`: when each node has its own part.
void check_reduced(const Problem& problem, const PerStage<std::vector<NodeIndex>>& stages,
                   const PerStage<Pieces>& pieces, const PerNode<double>& own_part_s, const Timeline& timeline,
                   Violations& found);

}  // namespace skippipe::validation
