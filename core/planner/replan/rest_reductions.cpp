// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/rest_reductions.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/lone_reduction.h"

namespace skippipe {

namespace {

constexpr int most_star_roots = 8;

/// Of each replica that is left, its parent among them; `root` for those whose ancestors are all lost, and for itself.
std::vector<int> parents_left(const std::vector<int>& parents, const std::vector<int>& place_left, int old_root,
                              int root, int count) {
    std::vector<int> left(at(count), root);
    for (int replica = 0; at(replica) < parents.size(); ++replica) {
        const int place = place_left[at(replica)];
        if (place < 0 || place == root) continue;
        int ancestor = parents[at(replica)];
        while (place_left[at(ancestor)] < 0 && ancestor != old_root) ancestor = parents[at(ancestor)];
        if (place_left[at(ancestor)] >= 0) left[at(place)] = place_left[at(ancestor)];
    }
    return left;
}

bool has_lines(const Problem& network, const std::vector<NodeIndex>& nodes, const Pieces& pieces) {
    bool there = true;
    for (const Piece& piece : pieces)
        visit_transfers(piece, static_cast<int>(nodes.size()),
                        [&](int from, int to) { there = there && network.reachable(nodes[at(from)], nodes[at(to)]); });
    return there;
}

}  // namespace

Pieces pieces_without_lost(const Pieces& pieces, const std::vector<NodeIndex>& nodes,
                           const std::vector<NodeIndex>& left) {
    const int count = static_cast<int>(left.size());
    if (count < 2) return {};
    std::vector<int> place_left;
    for (const NodeIndex node : nodes) {
        const auto found = std::find(left.begin(), left.end(), node);
        place_left.push_back(found == left.end() ? -1 : static_cast<int>(found - left.begin()));
    }
    Pieces made = pieces;
    for (Piece& piece : made) {
        if (piece.form == PieceForm::exchange) continue;
        const int old_root = piece.root;
        const auto ancestors_lost = [&](int replica) {
            while (replica != old_root)
                if (replica = piece.up[at(replica)]; place_left[at(replica)] >= 0) return false;
            return true;
        };
        int replica = old_root;
        if (place_left[at(old_root)] < 0)
            for (replica = 0; place_left[at(replica)] < 0 || !ancestors_lost(replica);) ++replica;
        piece.root = place_left[at(replica)];
        piece.up = parents_left(piece.up, place_left, old_root, piece.root, count);
        piece.down = parents_left(piece.down, place_left, old_root, piece.root, count);
    }
    return made;
}

std::optional<Pieces> rest_pieces(const Problem& network, StageIndex stage, const std::vector<NodeIndex>& nodes,
                                  const Pieces& had, const std::vector<NodeIndex>& had_nodes) {
    const int replicas = static_cast<int>(nodes.size());
    if (replicas < 2) return Pieces{};
    PerStage<std::vector<NodeIndex>> stages(at(network.stages));
    PerStage<Pieces> all(at(network.stages));
    stages[stage] = nodes;
    const PerNode<double> at_once_s(at(network.nodes()), 0.0);
    LoneReduction lone(network);
    std::optional<Pieces> best;
    double best_s = infinite;
    const auto look = [&](const Pieces& pieces) {
        if (pieces.empty() || !has_lines(network, nodes, pieces)) return;
        all[stage] = pieces;
        const double seconds = lone.end_s(stages, all, at_once_s);
        if (best && seconds >= best_s) return;
        best_s = seconds;
        best = pieces;
    };
    const bool only_losses = std::all_of(nodes.begin(), nodes.end(), [&](NodeIndex node) {
        return std::find(had_nodes.begin(), had_nodes.end(), node) != had_nodes.end();
    });
    if (only_losses) look(pieces_without_lost(had, had_nodes, nodes));
    look(default_pieces(replicas));
    look({{.form = PieceForm::exchange}});
    for (int root = 0; root < std::min(replicas, most_star_roots); ++root) look({star_piece(replicas, root, 1)});
    return best;
}

PerStage<Pieces> pieces_of(const Problem& problem, const Plan& plan) { return flatten(problem, plan).reductions; }

}  // namespace skippipe
