// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change which nodes one microbatch visits, and when.
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint::order_moves {

namespace {

/// A microbatch visits two of its nodes in the other order.
bool propose_reorder(OrderState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int a = 1 + pick(rng, state.length() - 1), b = 1 + pick(rng, state.length() - 1);
    if (a == b) return false;
    const NodeIndex u = state.node(i, a), v = state.node(i, b);
    state.take_out(i, a);
    state.take_out(i, b);
    state.set_hop(i, a, v);
    state.set_hop(i, b, u);
    return state.fits(i) && state.put_in(i, a, 0) && state.put_in(i, b, 0);
}

bool move_visit(OrderState& state, ReleaseIndex index, int hop, NodeIndex node, Rng& rng) {
    if (state.node(index, hop) == node) return false;
    state.take_out(index, hop);
    state.set_hop(index, hop, node);
    return state.fits(index) && state.put_in(index, hop, state.jitter_s(node, rng));
}

/// Another node of the same stage.
bool propose_sibling(OrderState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int first = state.problem().balance_data_nodes ? 1 : 0;
    const int hop = first + pick(rng, state.length() - first);
    const auto& siblings = state.ring(state.stage_of(state.node(i, hop)));
    return move_visit(state, i, hop, siblings[pick<std::size_t>(rng, siblings.size())], rng);
}

/// A node of another stage.
bool propose_stage(OrderState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int hop = 1 + pick(rng, state.length() - 1);
    const StageIndex stage(1 + pick(rng, state.problem().stages - 1));
    if (!state.may_visit(stage) || stage == state.stage_of(state.node(i, hop))) return false;
    const auto& nodes = state.ring(stage);
    return move_visit(state, i, hop, nodes[pick<std::size_t>(rng, nodes.size())], rng);
}

}  // namespace

constinit const OrderMove reorder{"reorder", [](const OrderState& state) { return state.length() > 2 ? 1 : 0; },
                                  propose_reorder};
constinit const OrderMove change_sibling{
    "change sibling",
    [](const OrderState& state) { return state.length() > 1 || !state.problem().balance_data_nodes ? 1 : 0; },
    propose_sibling};
constinit const OrderMove change_stage{
    "change stage", [](const OrderState& state) { return state.visits_have_slack() ? 1 : 0; }, propose_stage};

}  // namespace skippipe::planners::joint::order_moves
