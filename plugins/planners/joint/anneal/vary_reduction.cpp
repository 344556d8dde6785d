// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/anneal/vary_reduction.h"

#include "core/base/index.h"

namespace skippipe::planners::joint {

namespace {

/// Smaller shares are added to another's.
constexpr double least_share = 0.01;

int draw(Rng& rng, int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); }

/// Whether `replica` comes to the root by way of `over`.
bool goes_over(const std::vector<int>& parent, int root, int replica, int over) {
    for (; replica != root; replica = parent[at(replica)])
        if (replica == over) return true;
    return false;
}

bool hang_elsewhere(std::vector<int>& parent, int root, int child, int to) {
    if (child == root || parent[at(child)] == to || goes_over(parent, root, to, child)) return false;
    parent[at(child)] = to;
    return true;
}

/// The tree with another root: the way there is turned round.
void turn_to(std::vector<int>& parent, int root) {
    int child = root, above = parent[at(root)];
    parent[at(root)] = root;
    while (above != child) {
        const int next = parent[at(above)];
        parent[at(above)] = child;
        if (next == above) break;
        child = above;
        above = next;
    }
}

bool hang(Piece& piece, int replicas, Rng& rng) {
    const int child = draw(rng, replicas), to = draw(rng, replicas), which = draw(rng, 3);
    if (piece.form == PieceForm::exchange || child == to) return false;
    const bool up = which != 0 && hang_elsewhere(piece.up, piece.root, child, to),
               down = which != 1 && hang_elsewhere(piece.down, piece.root, child, to);
    return up || down;
}

bool change_root(Piece& piece, int replicas, Rng& rng) {
    const int root = draw(rng, replicas);
    if (piece.form == PieceForm::exchange || root == piece.root) return false;
    turn_to(piece.up, root);
    turn_to(piece.down, root);
    piece.root = root;
    return true;
}

bool shift_share(Pieces& pieces, Rng& rng) {
    const int from = draw(rng, static_cast<int>(pieces.size())), to = draw(rng, static_cast<int>(pieces.size()));
    const double moved = pieces[at(from)].share * rng.uniform() * (draw(rng, 2) == 0 ? 1 : 0.2);
    if (from == to || !(moved > 0)) return false;
    if (pieces[at(from)].share - moved < least_share) {
        pieces[at(to)].share += pieces[at(from)].share;
        pieces.erase(pieces.begin() + from);
    } else {
        pieces[at(from)].share -= moved;
        pieces[at(to)].share += moved;
    }
    return true;
}

/// One piece becomes two, the second with another root or as a star.
bool split(Pieces& pieces, int replicas, Rng& rng) {
    const int which = draw(rng, static_cast<int>(pieces.size())), root = draw(rng, replicas);
    Piece& piece = pieces[at(which)];
    if (piece.share < 2 * least_share || static_cast<int>(pieces.size()) >= 2 * replicas) return false;
    piece.share /= 2;
    Piece other = piece;
    if (piece.form == PieceForm::exchange || draw(rng, 2) == 0)
        other = star_piece(replicas, root, piece.share);
    else if (!change_root(other, replicas, rng))
        hang(other, replicas, rng);
    pieces.push_back(std::move(other));
    return true;
}

bool change_form(Piece& piece, int replicas, Rng& rng) {
    const int root = draw(rng, replicas);
    const Piece star = star_piece(replicas, root, piece.share);
    if (draw(rng, 2) == 0 || piece == star)
        piece = {piece.share, PieceForm::exchange, 0, {}, {}};
    else
        piece = star;
    return true;
}

}  // namespace

bool vary(Pieces& pieces, int replicas, Rng& rng) {
    Piece& piece = pieces[rng.below(pieces.size())];
    switch (draw(rng, 8)) {
        case 0: return change_root(piece, replicas, rng);
        case 1:
        case 2: return shift_share(pieces, rng);
        case 3: return split(pieces, replicas, rng);
        case 4: {
            const Piece before = piece;
            return change_form(piece, replicas, rng) && !(piece == before);
        }
        default: return hang(piece, replicas, rng);
    }
}

}  // namespace skippipe::planners::joint
