// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/regions.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace skippipe {

std::optional<std::pair<std::string, std::string>> unlinked_regions(const Topology& topology) {
    std::map<std::string, std::string> region_of;  // a region's is its own
    std::vector<std::string> held;                 // regions with nodes
    for (const auto& region : topology.regions) region_of[region.id] = region.id;
    for (const auto& node : topology.nodes) {
        if (!region_of.contains(node.region)) continue;
        region_of[node.id] = node.region;
        if (std::find(held.begin(), held.end(), node.region) == held.end()) held.push_back(node.region);
    }
    if (held.empty()) return {};
    const auto place_of = [&](const std::string& id) {
        const auto found = region_of.find(id);
        return found == region_of.end() ? id : found->second;  // a node without a region stands for itself
    };
    std::set<std::string> reached{held.front()};
    for (std::size_t before = 0; before != reached.size();) {
        before = reached.size();
        for (const auto& link : topology.links) {
            const std::string from = place_of(link.from), to = place_of(link.to);
            if (reached.contains(from)) reached.insert(to);
            if (reached.contains(to)) reached.insert(from);
        }
    }
    const auto apart = std::find_if(held.begin(), held.end(), [&](const auto& id) { return !reached.contains(id); });
    return apart == held.end() ? std::nullopt : std::optional(std::pair{held.front(), *apart});
}

}  // namespace skippipe
