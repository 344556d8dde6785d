// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/shortest_cycles.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/base/infinite.h"

namespace skippipe::bounds {

PerNode<StageIndex> stages_given(const Problem& problem) {
    PerNode<StageIndex> stage_of;
    if (problem.placement.empty()) return stage_of;
    stage_of.assign(at(problem.nodes()), -1);
    for (StageIndex s = 0; at(s) < problem.placement.size(); ++s)
        for (const NodeIndex node : problem.placement[s]) stage_of[node] = s;
    return stage_of;
}

double least_forward_s(const Problem& problem, NodeIndex node, const PerNode<StageIndex>& stage_of) {
    if (!stage_of.empty()) return stage_of[node] <= 0 ? infinite : problem.forward_s(node, stage_of[node]);
    double least_s = infinite;
    for (StageIndex s = 1; s < problem.stages; ++s) least_s = std::min(least_s, problem.forward_s(node, s));
    return least_s;
}

ShortestCycles::ShortestCycles(const Problem& problem, int length, double besides_s)
    : problem_(problem),
      length_(length),
      besides_s_(besides_s),
      data_(at(problem.nodes()), false),
      free_(at(problem.nodes()), 0) {
    const int n = problem.nodes();
    const auto stage_of = stages_given(problem);
    // Where the backward is split, what a microbatch waits for on other nodes is I alone, half of it.
    const double way_factor = 1 + problem.backward_factor * (problem.split_backward ? 0.5 : 1);
    for (NodeIndex b = 0; b < n; ++b) visit_s_.push_back(least_forward_s(problem, b, stage_of) * way_factor);
    const auto seconds = [&](NodeIndex a, NodeIndex b) {
        if (a == b || !problem.reachable(a, b) || !problem.reachable(b, a)) return infinite;
        if (!stage_of.empty() && stage_of[a] == stage_of[b]) return infinite;
        const Hop &there = problem.hop(a, b), &back = problem.hop(b, a);
        return there.latency_s + there.seconds_per_forward + back.latency_s + back.seconds_per_backward +
               2 * problem.overhead_s;
    };
    for (NodeIndex a = 0; a < n; ++a)
        for (NodeIndex b = 0; b < n; ++b) edges_s_.push_back(seconds(a, b));
}

double ShortestCycles::own_s(NodeIndex data_node) const {
    return problem_.forward_s(data_node, 0) * (1 + problem_.backward_factor + problem_.loss_factor) + besides_s_;
}

double ShortestCycles::shortest_s(NodeIndex data_node) const {
    return length_ == 1 ? own_s(data_node) : cheapest(data_node, 1, free_).seconds;
}

/// Dynamic programming by hops: for each node the best way to it, and the best one that comes from another node than
/// that.
ShortestCycles::Cycle ShortestCycles::cheapest(NodeIndex data_node, double time_price,
                                               const PerNode<double>& prices) const {
    struct Way {
        double price = infinite;
        NodeIndex from = -1;
        int rank = 0;  ///< node before, and which of its two ways
    };
    struct Ways {
        Way best[2];
        void offer(double price, NodeIndex from, int rank) {
            if (price < best[0].price) {
                if (from != best[0].from) best[1] = best[0];
                best[0] = {price, from, rank};
            } else if (from != best[0].from && price < best[1].price) {
                best[1] = {price, from, rank};
            }
        }
    };
    const int n = problem_.nodes();
    if (length_ == 1) return {time_price * own_s(data_node), own_s(data_node), {}};
    std::vector<NodeIndex> nodes;
    for (NodeIndex b = 0; b < n; ++b)
        if (b != data_node && !data_[b] && visit_s_[b] < infinite) nodes.push_back(b);
    const auto edge_s = [&](NodeIndex a, NodeIndex b) { return edges_s_[at(a) * at(n) + at(b)]; };
    std::vector<Ways> ways(at(length_) * at(n));
    const auto ways_to = [&](int hop, NodeIndex b) -> Ways& { return ways[at(hop) * at(n) + at(b)]; };
    for (int hop = 1; hop < length_; ++hop)
        for (const NodeIndex b : nodes) {
            Ways& to = ways_to(hop, b);
            const double visit = time_price * visit_s_[b] + prices[b];
            if (hop == 1) {
                if (edge_s(data_node, b) < infinite) to.offer(time_price * edge_s(data_node, b) + visit, data_node, 0);
                continue;
            }
            for (const NodeIndex a : nodes) {
                const auto& before = ways_to(hop - 1, a);
                const int rank = before.best[0].from == b ? 1 : 0;
                if (a != b && edge_s(a, b) < infinite && before.best[rank].price < infinite)
                    to.offer(before.best[rank].price + time_price * edge_s(a, b) + visit, a, rank);
            }
        }
    Cycle cycle{infinite, infinite, {}};
    NodeIndex last = -1;
    for (const NodeIndex a : nodes) {
        if (!(edge_s(a, data_node) < infinite)) continue;
        const double price =
            ways_to(length_ - 1, a).best[0].price + time_price * (edge_s(a, data_node) + own_s(data_node));
        if (price < cycle.price) {
            cycle.price = price;
            last = a;
        }
    }
    if (last < 0) return cycle;
    cycle.seconds = own_s(data_node) + edge_s(last, data_node);
    NodeIndex node = last;
    for (int hop = length_ - 1, rank = 0; hop >= 1; --hop) {
        const Way& way = ways_to(hop, node).best[rank];
        cycle.nodes.push_back(node);
        cycle.seconds += visit_s_[node] + edge_s(way.from, node);
        node = way.from;
        rank = way.rank;
    }
    return cycle;
}

}  // namespace skippipe::bounds
