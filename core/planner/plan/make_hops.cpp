// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/make_hops.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace skippipe {

NodesById nodes_by_id(const Topology& topology) {
    NodesById nodes;
    for (std::size_t i = 0; i < topology.nodes.size(); ++i) nodes.emplace(topology.nodes[i].id, i);
    return nodes;
}

namespace {

/// Builds the ways and their lines: own links first, then region links, then the switch of a region.
class HopBuilder {
public:
    HopBuilder(const Topology& topology, Problem& problem) : topology_(topology), problem_(problem) {}

    Hops from_matrix() {
        std::vector<Hop> pairs;
        for (NodeIndex a = 0; a < problem_.nodes(); ++a)
            for (NodeIndex b = 0; b < problem_.nodes(); ++b) {
                Hop& hop = pairs.emplace_back();
                if (a == b) continue;
                hop.latency_s = topology_.hop_matrix_s[at(a)][at(b)];
                hop.bandwidth_bytes_per_s = std::numeric_limits<double>::infinity();
                hop.line = new_line(a, b);
            }
        return pairs;
    }

    Hops from_links() {
        const NodesById nodes = nodes_by_id(topology_);
        make_groups(nodes);
        for (const auto& link : topology_.links)
            if (nodes.contains(link.from)) node_link(nodes.at(link.from), nodes.at(link.to), link);
        for (const auto& link : topology_.links)
            if (!nodes.contains(link.from)) region_link(regions_[link.from], regions_[link.to], link);
        for (const auto& region : topology_.regions)
            within(regions_[region.id], topology_.within_region.latency_s,
                   topology_.within_region.bandwidth_bytes_per_s);
        return {std::move(group_of_), std::move(ways_)};
    }

private:
    const Node& node(NodeIndex n) const { return topology_.nodes[at(n)]; }
    Hop& way(int from, int to) { return ways_[at(from) * members_.size() + at(to)]; }

    int new_line(const std::string& from, const std::string& to) {
        problem_.line_names.push_back(from + "->" + to);
        return static_cast<int>(problem_.line_names.size()) - 1;
    }
    int new_line(NodeIndex from, NodeIndex to) { return new_line(problem_.node_ids[from], problem_.node_ids[to]); }

    /// A region is a group where its nodes are alike; else each of them is one, and so is a node without a region.
    void make_groups(const NodesById& nodes) {
        std::unordered_map<std::string, NodeIndex> first;
        std::unordered_map<std::string, bool> alike;
        std::vector<bool> linked(topology_.nodes.size(), false);
        for (const auto& link : topology_.links)
            if (nodes.contains(link.from)) linked[at(nodes.at(link.from))] = linked[at(nodes.at(link.to))] = true;
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
            const auto& region = node(n).region;
            const Node& model = node(first.try_emplace(region, n).first->second);
            const bool same = problem_.shared_links || (node(n).up_bytes_per_s == model.up_bytes_per_s &&
                                                        node(n).down_bytes_per_s == model.down_bytes_per_s);
            bool& all = alike.try_emplace(region, !region.empty()).first->second;
            all = all && same && !linked[at(n)];
        }
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
            const auto& region = node(n).region;
            if (alike.at(region) && first.at(region) != n) {
                group_of_.push_back(group_of_[at(first.at(region))]);
            } else {
                group_of_.push_back(static_cast<int>(members_.size()));
                if (!region.empty()) regions_[region].push_back(group_of_.back());
                members_.emplace_back();
            }
            members_[at(group_of_.back())].push_back(n);
        }
        ways_.assign(members_.size() * members_.size(), Hop{});
    }

    void set(int from, int to, double latency_s, double bandwidth, int line) {
        if (!problem_.shared_links) {
            bandwidth = std::min(bandwidth, node(members_[at(from)][0]).up_bytes_per_s.value_or(bandwidth));
            bandwidth = std::min(bandwidth, node(members_[at(to)][0]).down_bytes_per_s.value_or(bandwidth));
        }
        way(from, to) = {latency_s, bandwidth, problem_.forward_bytes / bandwidth, problem_.backward_bytes / bandwidth,
                         line};
    }

    void node_link(NodeIndex a, NodeIndex b, const Link& link) {
        const int from = group_of_[at(a)], to = group_of_[at(b)];
        set(from, to, link.latency_s, link.bandwidth_bytes_per_s, new_line(link.from, link.to));
        if (link.both_ways) set(to, from, link.latency_s, link.bandwidth_bytes_per_s, new_line(link.to, link.from));
    }

    void region_link(const std::vector<int>& from, const std::vector<int>& to, const Link& link) {
        if (link.from == link.to) return within(from, link.latency_s, link.bandwidth_bytes_per_s);
        one_way(from, to, link, new_line(link.from, link.to));
        if (link.both_ways) one_way(to, from, link, new_line(link.to, link.from));
    }

    void one_way(const std::vector<int>& from, const std::vector<int>& to, const Link& link, int line) {
        for (const int a : from)
            for (const int b : to)
                if (way(a, b).line == no_line) set(a, b, link.latency_s, link.bandwidth_bytes_per_s, line);
    }

    void within(const std::vector<int>& groups, double latency_s, double bandwidth) {
        for (const int a : groups)
            for (const int b : groups)
                if (way(a, b).line == no_line && (a != b || members_[at(a)].size() > 1))
                    set(a, b, latency_s, bandwidth,
                        a == b ? new_lines(a) : new_line(members_[at(a)][0], members_[at(b)][0]));
    }

    /// Of every pair of a group. Returns the first.
    int new_lines(int group) {
        const auto first = static_cast<int>(problem_.line_names.size());
        for (const NodeIndex a : members_[at(group)])
            for (const NodeIndex b : members_[at(group)])
                if (a != b) new_line(a, b);
        return first;
    }

    const Topology& topology_;
    Problem& problem_;
    std::vector<int> group_of_;                                  ///< of each node
    std::vector<std::vector<NodeIndex>> members_;                ///< of each group
    std::unordered_map<std::string, std::vector<int>> regions_;  ///< their groups
    std::vector<Hop> ways_;
};

}  // namespace

Hops make_hops(const Topology& topology, Problem& problem) {
    HopBuilder builder(topology, problem);
    return topology.hop_matrix_s.empty() ? builder.from_links() : builder.from_matrix();
}

}  // namespace skippipe
