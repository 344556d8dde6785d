// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/packed_trees.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/base/index.h"

namespace skippipe::planners {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
/// How much dearer a queue is that carries as much as the fullest than an empty one: e to the power of this.
constexpr double steepness = 5;
/// Of more replicas so many are tried as the root of each piece, others from piece to piece.
constexpr int most_roots_tried = 16;

class Packer {
public:
    Packer(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage, const Packing& packing)
        : packing_(packing), r_(static_cast<int>(nodes.size())), ways_(at(r_ * r_)), cost_(at(r_ * r_)) {
        const double bytes = problem.gradient_bytes[stage] / packing.pieces;
        std::map<int, int> queue_of_line;
        for (int a = 0; a < r_; ++a)
            for (int b = 0; b < r_; ++b) {
                const Hop& hop = problem.hop(nodes[at(a)], nodes[at(b)]);
                if (a == b || hop.line == no_line) continue;
                Way& way = ways_[at(a * r_ + b)];
                way.latency_s = hop.latency_s + problem.overhead_s;
                add_queue(way, queue_of_line, hop.line, bytes / hop.bandwidth_bytes_per_s);
                if (!problem.has_uplinks()) continue;
                const int lines = static_cast<int>(problem.line_names.size());
                add_queue(way, queue_of_line, lines + a, bytes / problem.up_bytes_per_s[nodes[at(a)]]);
                add_queue(way, queue_of_line, lines + r_ + b, bytes / problem.down_bytes_per_s[nodes[at(b)]]);
            }
        load_s_.assign(queue_of_line.size(), 0.0);
        price_.assign(load_s_.size(), 1.0);
    }

    Pieces pack() {
        Pieces pieces;
        for (int k = 0; k < packing_.pieces; ++k) {
            set_prices();
            double least = infinite;
            Piece best;
            const int apart = (r_ + most_roots_tried - 1) / most_roots_tried;
            for (int root = k % apart; root < r_; root += apart) {
                Piece piece = star_piece(r_, root, 1.0 / packing_.pieces);
                const double cost = grow(root, false, piece.down) + grow(root, true, piece.up);
                if (!(cost < least)) continue;
                least = cost;
                best = std::move(piece);
            }
            if (least == infinite) return {};
            load(best);
            pieces.push_back(std::move(best));
        }
        return pieces;
    }

private:
    /// What a piece occupies on its way from one replica to another. A queue: line, uplink or downlink.
    struct Way {
        double latency_s = infinite;
        int queues = 0;
        int queue[3] = {};
        double seconds[3] = {};
    };

    void add_queue(Way& way, std::map<int, int>& queue_of, int key, double seconds) {
        if (!(seconds > 0)) return;
        const auto [entry, fresh] = queue_of.try_emplace(key, static_cast<int>(queue_of.size()));
        way.queue[way.queues] = entry->second;
        way.seconds[way.queues] = seconds;
        ++way.queues;
    }

    /// Prices add up to 1: a tree's cost is how much longer, at the least, all would take with it.
    void set_prices() {
        const double most_s = load_s_.empty() ? 0 : *std::max_element(load_s_.begin(), load_s_.end());
        double sum = 0;
        for (std::size_t q = 0; q < load_s_.size(); ++q)
            sum += price_[q] = most_s > 0 ? std::exp(steepness * (load_s_[q] / most_s - 1)) : 1;
        for (std::size_t k = 0; k < ways_.size(); ++k) {
            cost_[k] = ways_[k].latency_s < infinite ? 0 : infinite;
            for (int q = 0; q < ways_[k].queues; ++q)
                cost_[k] += ways_[k].seconds[q] * price_[at(ways_[k].queue[q])] / sum;
        }
    }

    /// A tree to or from the root: replica after replica, the one that is cheapest to reach, its latency from the root
    /// counted. Returns its cost.
    double grow(int root, bool up, std::vector<int>& parent) {
        const double weight = packing_.nearness / packing_.pieces;
        const auto way = [&](int above, int below) { return at(up ? below * r_ + above : above * r_ + below); };
        in_.assign(at(r_), 0);
        key_.assign(at(r_), infinite);
        own_.assign(at(r_), 0.0);
        depth_s_.assign(at(r_), 0.0);
        double cost = 0, deepest_s = 0;
        for (int last = root, left = r_ - 1;; --left) {
            in_[at(last)] = 1;
            cost += own_[at(last)];
            deepest_s = std::max(deepest_s, depth_s_[at(last)]);
            if (left == 0) break;
            int next = -1;
            for (int k = 0; k < r_; ++k) {
                if (in_[at(k)] != 0) continue;
                const std::size_t w = way(last, k);
                const double depth_s = depth_s_[at(last)] + ways_[w].latency_s, key = cost_[w] + weight * depth_s;
                if (key < key_[at(k)]) {
                    key_[at(k)] = key;
                    own_[at(k)] = cost_[w];
                    depth_s_[at(k)] = depth_s;
                    parent[at(k)] = last;
                }
                if (next < 0 || key_[at(k)] < key_[at(next)]) next = k;
            }
            if (key_[at(next)] == infinite) return infinite;
            last = next;
        }
        return cost + weight * deepest_s;
    }

    void load(const Piece& piece) {
        visit_transfers(piece, r_, [&](int from, int to) {
            const Way& way = ways_[at(from * r_ + to)];
            for (int q = 0; q < way.queues; ++q) load_s_[at(way.queue[q])] += way.seconds[q];
        });
    }

    Packing packing_;
    int r_;
    std::vector<Way> ways_;     ///< [from * replicas + to]
    std::vector<double> cost_;  ///< of each way, now
    std::vector<double> load_s_, price_;
    std::vector<char> in_;
    std::vector<double> key_, own_, depth_s_;
};

}  // namespace

Pieces packed_trees(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage,
                    const Packing& packing) {
    return nodes.size() < 2 ? Pieces{} : Packer(problem, nodes, stage, packing).pack();
}

}  // namespace skippipe::planners
