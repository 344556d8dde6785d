// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/reduction.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {

namespace {

/// Shares are written in decimal; what is missing from 1 by that moves no byte.
constexpr double share_tolerance = 1e-9;

/// Whether every replica comes to the root by its parents.
bool spans(const std::vector<int>& parent, int root, int replicas) {
    if (static_cast<int>(parent.size()) != replicas || parent[at(root)] != root) return false;
    for (int replica = 0; replica < replicas; ++replica) {
        int place = replica;
        for (int steps = 0; place != root; ++steps) {
            if (steps == replicas || parent[at(place)] < 0 || parent[at(place)] >= replicas) return false;
            place = parent[at(place)];
        }
    }
    return true;
}

}  // namespace

Piece star_piece(int replicas, int root, double share) {
    const std::vector<int> parents(at(replicas), root);
    return {share, PieceForm::tree, root, parents, parents};
}

Pieces default_pieces(int replicas) {
    Pieces pieces;
    for (int root = 0; replicas > 1 && root < replicas; ++root)
        pieces.push_back(star_piece(replicas, root, 1.0 / replicas));
    return pieces;
}

Pieces moved_pieces(const Pieces& pieces, const std::vector<int>& place_of) {
    Pieces moved = pieces;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        if (pieces[k].form == PieceForm::exchange) continue;
        moved[k].root = place_of[at(pieces[k].root)];
        for (std::size_t replica = 0; replica < place_of.size(); ++replica) {
            moved[k].up[at(place_of[replica])] = place_of[at(pieces[k].up[replica])];
            moved[k].down[at(place_of[replica])] = place_of[at(pieces[k].down[replica])];
        }
    }
    return moved;
}

std::string fault_of(const Pieces& pieces, int replicas) {
    if (pieces.empty()) return {};
    if (replicas < 2) return "its one node has nothing to reduce";
    double sum = 0;
    for (std::size_t k = 0; k < pieces.size(); ++k) {
        const auto& piece = pieces[k];
        if (!(piece.share > 0 && piece.share <= 1)) return fmt::format("piece {} has a share of {}", k, piece.share);
        sum += piece.share;
        if (piece.form == PieceForm::exchange) {
            if (!piece.up.empty() || !piece.down.empty()) return fmt::format("piece {}, an exchange, has trees", k);
            continue;
        }
        if (piece.root < 0 || piece.root >= replicas) return fmt::format("piece {} has no root among its nodes", k);
        for (const auto* tree : {&piece.up, &piece.down})
            if (!spans(*tree, piece.root, replicas))
                return fmt::format("\"{}\" of piece {} is no tree that brings every node to the root",
                                   tree == &piece.up ? "up" : "down", k);
    }
    if (std::abs(sum - 1) > share_tolerance) return fmt::format("the shares of its pieces add up to {}, not 1", sum);
    return {};
}

}  // namespace skippipe
