// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/regions.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace skippipe {
namespace {

/// Regions, each with its nodes, and nodes that stand in none.
struct RegionPlaces {
    std::map<std::string, std::string> region_of;  ///< a region's is its own
    std::vector<std::string> held;                 ///< regions with nodes

    explicit RegionPlaces(const Topology& topology) {
        for (const auto& region : topology.regions) region_of[region.id] = region.id;
        for (const auto& node : topology.nodes) {
            if (!region_of.contains(node.region)) continue;
            region_of[node.id] = node.region;
            if (std::find(held.begin(), held.end(), node.region) == held.end()) held.push_back(node.region);
        }
    }

    /// A node without a region stands for itself.
    const std::string& place_of(const std::string& id) const {
        const auto found = region_of.find(id);
        return found == region_of.end() ? id : found->second;
    }

    /// Where links lead from there, over others too, whichever way they go.
    std::set<std::string> reached_from(const std::string& place, const Topology& topology) const {
        std::set<std::string> reached{place};
        for (std::size_t before = 0; before != reached.size();) {
            before = reached.size();
            for (const auto& link : topology.links) {
                const std::string &from = place_of(link.from), &to = place_of(link.to);
                if (reached.contains(from)) reached.insert(to);
                if (reached.contains(to)) reached.insert(from);
            }
        }
        return reached;
    }
};

}  // namespace

std::optional<std::pair<std::string, std::string>> unlinked_regions(const Topology& topology) {
    const RegionPlaces places(topology);
    if (places.held.empty()) return {};
    const auto& first = places.held.front();
    const auto reached = places.reached_from(first, topology);
    const auto apart =
        std::find_if(places.held.begin(), places.held.end(), [&](const auto& id) { return !reached.contains(id); });
    return apart == places.held.end() ? std::nullopt : std::optional(std::pair{first, *apart});
}

std::optional<std::pair<std::string, std::string>> unlinked_regions_of(const Topology& topology, const std::string& a,
                                                                       const std::string& b) {
    const RegionPlaces places(topology);
    const auto from = places.region_of.find(a), to = places.region_of.find(b);
    if (from == places.region_of.end() || to == places.region_of.end()) return {};
    if (places.reached_from(from->second, topology).contains(to->second)) return {};
    return std::pair{from->second, to->second};
}

std::vector<std::vector<std::size_t>> linked_groups(const Topology& topology) {
    const std::size_t nodes = topology.nodes.size();
    std::map<std::string, std::size_t> places;  // of nodes, and of regions after them
    for (std::size_t i = 0; i < topology.regions.size(); ++i) places.emplace(topology.regions[i].id, nodes + i);
    std::set<std::string> held;  // nothing passes through a region without nodes
    for (std::size_t i = 0; i < nodes; ++i) {
        places.emplace(topology.nodes[i].id, i);
        held.insert({topology.nodes[i].id, topology.nodes[i].region});
    }
    std::vector<std::size_t> leads(nodes + topology.regions.size());
    std::iota(leads.begin(), leads.end(), std::size_t{0});
    const auto first_of = [&](std::size_t one) {
        while (leads[one] != one) one = leads[one] = leads[leads[one]];
        return one;
    };
    const auto join = [&](const std::string& a, const std::string& b) {
        const auto one = places.find(a), other = places.find(b);
        if (one != places.end() && other != places.end()) leads[first_of(one->second)] = first_of(other->second);
    };
    for (const auto& node : topology.nodes) join(node.id, node.region);
    for (const auto& link : topology.links)
        if (held.contains(link.from) && held.contains(link.to)) join(link.from, link.to);
    std::map<std::size_t, std::size_t> group_of;
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < nodes; ++i) {
        const auto [found, is_new] = group_of.emplace(first_of(i), groups.size());
        if (is_new) groups.emplace_back();
        groups[found->second].push_back(i);
    }
    return groups;
}

}  // namespace skippipe
