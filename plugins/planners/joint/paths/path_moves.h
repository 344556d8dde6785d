// SPDX-License-Identifier: GPL-3.0-or-later
// What annealing over paths tries. Each move says how often it is drawn, where it is possible, and what it does.
#pragma once
#include "plugins/planners/joint/anneal/annealer.h"
#include "plugins/planners/joint/paths/path_state.h"

namespace skippipe::planners::joint {

using PathMove = Move<PathState>;

namespace path_moves {

// hops.cpp
extern const PathMove exchange_hops, reorder, exchange_data_nodes, change_sibling, change_stage;
// releases.cpp
extern const PathMove exchange_paths, move_path, exchange_sizes;
// stages.cpp
extern const PathMove exchange_nodes, turn_ring, move_blocks, change_reduction;
// resize.cpp
extern const PathMove resize;

}  // namespace path_moves

/// All of them; seeds give the same plans only in this order.
std::vector<const PathMove*> all_path_moves();

}  // namespace skippipe::planners::joint
