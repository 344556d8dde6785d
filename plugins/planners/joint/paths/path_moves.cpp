// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint {

std::vector<const PathMove*> all_path_moves() {
    using namespace path_moves;
    return {&exchange_hops,  &reorder,        &exchange_data_nodes, &exchange_paths, &move_path,
            &change_sibling, &exchange_nodes, &change_stage,        &resize,         &turn_ring,
            &move_blocks,    &exchange_sizes, &change_reduction};
}

}  // namespace skippipe::planners::joint
