// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint {

std::vector<const OrderMove*> all_order_moves() {
    using namespace order_moves;
    return {&shift,          &shift_critical,  &exchange_in_place, &exchange_in_time,
            &reorder,        &exchange_stages, &change_sibling,    &change_stage,
            &exchange_nodes, &move_blocks,     &exchange_sizes,    &change_reduction};
}

std::vector<const OrderMove*> order_moves_within_stages() {
    auto moves = all_order_moves();
    std::erase(moves, &order_moves::change_stage);
    return moves;
}

}  // namespace skippipe::planners::joint
