// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes that change their stages between two iterations: who sends what to whom, and how long that takes.
#pragma once
#include <string>
#include <vector>

#include "core/engine/compute.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// What leads from one placement to another.
struct Moves {
    std::vector<NodeMove> list;  ///< by node
    double lasts_s = 0;          ///< network time until the last one has what it needs
    double bytes = 0;            ///< that travel
    bool possible = true;        ///< false: a line is missing, or nobody has what a stage needs
};

/// Each node that is new in a stage gets weights and the two moments of AdamW from the node that could send them
/// soonest if it were alone; all are handed over at once, node after node, and queue as any transfers. `network`: as it
/// is now, with the plan's blocks. `before`, `after`: the nodes of each stage.
Moves moves_between(const Problem& network, const PerStage<std::vector<NodeIndex>>& before,
                    const PerStage<std::vector<NodeIndex>>& after);

/// What is wrong with such a list, read afresh from both placements; empty: nothing.
std::string fault_of_moves(const Problem& network, const PerStage<std::vector<NodeIndex>>& before,
                           const PerStage<std::vector<NodeIndex>>& after, const std::vector<NodeMove>& moves);

/// Weights and both moments of the optimizer of a stage.
double state_bytes(const Problem& network, StageIndex stage);

/// From one node to another over the line between them, idle; 0 where there is none.
double travel_s(const Problem& network, int from, int to, double bytes);

}  // namespace skippipe
