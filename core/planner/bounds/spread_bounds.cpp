// SPDX-License-Identifier: GPL-3.0-or-later
// How long a reduction takes at least once the part of one replica is there.
#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/planner/bounds/bounds.h"
#include "core/planner/bounds/reduction_ways.h"

namespace skippipe {

namespace bounds {

namespace {

constexpr int most_split = 8;

using Group = std::uint64_t;  ///< a bit for each place

enum class Limit { uplinks, downlinks, lines };
struct Crossing {
    double seconds = 0;
    Limit by = Limit::lines;
};

/// From the replicas of a group to the others: so many bytes, over the lines as if each pair used its line alone at
/// the fastest of them. 0 s where nothing leads there.
Crossing across(const Problem& problem, const std::vector<NodeIndex>& nodes, Group group, double bytes) {
    const auto in = [&](std::size_t place) { return (group >> place & 1) != 0; };
    std::map<int, double> rate_of_line;
    double latency_s = infinite, up_rate = 0, down_rate = 0, lines_rate = 0;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        if (problem.has_uplinks())
            (in(a) ? up_rate : down_rate) += (in(a) ? problem.up_bytes_per_s : problem.down_bytes_per_s)[nodes[a]];
        if (!in(a)) continue;
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
    if (problem.has_uplinks() && up_rate < std::min(lines_rate, down_rate))
        return {latency_s + bytes / up_rate, Limit::uplinks};
    if (problem.has_uplinks() && down_rate < lines_rate) return {latency_s + bytes / down_rate, Limit::downlinks};
    return {latency_s + bytes / lines_rate, Limit::lines};
}

/// "A", "A and B", "A, B and 5 more".
std::string names(const Problem& problem, const std::vector<NodeIndex>& nodes, Group group) {
    std::vector<std::string> ids;
    for (std::size_t k = 0; k < nodes.size(); ++k)
        if ((group >> k & 1) != 0) ids.push_back(problem.node_ids[nodes[k]]);
    if (ids.size() == 1) return ids[0];
    if (ids.size() > 3) ids = {ids[0], ids[1], fmt::format("{} more", ids.size() - 2)};
    const std::string last = ids.back();
    ids.pop_back();
    return fmt::format("{} and {}", fmt::join(ids, ", "), last);
}

/// What limits it: "the uplink of A", "the downlinks of C and D", "the lines from A and B", "the lines to C".
std::string words(const Problem& problem, const std::vector<NodeIndex>& nodes, Group group, Group all, Limit by) {
    const Group others = all & ~group;
    const bool from_one = (group & (group - 1)) == 0, to_one = (others & (others - 1)) == 0;
    switch (by) {
        case Limit::uplinks:
            return fmt::format("the uplink{} of {}", from_one ? "" : "s", names(problem, nodes, group));
        case Limit::downlinks:
            return fmt::format("the downlink{} of {}", to_one ? "" : "s", names(problem, nodes, others));
        case Limit::lines: break;
    }
    return to_one && !from_one ? fmt::format("the lines to {}", names(problem, nodes, others))
                               : fmt::format("the lines from {}", names(problem, nodes, group));
}

}  // namespace

std::vector<Spread> spreads(const Problem& problem, const std::vector<NodeIndex>& nodes, double bytes) {
    const std::size_t r = nodes.size();
    const auto away_s = latencies_s(problem, nodes);
    std::vector<Spread> spreads(r);
    for (std::size_t k = 0; k < r; ++k) {
        const auto own = away_s.begin() + static_cast<std::ptrdiff_t>(k * r);
        const auto farthest = std::max_element(own, own + static_cast<std::ptrdiff_t>(r));
        spreads[k] = {*farthest, fmt::format("the way from {} to {}", problem.node_ids[nodes[k]],
                                             problem.node_ids[nodes[static_cast<std::size_t>(farthest - own)]])};
    }
    if (bytes <= 0 || r < 2 || r > 64) return spreads;
    const Group all = r == 64 ? ~Group{0} : (Group{1} << r) - 1;
    const auto look = [&](Group group) {
        const Crossing found = across(problem, nodes, group, bytes);
        for (std::size_t k = 0; k < r; ++k)
            if ((group >> k & 1) != 0 && found.seconds > spreads[k].seconds)
                spreads[k] = {found.seconds, words(problem, nodes, group, all, found.by)};
    };
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
