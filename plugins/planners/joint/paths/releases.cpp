// SPDX-License-Identifier: GPL-3.0-or-later
// Moves that change which path, or which microbatch, has which position in the release order.
#include <algorithm>

#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint::path_moves {

namespace {

int if_several(const PathState& state, int weight) { return state.count() > 1 ? weight : 0; }

bool propose_path_exchange(PathState& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    const NodeIndex *first = state.schedule().path(i), *second = state.schedule().path(j);
    if (std::equal(first, first + state.length(), second)) return false;
    state.swap_paths(i, j);
    return true;
}

bool propose_path_move(PathState& state, Rng& rng) {
    const auto from = pick<ReleaseIndex>(rng, state.count()), to = pick<ReleaseIndex>(rng, state.count());
    if (from == to) return false;
    state.move_path(from, to);
    return true;
}

}  // namespace

constinit const PathMove exchange_paths{"exchange paths", [](const PathState& state) { return if_several(state, 3); },
                                        propose_path_exchange};
constinit const PathMove move_path{"move path", [](const PathState& state) { return if_several(state, 2); },
                                   propose_path_move};
/// Two microbatches of different sizes.
constinit const PathMove exchange_sizes{
    "exchange sizes",
    [](const PathState& state) { return state.problem().sizes.size() > 1 ? if_several(state, 3) : 0; },
    propose_sizes<PathState>};

}  // namespace skippipe::planners::joint::path_moves
