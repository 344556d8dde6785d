// SPDX-License-Identifier: GPL-3.0-or-later
// The move that changes how many nodes stages have.
#include "core/base/index.h"
#include "plugins/planners/joint/paths/path_moves.h"

namespace skippipe::planners::joint::path_moves {

namespace {

/// As many microbatches for every data node; as few as that takes change theirs.
void spread_data(PathState& state, Rng& rng) {
    const int count = state.count(), share = count / static_cast<int>(state.ring(0).size());
    PerNode<int> own(at(state.problem().nodes()), 0);
    std::vector<NodeIndex> needy;
    std::vector<ReleaseIndex> order(at(count));
    for (ReleaseIndex i = 0; i < count; ++i) order[at(i)] = i;
    rng.shuffle(order);
    for (const ReleaseIndex i : order) ++own[state.node(i, 0)];
    for (const NodeIndex node : state.ring(0))
        for (int k = own[node]; k < share; ++k) needy.push_back(node);
    for (const ReleaseIndex i : order) {
        const NodeIndex node = state.node(i, 0);
        if (own[node] <= share || needy.empty()) continue;
        --own[node];
        state.set_hop(i, 0, needy.back());
        needy.pop_back();
    }
}

/// The next node from a random one on that may come to stage 0 (`more`) or leave it; -1: none.
NodeIndex next_for_stage_0(const PathState& state, bool more, Rng& rng) {
    const int nodes = state.problem().nodes(), first = pick(rng, nodes);
    for (int k = 0; k < nodes; ++k) {
        const NodeIndex node((first + k) % nodes);
        const StageIndex stage = state.stage_of(node);
        if (more ? stage != 0 && (stage < 0 || state.ring(stage).size() > 1) : stage == 0) return node;
    }
    return -1;
}

/// Where every data node must start as many microbatches, their number has to divide: further nodes follow until it
/// does.
bool fill_stage_0(PathState& state, bool more, Rng& rng) {
    const auto size = [&] { return static_cast<int>(state.ring(0).size()); };
    if (size() > state.count()) return false;
    if (!state.problem().balance_data_nodes) return true;
    while (state.count() % size() != 0) {
        const NodeIndex node = next_for_stage_0(state, more, rng);
        if (node < 0) return false;
        if (state.stage_of(node) >= 0) state.leave_stage(node, rng);
        if (more)
            state.enter_stage(node, 0, rng);
        else if (const auto to = pick<StageIndex>(rng, state.problem().stages); to > 0)
            state.enter_stage(node, to, rng);
    }
    spread_data(state, rng);
    return true;
}

/// A node goes to another stage, out of all, or comes back; its visits go to its siblings, and it takes its share of
/// its new ones'.
bool propose(PathState& state, Rng& rng) {
    const auto node = pick<NodeIndex>(rng, state.problem().nodes());
    const StageIndex from = state.stage_of(node), to(pick(rng, state.problem().stages + 1) - 1);
    if (from == to || (from >= 0 && state.ring(from).size() == 1)) return false;
    if (from >= 0) state.leave_stage(node, rng);
    if (to >= 0) state.enter_stage(node, to, rng);
    // Work follows the node.
    if (state.may_move_blocks() && from >= 0 && to >= 0 && state.blocks(from) > 1 && pick(rng, 2) == 0)
        state.move_blocks(from, to, 1);
    if ((from == 0 || to == 0) && !fill_stage_0(state, to == 0, rng)) return false;
    return state.lines_fit();
}

bool sizes_are_free(const PathState& state) {
    const auto& problem = state.problem();
    return state.placement_is_free() && problem.stage_sizes.empty() && problem.stages > 1 &&
           problem.nodes() > problem.stages;
}

}  // namespace

constinit const PathMove resize{"resize", [](const PathState& state) { return sizes_are_free(state) ? 2 : 0; },
                                propose};

}  // namespace skippipe::planners::joint::path_moves
