// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/validate.h"

#include <algorithm>

#include "core/experiment/checker.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

bool at_or_below(std::string_view pointer, std::string_view top) {
    return pointer.starts_with(top) && (pointer.size() == top.size() || pointer[top.size()] == '/');
}

}  // namespace

TopologyIndex::TopologyIndex(const Topology& topology) : topology_(topology) {
    for (const auto& region : topology.regions) regions_[region.id];
    for (std::size_t i = 0; i < topology.nodes.size(); ++i) {
        nodes_.emplace(topology.nodes[i].id, static_cast<int>(i));
        if (const auto region = regions_.find(topology.nodes[i].region); region != regions_.end())
            region->second.push_back(i);
    }
    for (const auto& link : topology.links) {
        to_[link.from].insert(link.to);
        from_[link.to].insert(link.from);
        if (!link.both_ways) continue;
        to_[link.to].insert(link.from);
        from_[link.from].insert(link.to);
    }
}

int TopologyIndex::node(const std::string& id) const {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? -1 : found->second;
}

bool TopologyIndex::linked(const std::string& from, const std::string& to) const {
    const auto found = to_.find(from);
    return found != to_.end() && found->second.contains(to);
}

bool TopologyIndex::is_line(const std::string& from, const std::string& to) const {
    if (from == to) return false;
    const int a = node(from), b = node(to);
    if (a < 0 || b < 0) return is_region(from) && is_region(to) && is_shared_line(from, to);
    if (!topology_.hop_matrix_s.empty() || linked(from, to)) return true;
    const auto& here = topology_.nodes[static_cast<std::size_t>(a)].region;
    const auto& there = topology_.nodes[static_cast<std::size_t>(b)].region;
    return is_region(here) && is_region(there) && (here == there || linked(here, there));
}

bool TopologyIndex::is_shared_line(const std::string& from, const std::string& to) const {
    if (!topology_.hop_matrix_s.empty() || !linked(from, to)) return false;
    const auto [known, is_new] = shared_.try_emplace({from, to});
    if (!is_new) return known->second;
    const auto& receivers = regions_.at(to);
    const auto sends = [&](std::size_t sender) {
        return std::any_of(receivers.begin(), receivers.end(), [&](std::size_t receiver) {
            return !linked(topology_.nodes[sender].id, topology_.nodes[receiver].id);
        });
    };
    return known->second = std::any_of(regions_.at(from).begin(), regions_.at(from).end(), sends);
}

bool TopologyIndex::has_way(const Node& node, bool out) const {
    const auto& ways = out ? to_ : from_;
    if (const auto own = ways.find(node.id); own != ways.end() && !own->second.empty()) return true;
    const auto region = regions_.find(node.region);
    if (region == regions_.end()) return false;
    if (region->second.size() > 1) return true;
    const auto far = ways.find(node.region);
    if (far == ways.end()) return false;
    for (const auto& other : far->second) {
        const auto place = regions_.find(other);
        if (place != regions_.end() && other != node.region && !place->second.empty()) return true;
    }
    return false;
}

bool Checker::sound(std::string_view pointer) const {
    for (auto end = pointer.find('/', 1); end != std::string_view::npos; end = pointer.find('/', end + 1))
        if (unsound.contains(pointer.substr(0, end))) return false;
    if (unsound.contains(pointer)) return false;
    const auto below = unsound.lower_bound(std::string(pointer) + '/');
    return below == unsound.end() || !at_or_below(*below, pointer);
}

bool Checker::list_sound(std::string_view list, std::initializer_list<std::string_view> members) const {
    for (const auto& bad : unsound) {
        if (at_or_below(list, bad)) return false;
        if (!at_or_below(bad, list)) continue;
        const auto rest = std::string_view(bad).substr(list.size() + 1);
        const auto slash = rest.find('/');
        if (slash == std::string_view::npos) return false;
        for (const auto member : members)
            if (at_or_below(rest.substr(slash), member)) return false;
    }
    return true;
}

void Checker::error(const std::string& pointer, std::string what, std::string why, std::string remedy) {
    add_fault(faults, {at + pointer, std::move(what), std::move(why), std::move(remedy)});
}

void Checker::warning(const std::string& pointer, std::string what, std::string why, std::string remedy) {
    add_fault(faults, {at + pointer, std::move(what), std::move(why), std::move(remedy), Fault::Severity::warning});
}

void validate_meaning(const Experiment& experiment, const std::string& at, Faults& faults) {
    std::set<std::string, std::less<>> unsound;
    for (const auto& fault : faults)
        if (fault.pointer.size() > at.size() && fault.pointer.starts_with(at))
            unsound.insert(fault.pointer.substr(at.size()));
    const TopologyIndex index(experiment.topology);
    Checker check{experiment, index, at, unsound, faults};
    if (experiment.topology.nodes.size() > max_nodes)
        return check.error("/topology/nodes", std::to_string(experiment.topology.nodes.size()) + " nodes",
                           "at most " + std::to_string(max_nodes) + " are supported", "Use fewer nodes");
    check_topology(check);
    check_links(check);
    check_pipeline(check);
    check_placement(check);
    check_run(check);
}

Faults validate(const Experiment& experiment) {
    Faults faults;
    validate_meaning(experiment, "", faults);
    return faults;
}

}  // namespace skippipe
