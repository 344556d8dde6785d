// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/network.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::planners {

namespace {

/// Greedy ring for many nodes: always on to the nearest one left.
void nearest_neighbours(const Problem& problem, std::vector<NodeIndex>& ring) {
    const auto cost_s = [&](NodeIndex a, NodeIndex b) {
        return problem.reachable(a, b) ? problem.hop(a, b).latency_s + 1 / problem.hop(a, b).bandwidth_bytes_per_s
                                       : unreachable_s;
    };
    for (std::size_t i = 1; i + 1 < ring.size(); ++i) {
        const auto next =
            std::min_element(ring.begin() + static_cast<std::ptrdiff_t>(i), ring.end(),
                             [&](NodeIndex a, NodeIndex b) { return cost_s(ring[i - 1], a) < cost_s(ring[i - 1], b); });
        std::iter_swap(ring.begin() + static_cast<std::ptrdiff_t>(i), next);
    }
}

}  // namespace

Network::Network(const Problem& problem) : hops_(problem.hops), groups_(hops_.groups()) {
    const auto one_way = [&](int from, int to, bool forward) {
        const Hop& hop = hops_.between(from, to);
        if (hop.line == no_line) return unreachable_s;
        return arrival_seconds(0, hop.latency_s, problem.overhead_s,
                               forward ? hop.seconds_per_forward : hop.seconds_per_backward);
    };
    for (int a = 0; a < groups_; ++a)
        for (int b = 0; b < groups_; ++b) round_s_.push_back(one_way(a, b, true) + one_way(b, a, false));
}

void order_ring(const Problem& problem, std::vector<NodeIndex>& ring, StageIndex stage) {
    if (problem.charge_all_reduce) best_ring(problem, ring, stage);
}

void best_ring(const Problem& problem, std::vector<NodeIndex>& ring, StageIndex stage) {
    if (ring.size() < 3) return;
    const auto cost_s = [&](const std::vector<NodeIndex>& order) {
        double missing_s = 0, slowest_s = 0;
        for (std::size_t i = 0; i < order.size(); ++i)
            if (problem.reachable(order[i], order[(i + 1) % order.size()]))
                slowest_s = std::max(slowest_s, ring_edge_seconds(problem, order, i, stage));
            else
                missing_s += unreachable_s;
        return missing_s > 0 ? missing_s : slowest_s;
    };
    if (ring.size() > 7) {
        auto greedy = ring;
        nearest_neighbours(problem, greedy);
        if (cost_s(greedy) < cost_s(ring)) ring = greedy;
        return;
    }
    auto order = ring;
    std::sort(order.begin() + 1, order.end());  // a ring has no beginning
    double best_s = cost_s(ring);
    do {
        const double seconds = cost_s(order);
        if (seconds < best_s) {
            best_s = seconds;
            ring = order;
        }
    } while (std::next_permutation(order.begin() + 1, order.end()));
}

}  // namespace skippipe::planners
