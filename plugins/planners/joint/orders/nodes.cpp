// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change where nodes stand, what stages consist of, and which microbatch takes which path.
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint::order_moves {

namespace {

bool propose_nodes(OrderState& state, Rng& rng) {
    const auto u = pick<NodeIndex>(rng, state.problem().nodes()), v = pick<NodeIndex>(rng, state.problem().nodes());
    if (u == v) return false;
    state.swap_nodes(u, v);
    return state.nodes_fit(u, v);
}

/// A block goes from one stage to another, or so many that the two exchange theirs.
bool propose_blocks(OrderState& state, Rng& rng) {
    const auto from = pick<StageIndex>(rng, state.problem().stages), to = pick<StageIndex>(rng, state.problem().stages);
    if (from == to || state.blocks(from) < 2) return false;
    const int difference = state.blocks(from) - state.blocks(to);
    state.move_blocks(from, to, difference > 0 && pick(rng, 4) == 0 ? difference : 1);
    for (NodeIndex n = 0; at(n) < state.problem().memory_bytes.size(); ++n)
        if (!state.holds(n)) return false;
    return true;
}

}  // namespace

constinit const OrderMove exchange_nodes{
    "exchange nodes", [](const OrderState& state) { return state.placement_is_free() ? 1 : 0; }, propose_nodes};
constinit const OrderMove move_blocks{
    "move blocks", [](const OrderState& state) { return state.plans_blocks() && state.problem().stages > 1 ? 4 : 0; },
    propose_blocks};
constinit const OrderMove exchange_sizes{
    "exchange sizes",
    [](const OrderState& state) { return state.count() > 1 && state.problem().sizes.size() > 1 ? 3 : 0; },
    propose_sizes<OrderState>};

constinit const OrderMove change_reduction{"change reduction", reduction_weight<OrderState>,
                                           propose_reduction<OrderState>};

}  // namespace skippipe::planners::joint::order_moves
