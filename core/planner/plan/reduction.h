// SPDX-License-Identifier: GPL-3.0-or-later
// How the replicas of a stage sum their gradients where reductions are planned (docs/semantics.md, Reductions as
// transfers).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skippipe {

enum class PieceForm : std::uint8_t { tree, exchange };

/// A share of a stage's gradient and the way it is summed. Replicas are named by their place in the stage, from 0.
struct Piece {
    double share = 1;  ///< of the gradient's bytes
    PieceForm form = PieceForm::tree;
    // Of a tree alone; empty and 0 in an exchange:
    int root = 0;           ///< who has the sum first
    std::vector<int> up;    ///< of each replica, to whom it hands its partial sum; the root's own entry is the root
    std::vector<int> down;  ///< of each replica, who hands it the sum; the root's own entry is the root
    bool operator==(const Piece&) const = default;
};

/// All of a stage; the shares add up to 1.
using Pieces = std::vector<Piece>;

/// Every replica hands its part to the root, and the root the sum to every replica.
Piece star_piece(int replicas, int root, double share);

/// What a stage without pieces in its plan gets: direct exchange in two rounds, an equal share rooted at each replica.
/// None for a single replica.
Pieces default_pieces(int replicas);

/// The pieces as they are where the replica at place k stands at place `place_of[k]` instead.
Pieces moved_pieces(const Pieces& pieces, const std::vector<int>& place_of);

/// What is wrong with the pieces of a stage of so many replicas: shares that do not add up to 1, trees that are none.
/// Empty: nothing.
std::string fault_of(const Pieces& pieces, int replicas);

/// Calls `visit(from, to)` with the places of every transfer of a piece.
template <typename Visit>
void visit_transfers(const Piece& piece, int replicas, const Visit& visit) {
    for (int a = 0; a < replicas; ++a) {
        if (piece.form == PieceForm::exchange) {
            for (int b = 0; b < replicas; ++b)
                if (b != a) visit(a, b);
        } else if (a != piece.root) {
            visit(a, piece.up[static_cast<std::size_t>(a)]);
            visit(piece.down[static_cast<std::size_t>(a)], a);
        }
    }
}

}  // namespace skippipe
