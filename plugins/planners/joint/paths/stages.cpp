// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change where nodes stand, and what stages consist of.
#include <algorithm>

#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint::path_moves {

namespace {

bool propose_nodes(PathState& state, Rng& rng) {
    const auto u = pick<NodeIndex>(rng, state.problem().nodes()), v = pick<NodeIndex>(rng, state.problem().nodes());
    if (u == v || state.stage_of(u) == state.stage_of(v)) return false;
    state.swap_nodes(u, v);
    return state.lines_fit();
}

/// Two nodes of a ring exchange their positions.
bool propose_ring(PathState& state, Rng& rng) {
    const auto stage = pick<StageIndex>(rng, state.candidate().stages.size());
    const auto size = state.ring(stage).size();
    if (size < 3) return false;
    const int a = pick(rng, size), b = pick(rng, size);
    if (a == b) return false;
    state.swap_in_ring(stage, a, b);
    return state.lines_fit();
}

bool has_rings(const PathState& state) {
    const auto& problem = state.problem();
    const auto& rings = state.candidate().stages;
    return problem.placement.empty() && problem.charge_all_reduce &&
           std::any_of(rings.begin(), rings.end(), [](const auto& ring) { return ring.size() > 2; });
}

/// Blocks go from one stage to another: mostly one, or up to all but one of them, or so many that the two stages
/// exchange theirs.
bool propose_blocks(PathState& state, Rng& rng) {
    const auto from = pick<StageIndex>(rng, state.problem().stages), to = pick<StageIndex>(rng, state.problem().stages);
    const int spare = state.blocks(from) - 1;
    if (from == to || spare < 1) return false;
    const int kind = pick(rng, 4), difference = state.blocks(from) - state.blocks(to);
    state.move_blocks(from, to, kind == 0 ? 1 + pick(rng, spare) : kind == 1 && difference > 0 ? difference : 1);
    return true;
}

}  // namespace

constinit const PathMove exchange_nodes{
    "exchange nodes", [](const PathState& state) { return state.placement_is_free() ? 2 : 0; }, propose_nodes};
constinit const PathMove turn_ring{"turn ring", [](const PathState& state) { return has_rings(state) ? 1 : 0; },
                                   propose_ring};
constinit const PathMove move_blocks{
    "move blocks", [](const PathState& state) { return state.may_move_blocks() ? 4 : 0; }, propose_blocks};

constinit const PathMove change_reduction{"change reduction", reduction_weight<PathState>,
                                          propose_reduction<PathState>};

}  // namespace skippipe::planners::joint::path_moves
