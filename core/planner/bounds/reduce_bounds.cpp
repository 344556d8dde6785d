// SPDX-License-Identifier: GPL-3.0-or-later
// The least that an all-reduce takes, whichever nodes it is of.
#include "core/planner/bounds/bound_terms.h"
#include "core/planner/bounds/reduction_ways.h"

#include <algorithm>
#include <functional>
#include <map>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"

namespace skippipe::bounds {

namespace {

/// Of more nodes the ways over others are not looked at, which takes as long as their number to the third power.
constexpr int most_ways = 128;

/// From a node to others, or from them to it. Pairs that share a line carry no more than the fastest of them.
Sending ways(const Problem& problem, NodeIndex node, const std::vector<NodeIndex>& others, bool to_it) {
    Sending sends;
    std::map<int, double> rate_of_line;
    for (const NodeIndex other : others) {
        const Hop& hop = to_it ? problem.hop(other, node) : problem.hop(node, other);
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
        for (double& rate : rates)
            rate = std::min(rate, (to_it ? problem.down_bytes_per_s : problem.up_bytes_per_s)[node]);
    return sends;
}

std::vector<NodeIndex> all_nodes(const Problem& problem) {
    std::vector<NodeIndex> all(at(problem.nodes()));
    std::iota(all.begin(), all.end(), NodeIndex(0));
    return all;
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
    const auto all = all_nodes(problem);
    PerNode<Sending> sendings;
    for (const NodeIndex node : all) sendings.push_back(ways(problem, node, all, false));
    if (problem.nodes() > most_ways) return sendings;
    const auto away_s = latencies_s(problem, all);
    for (const NodeIndex node : all) {
        const auto from = away_s.begin() + static_cast<std::ptrdiff_t>(at(node) * all.size());
        auto& own_s = sendings[node].away_s;
        own_s.assign(from, from + static_cast<std::ptrdiff_t>(all.size()));
        own_s.erase(own_s.begin() + int{node});
        std::sort(own_s.begin(), own_s.end());
    }
    return sendings;
}

PerNode<Sending> receivings(const Problem& problem) {
    const auto all = all_nodes(problem);
    PerNode<Sending> receivings;
    for (const NodeIndex node : all) receivings.push_back(ways(problem, node, all, true));
    return receivings;
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
    if (sendings_) return shortest_anywhere(bytes, at(r) - 1);
    Spread least{infinite};
    if (!problem_.placement.empty())
        for (const Spread& spread : spreads(problem_, problem_.placement[stage], bytes))
            if (spread.seconds < least.seconds) least = spread;
    return least.seconds < infinite ? least : Spread{};
}

/// Whoever is last: its part leaves it over lines to no more others, the farthest of these is no nearer than as many,
/// and the slowest to receive no quicker.
Spread Bounds::shortest_anywhere(double bytes, std::size_t others) const {
    std::vector<double> receive_s;
    for (const Sending& receives : *receivings_) receive_s.push_back(receives.least_s(bytes, others));
    auto sorted_s = receive_s;
    std::sort(sorted_s.begin(), sorted_s.end());
    double least_s = infinite;
    const char* which = "";
    for (NodeIndex node = 0; node < problem_.nodes(); ++node) {
        const Sending& sends = (*sendings_)[node];
        const auto itself = receive_s[at(node)] <= sorted_s[others - 1] ? 1 : 0;
        const std::pair<double, const char*> ways[] = {
            {sends.least_s(bytes, others), "the lines from a replica"},
            {sends.away_s.empty()           ? 0
             : sends.away_s.size() < others ? infinite
                                            : sends.away_s[others - 1],
             "the way to the farthest replica"},
            {others - 1 + at(itself) < sorted_s.size() ? sorted_s[others - 1 + at(itself)] : infinite,
             problem_.has_uplinks() ? "the lines to a replica, or its downlink" : "the lines to a replica"}};
        const auto& longest = *std::max_element(std::begin(ways), std::end(ways),
                                                [](const auto& a, const auto& b) { return a.first < b.first; });
        if (longest.first < least_s) std::tie(least_s, which) = longest;
    }
    return least_s < infinite ? Spread{least_s, which} : Spread{};
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
