// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/reduction_starts.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/base/index.h"
#include "plugins/planners/common/network.h"
#include "plugins/planners/common/packed_trees.h"

namespace skippipe::planners {

namespace {

/// In stages of more replicas so many roots are tried alone.
constexpr int most_roots = 16;
/// Of a stage whose replicas are more than most_roots; a plan of more takes too long to look at.
constexpr int most_transfers = 4096;
/// Latencies that are so many times those below them divide the nodes into regions.
constexpr double far_latency = 2.5;
/// The shorter pieces are, the less what follows waits for them, and the longer it takes to look at a plan.
constexpr int most_pieces_a_replica = 16;
constexpr double worth_more_pieces = 0.99;
/// Of so many nodes are remembered.
constexpr std::size_t most_known = 20'000;

/// Packed trees to begin with.
int few_pieces(int replicas) { return replicas <= most_roots ? 2 * replicas : most_roots; }

class Starts {
public:
    Starts(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage)
        : problem_(problem),
          nodes_(nodes),
          stage_(stage),
          bytes_(problem.gradient_bytes[stage]),
          replicas_(static_cast<int>(nodes.size())) {}

    std::vector<Pieces> quick() {
        add_near_trees();
        if (const auto regions = regions_of_latency(); !regions.empty()) add(by_regions(regions));
        return std::move(starts_);
    }

    std::vector<Pieces> all() {
        const bool each_is_root = may_all_be_roots();
        if (each_is_root) {
            add(default_pieces(replicas_));
            add(by_bandwidth());
            add({Piece{.share = 1, .form = PieceForm::exchange}});
        }
        for (const int root : roots()) {
            add({star_piece(replicas_, root, 1)});
            add({near_tree(root, 1)});
        }
        add_near_trees();
        if (each_is_root) add(ring());
        add_regions();
        add(packed_trees(problem_, nodes_, stage_, {.pieces = few_pieces(replicas_)}));
        return std::move(starts_);
    }

private:
    void add(Pieces pieces) {
        if (!pieces.empty() && has_reduction_lines(problem_, nodes_, pieces)) starts_.push_back(std::move(pieces));
    }

    bool may_all_be_roots() const {
        return replicas_ <= most_roots || 2 * replicas_ * (replicas_ - 1) <= most_transfers;
    }

    void add_near_trees() {
        add(to_each(may_all_be_roots() ? every() : roots(),
                    [this](int root, double share) { return near_tree(root, share); }));
    }

    std::vector<int> every() const {
        std::vector<int> places(at(replicas_));
        std::iota(places.begin(), places.end(), 0);
        return places;
    }
    /// Of many replicas every second, every third, ...
    std::vector<int> roots() const {
        std::vector<int> places;
        for (int root = 0; root < replicas_; root += (replicas_ + most_roots - 1) / most_roots) places.push_back(root);
        return places;
    }
    template <class Tree>
    static Pieces to_each(const std::vector<int>& roots, const Tree& tree) {
        Pieces pieces;
        for (const int root : roots) pieces.push_back(tree(root, 1.0 / static_cast<double>(roots.size())));
        return pieces;
    }

    /// Region by region: members hand to one of theirs, those to the root, and back. As one piece to each root, and as
    /// a piece to each of them, for which the regions hand on by one after the other of theirs.
    void add_regions() {
        const auto regions = regions_of_latency();
        if (regions.empty()) return;
        for (const int root : roots())
            add({by_region(regions, root, 1, [&](const std::vector<int>& members) { return nearest(root, members); })});
        add(by_regions(regions));
    }

    Pieces by_regions(const std::vector<std::vector<int>>& regions) const {
        std::size_t turn = 0;
        return to_each(roots(), [&](int root, double share) {
            const auto next = [&](const std::vector<int>& members) { return members[turn % members.size()]; };
            Piece piece = by_region(regions, root, share, next);
            ++turn;
            return piece;
        });
    }

    template <class Leader>
    Piece by_region(const std::vector<std::vector<int>>& regions, int root, double share, const Leader& leader) const {
        Piece piece = star_piece(replicas_, root, share);
        for (const auto& members : regions) {
            if (std::find(members.begin(), members.end(), root) != members.end()) continue;
            const int first = leader(members);
            for (const int member : members)
                if (member != first) piece.up[at(member)] = piece.down[at(member)] = first;
        }
        return piece;
    }

