// SPDX-License-Identifier: GPL-3.0-or-later
// The least that an all-reduce takes, whichever nodes it is of.
#include "core/planner/bounds/bound_terms.h"
#include "core/planner/bounds/reduction_ways.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"

namespace skippipe::bounds {

namespace {

constexpr const char* own_lines = "the lines from a replica";

/// From a node to others. Pairs that share a line carry no more than the fastest of them.
Sending ways(const Problem& problem, NodeIndex node, const std::vector<NodeIndex>& others) {
    Sending sends;
    std::map<int, double> rate_of_line;
    for (const NodeIndex other : others) {
        const Hop& hop = problem.hop(node, other);
        if (other == node || hop.line == no_line) continue;
        sends.latency_s = std::min(sends.latency_s, hop.latency_s + problem.overhead_s);
        double& rate = rate_of_line[hop.line];
        rate = std::max(rate, hop.bandwidth_bytes_per_s);
    }
    auto& rates = sends.bandwidth_bytes_per_s;
    for (const auto& [line, rate] : rate_of_line) rates.push_back(rate);
    std::sort(rates.begin(), rates.end(), std::greater<>());
    std::partial_sum(rates.begin(), rates.end(), rates.begin());
    if (problem.has_uplinks())
        for (double& rate : rates) rate = std::min(rate, problem.up_bytes_per_s[node]);
    return sends;
}

}  // namespace

std::vector<double> latencies_s(const Problem& problem, const std::vector<NodeIndex>& nodes) {
    const std::size_t r = nodes.size();
    std::vector<double> away_s(r * r, infinite);
    for (std::size_t a = 0; a < r; ++a)
        for (std::size_t b = 0; b < r; ++b)
            if (a == b)
                away_s[a * r + b] = 0;
            else if (problem.reachable(nodes[a], nodes[b]))
                away_s[a * r + b] = problem.hop(nodes[a], nodes[b]).latency_s + problem.overhead_s;
    for (std::size_t over = 0; over < r; ++over)
        for (std::size_t a = 0; a < r; ++a)
            for (std::size_t b = 0; b < r; ++b)
                away_s[a * r + b] = std::min(away_s[a * r + b], away_s[a * r + over] + away_s[over * r + b]);
    return away_s;
}

double occupying_bytes(const Problem& problem, StageIndex stage) {
    return problem.shared_links ? problem.gradient_bytes[stage] : 0;
}

PerNode<Sending> sendings(const Problem& problem) {
    std::vector<NodeIndex> all(at(problem.nodes()));
    std::iota(all.begin(), all.end(), NodeIndex(0));
    PerNode<Sending> sendings;
    for (const NodeIndex node : all) sendings.push_back(ways(problem, node, all));
    return sendings;
}

Spread Bounds::shortest_reduce(StageIndex stage, int r) const {
    if (problem_.plan_reductions) return shortest_reduction(stage, r);
    if (!problem_.charge_all_reduce || r <= 1) return {};
    if (!problem_.placement.empty()) return {all_reduce_seconds(problem_, problem_.placement[stage], stage)};
    std::vector<double> fastest;
    for (const auto& edges : *edges_) {
        double least_s = infinite;
        for (const Edge& edge : edges)
            least_s =
                std::min(least_s, edge.latency_s + problem_.gradient_bytes[stage] / r / edge.bandwidth_bytes_per_s);
        if (least_s < infinite) fastest.push_back(least_s);
    }
    if (static_cast<int>(fastest.size()) < r) return {};
    std::nth_element(fastest.begin(), fastest.begin() + (r - 1), fastest.end());
    return {2 * (r - 1) * fastest[at(r - 1)]};
}

Spread Bounds::shortest_reduction(StageIndex stage, int r) const {
    if (r <= 1) return {};
    const double bytes = occupying_bytes(problem_, stage);
    Spread least{infinite};
    const auto lower = [&](const Spread& spread) {
        if (spread.seconds < least.seconds) least = spread;
    };
    if (sendings_)
        for (const Sending& sends : *sendings_) lower({sends.least_s(bytes, at(r) - 1), own_lines});
    if (!problem_.placement.empty())
        for (const Spread& spread : spreads(problem_, problem_.placement[stage], bytes)) lower(spread);
    return least.seconds < infinite ? least : Spread{};
}

PerNode<std::vector<Bounds::Edge>> Bounds::best_edges() const {
    PerNode<std::vector<Edge>> best(at(problem_.nodes()));
    std::vector<Edge> edges;
    for (NodeIndex a = 0; a < problem_.nodes(); ++a) {
        edges.clear();
        for (NodeIndex b = 0; b < problem_.nodes(); ++b)
            if (a != b && problem_.reachable(a, b))
                edges.push_back({problem_.hop(a, b).latency_s + problem_.overhead_s, problem_.alone_bytes_per_s(a, b)});
        std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
            return std::pair(x.latency_s, -x.bandwidth_bytes_per_s) < std::pair(y.latency_s, -y.bandwidth_bytes_per_s);
        });
        for (const Edge& edge : edges)
            if (best[a].empty() || edge.bandwidth_bytes_per_s > best[a].back().bandwidth_bytes_per_s)
                best[a].push_back(edge);
    }
    return best;
}

}  // namespace skippipe::bounds
