// SPDX-License-Identifier: GPL-3.0-or-later
// What annealing over orders tries. Each move says how often it is drawn, where it is possible, and what it does.
#pragma once
#include "plugins/planners/joint/anneal/annealer.h"
#include "plugins/planners/joint/orders/order_state.h"

namespace skippipe::planners::joint {

using OrderMove = Move<OrderState>;

namespace order_moves {

// shifts.cpp
extern const OrderMove shift, shift_critical;
// exchanges.cpp
extern const OrderMove exchange_in_place, exchange_in_time, exchange_stages;
// visits.cpp
extern const OrderMove reorder, change_sibling, change_stage;
// nodes.cpp
extern const OrderMove exchange_nodes, move_blocks, exchange_sizes, change_reduction;

}  // namespace order_moves

/// All of them; seeds give the same plans only in this order.
std::vector<const OrderMove*> all_order_moves();
/// Those that leave every stage as many visits, whatever CC2 allows.
std::vector<const OrderMove*> order_moves_within_stages();

}  // namespace skippipe::planners::joint