    int nearest(int root, const std::vector<int>& members) const {
        return *std::min_element(members.begin(), members.end(),
                                 [&](int a, int b) { return seconds(root, a, bytes_) < seconds(root, b, bytes_); });
    }

    /// Replicas that latencies below the widest gap connect; none where there is no such gap, or one region or as many
    /// as replicas.
    std::vector<std::vector<int>> regions_of_latency() const {
        std::vector<int> region = every();
        std::vector<std::tuple<double, int, int>> joins = nearest_joins();
        std::sort(joins.begin(), joins.end());
        std::size_t near = 0;
        double widest = far_latency;
        for (std::size_t k = 1; k < joins.size(); ++k) {
            const double ratio = std::get<0>(joins[k]) / std::max(std::get<0>(joins[k - 1]), 1e-9);
            if (ratio > widest) widest = ratio, near = k;
        }
        for (std::size_t k = 0; k < near; ++k) {
            const int from = region[at(std::get<1>(joins[k]))], to = region[at(std::get<2>(joins[k]))];
            std::replace(region.begin(), region.end(), from, to);
        }
        std::vector<std::vector<int>> members(at(replicas_));
        for (int k = 0; k < replicas_; ++k) members[at(region[at(k)])].push_back(k);
        std::erase_if(members, [](const auto& some) { return some.empty(); });
        return near == 0 ? std::vector<std::vector<int>>{} : members;
    }

    /// The latencies of a tree that joins all of them with the least (Prim), and what each joins.
    std::vector<std::tuple<double, int, int>> nearest_joins() const {
        std::vector<std::tuple<double, int, int>> joins;
        std::vector<std::pair<double, int>> away(at(replicas_), {std::numeric_limits<double>::infinity(), 0});
        std::vector<char> in(at(replicas_), 0);
        for (int last = 0, left = replicas_ - 1;; --left) {
            in[at(last)] = 1;
            if (left == 0) return joins;
            int next = -1;
            for (int k = 0; k < replicas_; ++k) {
                if (in[at(k)] != 0) continue;
                away[at(k)] = std::min(away[at(k)], {seconds(last, k, 0), last});
                if (next < 0 || away[at(k)] < away[at(next)]) next = k;
            }
            joins.emplace_back(away[at(next)].first, away[at(next)].second, next);
            last = next;
        }
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
    const int most =
        replicas <= most_roots ? most_pieces_a_replica * replicas : std::max(1, most_transfers / (2 * (replicas - 1)));
    int pieces = 0, tried = few_pieces(replicas);
    for (const int wanted : {4 * replicas, most_pieces_a_replica * replicas}) {
        const int count = std::min(wanted, most);
        if (count <= tried) continue;
        tried = count;
        if (look(packed_trees(problem_, nodes, stage, {.pieces = count}))) pieces = count;
    }
    if (pieces > 0)
        for (const double nearness : {0.3, 3.0})
            look(packed_trees(problem_, nodes, stage, {.pieces = pieces, .nearness = nearness}));
    return best;
}

template <class Find>
Pieces ReductionChoice::known(Known& all, const std::vector<NodeIndex>& nodes, StageIndex stage, const Find& find) {
    if (nodes.size() < 2) return {};
    auto sorted = nodes;
    std::sort(sorted.begin(), sorted.end());
    if (all.size() > most_known) all.clear();
    const auto [entry, fresh] = all.try_emplace({problem_.gradient_bytes[stage], sorted});
    if (fresh) entry->second = find(sorted);
    std::vector<int> place_of;
    for (const NodeIndex node : sorted)
        place_of.push_back(static_cast<int>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin()));
    return moved_pieces(entry->second, place_of);
}

Pieces ReductionChoice::best(const std::vector<NodeIndex>& nodes, StageIndex stage) {
    return known(best_, nodes, stage, [&](const auto& sorted) { return shortest(sorted, stage); });
}

Pieces ReductionChoice::quick(const std::vector<NodeIndex>& nodes, StageIndex stage) {
    return known(quick_, nodes, stage, [&](const auto& sorted) {
        Pieces best = default_pieces(static_cast<int>(sorted.size()));
        double best_s = std::numeric_limits<double>::infinity();
        for (auto& start : Starts(problem_, sorted, stage).quick())
            if (const double seconds = lone_s(sorted, stage, start); seconds < best_s) {
                best_s = seconds;
                best = std::move(start);
            }
        return best;
    });
}

}  // namespace skippipe::planners
