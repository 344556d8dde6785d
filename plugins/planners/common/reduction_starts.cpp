// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/reduction_starts.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/index.h"
#include "plugins/planners/common/network.h"
#include "plugins/planners/common/packed_trees.h"

namespace skippipe::planners {

namespace {

/// In stages of more replicas so many roots are tried alone, and one exchange in a round is not.
constexpr int most_roots = 16;
/// The shorter pieces are, the less what follows waits for them, and the longer it takes to look at a plan.
constexpr int most_pieces_a_replica = 16;
constexpr double worth_more_pieces = 0.99;
/// Of so many nodes are remembered.
constexpr std::size_t most_known = 20'000;

class Starts {
public:
    Starts(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage)
        : problem_(problem),
          nodes_(nodes),
          stage_(stage),
          bytes_(problem.gradient_bytes[stage]),
          replicas_(static_cast<int>(nodes.size())) {}

    std::vector<Pieces> all() {
        add(default_pieces(replicas_));
        add(by_bandwidth());
        if (replicas_ <= most_roots) add({Piece{.share = 1, .form = PieceForm::exchange}});
        const int step = (replicas_ + most_roots - 1) / most_roots;
        for (int root = 0; root < replicas_; root += step) {
            add({star_piece(replicas_, root, 1)});
            add({near_tree(root, 1)});
        }
        Pieces near;
        for (int root = 0; root < replicas_; ++root) near.push_back(near_tree(root, 1.0 / replicas_));
        add(std::move(near));
        add(ring());
        if (replicas_ <= most_roots) add(packed_trees(problem_, nodes_, stage_, {.pieces = 2 * replicas_}));
        return std::move(starts_);
    }

private:
    void add(Pieces pieces) {
        if (!pieces.empty() && has_reduction_lines(problem_, nodes_, pieces)) starts_.push_back(std::move(pieces));
    }

    /// Of so many bytes, there or back, whichever is slower.
    double seconds(int a, int b, double bytes) const {
        double slower_s = 0;
        for (const Hop& hop : {problem_.hop(nodes_[at(a)], nodes_[at(b)]), problem_.hop(nodes_[at(b)], nodes_[at(a)])})
            slower_s = std::max(
                slower_s, hop.line == no_line ? unreachable_s : hop.latency_s + bytes / hop.bandwidth_bytes_per_s);
        return slower_s;
    }

    /// Direct exchange in which each root has as much as its slowest line carries.
    Pieces by_bandwidth() const {
        Pieces pieces = default_pieces(replicas_);
        double sum = 0;
        for (Piece& piece : pieces) {
            double longest_s = 0;
            for (int other = 0; other < replicas_; ++other)
                if (other != piece.root) longest_s = std::max(longest_s, seconds(piece.root, other, bytes_));
            piece.share = longest_s > 0 ? 1 / longest_s : 1;
            sum += piece.share;
        }
        for (Piece& piece : pieces) piece.share /= sum;
        return pieces;
    }

    /// The tree that reaches one node after the other over the shortest way from any that it has (Prim).
    Piece near_tree(int root, double share) const {
        Piece piece{share, PieceForm::tree, root, std::vector<int>(at(replicas_), root), {}};
        std::vector<double> away_s(at(replicas_));
        std::vector<char> in(at(replicas_), 0);
        for (int k = 0; k < replicas_; ++k) away_s[at(k)] = k == root ? 0 : seconds(root, k, share * bytes_);
        for (int last = root, left = replicas_ - 1;; --left) {
            in[at(last)] = 1;
            if (left == 0) break;
            int next = -1;
            for (int k = 0; k < replicas_; ++k) {
                if (in[at(k)] != 0) continue;
                if (const double own_s = seconds(last, k, share * bytes_); own_s < away_s[at(k)]) {
                    away_s[at(k)] = own_s;
                    piece.up[at(k)] = last;
                }
                if (next < 0 || away_s[at(k)] < away_s[at(next)]) next = k;
            }
            last = next;
        }
        piece.down = piece.up;
        return piece;
    }

