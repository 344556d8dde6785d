// SPDX-License-Identifier: GPL-3.0-or-later
// The least that an all-reduce takes, whichever nodes it is of.
#include "core/planner/bounds/bound_terms.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"

namespace skippipe::bounds {

double Bounds::shortest_reduce_s(StageIndex stage, int r) const {
    if (problem_.plan_reductions) return shortest_reduction_s(stage, r);
    if (!problem_.charge_all_reduce || r <= 1) return 0;
    if (!problem_.placement.empty()) return all_reduce_seconds(problem_, problem_.placement[stage], stage);
    std::vector<double> fastest;
    for (const auto& edges : *edges_) {
        double least_s = infinite;
        for (const Edge& edge : edges)
            least_s =
                std::min(least_s, edge.latency_s + problem_.gradient_bytes[stage] / r / edge.bandwidth_bytes_per_s);
        if (least_s < infinite) fastest.push_back(least_s);
    }
    if (static_cast<int>(fastest.size()) < r) return 0;
    std::nth_element(fastest.begin(), fastest.begin() + (r - 1), fastest.end());
    return 2 * (r - 1) * fastest[at(r - 1)];
}

double Bounds::shortest_reduction_s(StageIndex stage, int r) const {
    if (r <= 1) return 0;
    // Unlimited lines carry any number of small pieces at once.
    const double bytes = problem_.shared_links ? problem_.gradient_bytes[stage] : 0;
    double least_s = infinite;
    const auto look = [&](const Sending& sends) {
        if (sends.bandwidth_bytes_per_s.empty()) return;
        const auto fastest = std::min(sends.bandwidth_bytes_per_s.size(), at(r) - 1) - 1;
        least_s = std::min(least_s, sends.latency_s + bytes / sends.bandwidth_bytes_per_s[fastest]);
    };
    if (sendings_) std::for_each(sendings_->begin(), sendings_->end(), look);
    if (!problem_.placement.empty())
        for (const NodeIndex node : problem_.placement[stage]) look(sending(node, problem_.placement[stage]));
    return least_s < infinite ? least_s : 0;
}

Bounds::Sending Bounds::sending(NodeIndex node, const std::vector<NodeIndex>& others) const {
    Sending sends;
    for (const NodeIndex other : others) {
        if (other == node || !problem_.reachable(node, other)) continue;
        const Hop& hop = problem_.hop(node, other);
        sends.latency_s = std::min(sends.latency_s, hop.latency_s + problem_.overhead_s);
        sends.bandwidth_bytes_per_s.push_back(hop.bandwidth_bytes_per_s);
    }
    auto& rates = sends.bandwidth_bytes_per_s;
    std::sort(rates.begin(), rates.end(), std::greater<>());
    std::partial_sum(rates.begin(), rates.end(), rates.begin());
    return sends;
}

PerNode<std::vector<Bounds::Edge>> Bounds::best_edges() const {
    PerNode<std::vector<Edge>> best(at(problem_.nodes()));
    std::vector<Edge> edges;
    for (NodeIndex a = 0; a < problem_.nodes(); ++a) {
        edges.clear();
        for (NodeIndex b = 0; b < problem_.nodes(); ++b)
            if (a != b && problem_.reachable(a, b))
                edges.push_back(
                    {problem_.hop(a, b).latency_s + problem_.overhead_s, problem_.hop(a, b).bandwidth_bytes_per_s});
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
