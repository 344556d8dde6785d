// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/moves.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/shaping.h"

namespace skippipe {

namespace {

constexpr double states_per_weight_byte = 3;

PerNode<StageIndex> stages_of(const PerStage<std::vector<NodeIndex>>& placement, int nodes) {
    PerNode<StageIndex> stage_of(at(nodes), StageIndex(-1));
    for (StageIndex s = 0; at(s) < placement.size(); ++s)
        for (const NodeIndex node : placement[s]) stage_of[node] = s;
    return stage_of;
}

/// Who of a stage's nodes could send soonest; nobody where no line leads to it.
std::optional<NodeIndex> sender(const Problem& network, const std::vector<NodeIndex>& holders, NodeIndex to,
                                double bytes) {
    std::optional<NodeIndex> best;
    for (const NodeIndex from : holders) {
        if (!network.reachable(from, to)) continue;
        if (!best || travel_s(network, from, to, bytes) < travel_s(network, *best, to, bytes)) best = from;
    }
    return best;
}

}  // namespace

double state_bytes(const Problem& network, StageIndex stage) {
    return states_per_weight_byte * network.weight_bytes(stage);
}

double travel_s(const Problem& network, int from, int to, double bytes) {
    const auto hop = network.hop(NodeIndex(from), NodeIndex(to));
    if (hop.line == no_line) return 0;
    return bytes / network.alone_bytes_per_s(NodeIndex(from), NodeIndex(to)) + hop.latency_s + network.overhead_s;
}

Moves moves_between(const Problem& network, const PerStage<std::vector<NodeIndex>>& before,
                    const PerStage<std::vector<NodeIndex>>& after) {
    const auto was = stages_of(before, network.nodes()), is = stages_of(after, network.nodes());
    LinkShaper lines(network);
    Moves moves;
    for (NodeIndex node = 0; node < network.nodes(); ++node) {
        if (is[node] == was[node]) continue;
        if (is[node] < 0) {
            moves.list.push_back({node, -1, -1});
            continue;
        }
        const double bytes = state_bytes(network, is[node]);
        const auto from = sender(network, before[is[node]], node, bytes);
        if (!from) return {.possible = false};
        const auto number = static_cast<int>(moves.list.size());
        moves.list.push_back({node, is[node], *from});
        moves.lasts_s = std::max(moves.lasts_s, lines.shape_reduction(*from, node, bytes, 0, 0, number).arrival_s);
        moves.bytes += bytes;
    }
    return moves;
}

std::string fault_of_moves(const Problem& network, const PerStage<std::vector<NodeIndex>>& before,
                           const PerStage<std::vector<NodeIndex>>& after, const std::vector<NodeMove>& moves) {
    std::map<int, const NodeMove*> of_node;
    for (const auto& move : moves) {
        if (move.node < 0 || move.node >= network.nodes())
            return fmt::format("node {} moves, of {}", move.node, network.nodes());
        if (!of_node.emplace(move.node, &move).second) return fmt::format("node {} moves twice", move.node);
    }
    const auto holds = [](const PerStage<std::vector<NodeIndex>>& placement, int stage, int node) {
        const auto& ring = placement[at(stage)];
        return std::find(ring.begin(), ring.end(), node) != ring.end();
    };
    for (int node = 0; node < network.nodes(); ++node) {
        const auto move = of_node.find(node);
        const int to = move == of_node.end() ? -1 : move->second->stage;
        if (to >= static_cast<int>(after.size())) return fmt::format("node {} moves to stage {}", node, to);
        for (int stage = 0; stage < static_cast<int>(after.size()); ++stage) {
            const bool had = holds(before, stage, node), has = holds(after, stage, node);
            if (has && had && to >= 0) return fmt::format("node {} stays in stage {} and moves", node, stage);
            if (has && !had && to != stage) return fmt::format("node {} has nothing of stage {}", node, stage);
            if (had && !has && move == of_node.end()) return fmt::format("node {} keeps stage {}", node, stage);
            if (!has && to == stage) return fmt::format("node {} gets stage {} for nothing", node, stage);
        }
        if (to < 0) continue;
        const int from = move->second->from;
        if (from < 0 || from >= network.nodes() || !holds(before, to, from))
            return fmt::format("node {} gets stage {} from node {}, which has it not", node, to, from);
        if (!network.reachable(NodeIndex(from), NodeIndex(node)))
            return network.unlinked_words(NodeIndex(from), NodeIndex(node));
    }
    return {};
}

}  // namespace skippipe
