// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change which nodes single microbatches visit.
#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint::path_moves {

namespace {

/// Two microbatches exchange a node each.
bool propose_hop_exchange(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    const int a = 1 + pick(rng, state.length() - 1), b = 1 + pick(rng, state.length() - 1);
    if (i == j || state.node(i, a) == state.node(j, b)) return false;
    state.swap_hops(i, a, j, b);
    return state.fits(i) && state.fits(j);
}

/// A microbatch visits two of its nodes in the other order.
bool propose_reorder(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int a = 1 + pick(rng, state.length() - 1), b = 1 + pick(rng, state.length() - 1);
    if (a == b) return false;
    state.swap_hops(i, a, i, b);
    return state.fits(i);
}

bool propose_data(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    if (state.node(i, 0) == state.node(j, 0)) return false;
    state.swap_hops(i, 0, j, 0);
    return state.fits(i) && state.fits(j);
}

/// A microbatch visits another node of the same stage.
bool propose_sibling(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int first = state.problem().balance_data_nodes ? 1 : 0;
    const int hop = first + pick(rng, state.length() - first);
    const NodeIndex node = state.node(i, hop);
    const auto& siblings = state.ring(state.stage_of(node));
    const NodeIndex other = siblings[pick<std::size_t>(rng, siblings.size())];
    if (other == node) return false;
    state.set_hop(i, hop, other);
    return state.fits(i);
}

/// A microbatch visits another stage instead.
bool propose_stage(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count());
    const int hop = 1 + pick(rng, state.length() - 1);
    const StageIndex stage(1 + pick(rng, state.problem().stages - 1));
    if (!state.may_visit(stage) || stage == state.stage_of(state.node(i, hop))) return false;
    const auto& nodes = state.ring(stage);
    state.set_hop(i, hop, nodes[pick<std::size_t>(rng, nodes.size())]);
    return state.fits(i);
}

bool may_reorder(const PathState& state) {
    const auto& rules = state.problem().constraints;
    return state.length() > 2 && (!rules.bounded_disorder || (rules.max_swaps > 0 && rules.max_swap_distance > 0));
}

}  // namespace

constinit const PathMove exchange_hops{
    "exchange hops", [](const PathState& state) { return state.count() > 1 && state.length() > 1 ? 12 : 0; },
    propose_hop_exchange};
constinit const PathMove reorder{"reorder", [](const PathState& state) { return may_reorder(state) ? 2 : 0; },
                                 propose_reorder};
constinit const PathMove exchange_data_nodes{
    "exchange data nodes", [](const PathState& state) { return state.count() > 1 && state.ring(0).size() > 1 ? 2 : 0; },
    propose_data};
constinit const PathMove change_sibling{
    "change sibling",
    [](const PathState& state) { return state.length() > 1 || !state.problem().balance_data_nodes ? 4 : 0; },
    propose_sibling};
constinit const PathMove change_stage{
    "change stage", [](const PathState& state) { return state.visits_have_slack() ? 2 : 0; }, propose_stage};

}  // namespace skippipe::planners::joint::path_moves