    Pieces ring() const {
        auto order = nodes_;
        best_ring(problem_, order, stage_);
        std::vector<int> place;  // of each node of the ring
        for (const NodeIndex node : order)
            place.push_back(static_cast<int>(std::find(nodes_.begin(), nodes_.end(), node) - nodes_.begin()));
        Pieces pieces;
        for (int c = 0; replicas_ > 1 && c < replicas_; ++c) {
            const auto along = [&](int k) { return place[at((c + k) % replicas_)]; };
            Piece piece = star_piece(replicas_, along(0), 1.0 / replicas_);
            for (int k = 1; k < replicas_; ++k) {
                piece.up[at(along(k))] = along(k + 1);
                piece.down[at(along(k))] = along(k - 1);
            }
            pieces.push_back(std::move(piece));
        }
        return pieces;
    }

    const Problem& problem_;
    const std::vector<NodeIndex>& nodes_;
    StageIndex stage_;
    double bytes_;
    int replicas_;
    std::vector<Pieces> starts_;
};

}  // namespace

std::vector<Pieces> reduction_starts(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage) {
    return nodes.size() < 2 ? std::vector<Pieces>{} : Starts(problem, nodes, stage).all();
}

bool has_reduction_lines(const Problem& problem, const std::vector<NodeIndex>& nodes, const Pieces& pieces) {
    bool there = true;
    for (const Piece& piece : pieces)
        visit_transfers(piece, static_cast<int>(nodes.size()),
                        [&](int from, int to) { there = there && problem.reachable(nodes[at(from)], nodes[at(to)]); });
    return there;
}

ReductionChoice::ReductionChoice(const Problem& problem)
    : problem_(problem),
      lone_(problem),
      stages_(at(problem.stages)),
      pieces_(at(problem.stages)),
      own_s_(at(problem.nodes()), 0.0) {}

double ReductionChoice::lone_s(const std::vector<NodeIndex>& nodes, StageIndex stage, const Pieces& pieces) {
    stages_[stage] = nodes;
    pieces_[stage] = pieces;
    const double seconds = lone_.end_s(stages_, pieces_, own_s_);
    stages_[stage].clear();
    pieces_[stage].clear();
    return seconds;
}

Pieces ReductionChoice::shortest(const std::vector<NodeIndex>& nodes, StageIndex stage) {
    const auto replicas = static_cast<int>(nodes.size());
    Pieces best = default_pieces(replicas);
    double best_s = std::numeric_limits<double>::infinity();
    const auto look = [&](Pieces pieces) {
        const double seconds = pieces.empty() ? best_s : lone_s(nodes, stage, pieces);
        if (!(seconds < (pieces.size() > best.size() ? worth_more_pieces * best_s : best_s))) return false;
        best_s = seconds;
        best = std::move(pieces);
        return true;
    };
    for (auto& start : reduction_starts(problem_, nodes, stage)) look(std::move(start));
    if (replicas > most_roots) return best;
    int pieces = 0;
    for (const int times : {4, most_pieces_a_replica})
        if (look(packed_trees(problem_, nodes, stage, {.pieces = times * replicas}))) pieces = times * replicas;
    if (pieces > 0)
        for (const double nearness : {0.3, 3.0})
            look(packed_trees(problem_, nodes, stage, {.pieces = pieces, .nearness = nearness}));
    return best;
}

Pieces ReductionChoice::best(const std::vector<NodeIndex>& nodes, StageIndex stage) {
    if (nodes.size() < 2) return {};
    auto sorted = nodes;
    std::sort(sorted.begin(), sorted.end());
    if (known_.size() > most_known) known_.clear();
    const auto [entry, fresh] = known_.try_emplace({problem_.gradient_bytes[stage], sorted});
    if (fresh) entry->second = shortest(sorted, stage);
    std::vector<int> place_of;
    for (const NodeIndex node : sorted)
        place_of.push_back(static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin()));
    return moved_pieces(entry->second, place_of);
}

}  // namespace skippipe::planners
