// SPDX-License-Identifier: GPL-3.0-or-later
// How long a reduction takes at least once the part of one replica is there.
#include <algorithm>
#include <cstdint>
#include <map>

#include "core/base/index.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/bounds/reduction_ways.h"

namespace skippipe {

namespace bounds {

namespace {

constexpr int most_split = 8;

using Group = std::uint64_t;  ///< a bit for each place

/// From the replicas of a group to the others: so many bytes, over the lines as if each pair used its line alone at
/// the fastest of them. 0 s where nothing leads there.
Spread across(const Problem& problem, const std::vector<NodeIndex>& nodes, Group group, double bytes) {
    const auto in = [&](std::size_t place) { return (group >> place & 1) != 0; };
    std::map<int, double> rate_of_line;
    double latency_s = infinite, up_rate = 0, down_rate = 0, lines_rate = 0;
    int senders = 0;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        if (problem.has_uplinks())
            (in(a) ? up_rate : down_rate) += (in(a) ? problem.up_bytes_per_s : problem.down_bytes_per_s)[nodes[a]];
        if (!in(a)) continue;
        ++senders;
        for (std::size_t b = 0; b < nodes.size(); ++b) {
            if (in(b) || !problem.reachable(nodes[a], nodes[b])) continue;
            const Hop& hop = problem.hop(nodes[a], nodes[b]);
            latency_s = std::min(latency_s, hop.latency_s + problem.overhead_s);
            double& rate = rate_of_line[hop.line];
            rate = std::max(rate, hop.bandwidth_bytes_per_s);
        }
    }
    for (const auto& [line, rate] : rate_of_line) lines_rate += rate;
    if (!(lines_rate > 0)) return {};
    const bool by_uplink = problem.has_uplinks() && up_rate < std::min(lines_rate, down_rate),
               by_downlink = problem.has_uplinks() && !by_uplink && down_rate < lines_rate;
    const double rate = by_uplink ? up_rate : by_downlink ? down_rate : lines_rate;
    const bool from_one = senders == 1, to_one = senders + 1 == static_cast<int>(nodes.size());
    const char* which = by_uplink     ? from_one ? "a replica's uplink" : "uplinks of some replicas"
                        : by_downlink ? to_one ? "a replica's downlink" : "downlinks of some replicas"
                        : from_one    ? "the lines from a replica"
                        : to_one      ? "the lines to a replica"
                                      : "the lines between some replicas and the others";
    return {latency_s + bytes / rate, which};
}

}  // namespace

std::vector<Spread> spreads(const Problem& problem, const std::vector<NodeIndex>& nodes, double bytes) {
    const std::size_t r = nodes.size();
    const auto away_s = latencies_s(problem, nodes);
    std::vector<Spread> spreads(r);
    for (std::size_t k = 0; k < r; ++k) {
        const auto own = away_s.begin() + static_cast<std::ptrdiff_t>(k * r);
        spreads[k] = {*std::max_element(own, own + static_cast<std::ptrdiff_t>(r)), "the way to the farthest replica"};
    }
    const auto look = [&](Group group) {
        const Spread found = across(problem, nodes, group, bytes);
        for (std::size_t k = 0; k < r; ++k)
            if ((group >> k & 1) != 0 && found.seconds > spreads[k].seconds) spreads[k] = found;
    };
    if (bytes <= 0 || r < 2 || r > 64) return spreads;
    const Group all = r == 64 ? ~Group{0} : (Group{1} << r) - 1;
    if (static_cast<int>(r) <= most_split) {
        for (Group group = 1; group < all; ++group) look(group);
    } else {
        for (std::size_t k = 0; k < r; ++k) {
            look(Group{1} << k);
            look(all & ~(Group{1} << k));
        }
    }
    return spreads;
}

}  // namespace bounds

std::vector<double> part_bounds_s(const Problem& problem, const std::vector<NodeIndex>& nodes, StageIndex stage) {
    std::vector<double> bounds_s;
    for (const auto& spread : bounds::spreads(problem, nodes, bounds::occupying_bytes(problem, stage)))
        bounds_s.push_back(spread.seconds);
    return bounds_s;
}

}  // namespace skippipe
