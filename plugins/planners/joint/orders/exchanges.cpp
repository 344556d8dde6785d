// SPDX-License-Identifier: GPL-3.0-or-later
// Moves by which two microbatches exchange a node each.
#include "plugins/planners/joint/orders/order_moves.h"

namespace skippipe::planners::joint::order_moves {

namespace {

/// Each takes the other's positions in the orders, or those that fit its own times, by a random part of a forward
/// earlier or later.
bool exchange(OrderState& state, ReleaseIndex i, int a, ReleaseIndex j, int b, bool in_place, Rng& rng) {
    const NodeIndex u = state.node(i, a), v = state.node(j, b);
    if (in_place) {
        state.hand_on(u, i, a, j, b);
        state.hand_on(v, j, b, i, a);
    } else {
        state.take_out(i, a);
        state.take_out(j, b);
    }
    state.set_hop(i, a, v);
    state.set_hop(j, b, u);
    if (!state.fits(i) || !state.fits(j)) return false;
    return in_place || (state.put_in(i, a, state.jitter_s(v, rng)) && state.put_in(j, b, state.jitter_s(u, rng)));
}

/// Nodes of a stage that both visit, data nodes included.
template <bool InPlace>
bool propose_same_stage(OrderState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    const int a = pick(rng, state.length());
    const NodeIndex u = state.node(i, a);
    const StageIndex stage = state.stage_of(u);
    int b = -1;
    for (int hop = 0; hop < state.length(); ++hop)
        if (state.stage_of(state.node(j, hop)) == stage) b = hop;
    if (i == j || b < 0 || state.node(j, b) == u) return false;
    return exchange(state, i, a, j, b, InPlace, rng);
}

bool propose_stages(OrderState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    const int a = 1 + pick(rng, state.length() - 1), b = 1 + pick(rng, state.length() - 1);
    if (i == j || state.stage_of(state.node(i, a)) == state.stage_of(state.node(j, b))) return false;
    return exchange(state, i, a, j, b, false, rng);
}

int if_longer_than(const OrderState& state, int hops) { return state.count() > 1 && state.length() > hops ? 3 : 0; }

}  // namespace

constinit const OrderMove exchange_in_place{
    "exchange in place", [](const OrderState& state) { return if_longer_than(state, 1); }, propose_same_stage<true>};
constinit const OrderMove exchange_in_time{
    "exchange in time", [](const OrderState& state) { return if_longer_than(state, 1); }, propose_same_stage<false>};
/// Nodes of different stages.
constinit const OrderMove exchange_stages{
    "exchange stages", [](const OrderState& state) { return if_longer_than(state, 2); }, propose_stages};

}  // namespace skippipe::planners::joint::order_moves
