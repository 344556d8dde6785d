// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/edits.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>

#include "core/experiment/io.h"

namespace skippipe {
namespace {

bool is_taken(const Experiment& e, const std::string& id) {
    const auto same = [&](const auto& thing) { return thing.id == id; };
    return std::any_of(e.topology.nodes.begin(), e.topology.nodes.end(), same) ||
           std::any_of(e.topology.regions.begin(), e.topology.regions.end(), same);
}

bool is_region(const Experiment& e, const std::string& id) {
    return std::any_of(e.topology.regions.begin(), e.topology.regions.end(),
                       [&](const Region& region) { return region.id == id; });
}

/// The rows and columns of the hop matrix follow the nodes: without one of them it no longer fits.
void drop_from_matrix(Topology& t, std::size_t index) {
    if (index >= t.hop_matrix_s.size()) return;
    t.hop_matrix_s.erase(t.hop_matrix_s.begin() + static_cast<std::ptrdiff_t>(index));
    for (auto& row : t.hop_matrix_s)
        if (index < row.size()) row.erase(row.begin() + static_cast<std::ptrdiff_t>(index));
}

}  // namespace

std::string free_id(const Experiment& experiment, const std::string& stem) {
    for (int n = 1;; ++n)
        if (const std::string id = stem + "-" + std::to_string(n); !is_taken(experiment, id)) return id;
}

namespace {

/// The same name where it is free; else with the first free number: "london-2" beside "london".
std::string id_of_copy(const Experiment& experiment, const std::string& id) {
    if (id.empty()) return free_id(experiment, "node");
    if (!is_taken(experiment, id)) return id;
    const auto dash = id.rfind('-');
    const bool numbered = dash != std::string::npos && dash > 0 && dash + 1 < id.size() &&
                          id.find_first_not_of("0123456789", dash + 1) == std::string::npos;
    const std::string stem = numbered ? id.substr(0, dash) : id;
    for (int n = is_taken(experiment, stem) ? 2 : 1;; ++n)
        if (std::string name = stem + "-" + std::to_string(n); !is_taken(experiment, name)) return name;
}

}  // namespace

std::string add_node(Experiment& experiment, Point at, const std::string& region) {
    Node node;
    node.id = free_id(experiment, "node");
    node.region = region;
    node.x = at.x;
    node.y = at.y;
    if (!experiment.topology.nodes.empty())
        node.seconds_per_sample_per_block = experiment.topology.nodes.back().seconds_per_sample_per_block;
    experiment.topology.nodes.push_back(node);
    return node.id;
}

std::string add_region(Experiment& experiment, Point at) {
    const Region region{free_id(experiment, "region"), at.x, at.y};
    experiment.topology.regions.push_back(region);
    return region.id;
}

Point place_round(Point at, int place, int nodes) {
    constexpr double ring = 60;
    const double angle = 2 * std::numbers::pi * (place + 0.25) / nodes;
    return {std::round(at.x + ring * std::cos(angle)), std::round(at.y + ring * std::sin(angle))};
}

void add_nodes_round(Experiment& experiment, const std::string& region, Point at, int nodes) {
    for (int i = 0; i < nodes; ++i) add_node(experiment, place_round(at, i, nodes), region);
}

std::string add_region_of_nodes(Experiment& experiment, Point at, int nodes) {
    std::string id = add_region(experiment, at);
    add_nodes_round(experiment, id, at, nodes);
    return id;
}

bool add_link(Experiment& experiment, const std::string& from, const std::string& to) {
    if (from == to || from.empty() || to.empty()) return false;
    for (const auto& link : experiment.topology.links)
        if ((link.from == from && link.to == to) || (link.both_ways && link.from == to && link.to == from))
            return false;
    Link link{from, to, 0.05, 1.25e8, true};
    if (!experiment.topology.links.empty()) {
        link.latency_s = experiment.topology.links.back().latency_s;
        link.bandwidth_bytes_per_s = experiment.topology.links.back().bandwidth_bytes_per_s;
    }
    experiment.topology.links.push_back(link);
    return true;
}

void move_to_region(Experiment& experiment, const std::string& node, const std::string& region) {
    constexpr double beside = 60;
    auto& t = experiment.topology;
    const auto moved = std::find_if(t.nodes.begin(), t.nodes.end(), [&](const Node& one) { return one.id == node; });
    const auto to = std::find_if(t.regions.begin(), t.regions.end(), [&](const Region& r) { return r.id == region; });
    if (moved == t.nodes.end() || to == t.regions.end() || moved->region == region) return;
    Point at{to->x, to->y};
    double right = -std::numeric_limits<double>::infinity();
    for (const auto& other : t.nodes)
        if (other.region == region && other.x > right) right = other.x, at = {other.x + beside, other.y};
    moved->region = region;
    moved->x = at.x;
    moved->y = at.y;
}

void remove_selected(Experiment& experiment, const Selection& selection) {
    auto& t = experiment.topology;
    for (std::size_t i = t.nodes.size(); i-- > 0;)
        if (selection.nodes.count(t.nodes[i].id)) {
            drop_from_matrix(t, i);
            t.nodes.erase(t.nodes.begin() + static_cast<std::ptrdiff_t>(i));
        }
    const auto gone = [&](const std::string& id) {
        return selection.nodes.contains(id) || selection.regions.contains(id);
    };
    for (auto& node : t.nodes)
        if (selection.regions.count(node.region)) node.region.clear();
    std::erase_if(t.regions, [&](const Region& region) { return selection.regions.count(region.id) > 0; });
    std::erase_if(t.links, [&](const Link& link) {
        return selection.links.count({link.from, link.to}) || gone(link.from) || gone(link.to);
    });
    for (auto& stage : experiment.pipeline.placement) std::erase_if(stage, gone);
    std::erase_if(experiment.failures, [&](const Failure& failure) {
        const auto arrow = failure.target.find("->");
        if (arrow == std::string::npos) return gone(failure.target);
        const auto from = failure.target.substr(0, arrow), to = failure.target.substr(arrow + 2);
        return gone(from) || gone(to) || selection.links.count({from, to}) || selection.links.count({to, from});
    });
}

void rename(Experiment& experiment, const std::string& from, const std::string& to) {
    auto& t = experiment.topology;
    const auto swap = [&](std::string& id) {
        if (id == from) id = to;
    };
    for (auto& node : t.nodes) swap(node.id), swap(node.region);
    for (auto& region : t.regions) swap(region.id);
    for (auto& link : t.links) swap(link.from), swap(link.to);
    for (auto& stage : experiment.pipeline.placement)
        for (auto& id : stage) swap(id);
    for (auto& failure : experiment.failures) {
        const auto arrow = failure.target.find("->");
        if (arrow == std::string::npos) {
            swap(failure.target);
        } else {
            std::string a = failure.target.substr(0, arrow), b = failure.target.substr(arrow + 2);
            swap(a), swap(b);
            failure.target = a + "->" + b;
        }
    }
}

void move_nodes(Experiment& experiment, const std::vector<std::pair<std::string, Point>>& places) {
    const std::map<std::string, Point> by_id(places.begin(), places.end());
    for (auto& node : experiment.topology.nodes)
        if (const auto it = by_id.find(node.id); it != by_id.end()) node.x = it->second.x, node.y = it->second.y;
    for (auto& region : experiment.topology.regions)
        if (const auto it = by_id.find(region.id); it != by_id.end()) region.x = it->second.x, region.y = it->second.y;
}

std::string copy_text(const Experiment& experiment, const Selection& selection) {
    Experiment part;
    const auto chosen = [&](const std::string& id) { return selection.nodes.count(id) || selection.regions.count(id); };
    for (const auto& region : experiment.topology.regions)
        if (selection.regions.count(region.id)) part.topology.regions.push_back(region);
    for (const auto& node : experiment.topology.nodes)
        if (selection.nodes.count(node.id)) part.topology.nodes.push_back(node);
    for (const auto& link : experiment.topology.links)
        if (chosen(link.from) && chosen(link.to)) part.topology.links.push_back(link);
    if (part.topology.nodes.empty() && part.topology.regions.empty()) return {};
    nlohmann::ordered_json json;
    json["skippipe_topology"] = to_json(part).at("topology");
    return json.dump(2);
}

Selection paste_text(Experiment& experiment, std::string_view text, Point offset) {
    Faults faults;
    const auto json = parse_json(text, faults);
    if (has_errors(faults) || !json.is_object() || !json.contains("skippipe_topology")) return {};
    nlohmann::ordered_json whole = to_json(Experiment{});
    whole["topology"] = json.at("skippipe_topology");
    const Topology part = parse_experiment(whole).experiment.topology;

    Selection added;
    std::map<std::string, std::string> names;
    for (Region region : part.regions) {
        names[region.id] = id_of_copy(experiment, region.id);
        region = {names[region.id], region.x + offset.x, region.y + offset.y};
        experiment.topology.regions.push_back(region);
        added.regions.insert(region.id);
    }
    for (Node node : part.nodes) {
        node.id = names[node.id] = id_of_copy(experiment, node.id);
        if (const auto region = names.find(node.region); region != names.end())
            node.region = region->second;
        else if (!is_region(experiment, node.region))
            node.region.clear();  // it stays behind in the other document
        node.x += offset.x;
        node.y += offset.y;
        experiment.topology.nodes.push_back(node);
        added.nodes.insert(node.id);
    }
    for (Link link : part.links) {
        if (!names.count(link.from) || !names.count(link.to)) continue;
        link.from = names[link.from];
        link.to = names[link.to];
        experiment.topology.links.push_back(link);
        added.links.insert({link.from, link.to});
    }
    return added;
}

bool are_linked(const Experiment& experiment, const std::string& a, const std::string& b) {
    return std::any_of(experiment.topology.links.begin(), experiment.topology.links.end(), [&](const Link& link) {
        return (link.from == a && link.to == b) || (link.both_ways && link.from == b && link.to == a);
    });
}

int link_all(Experiment& experiment, const Selection& selection) {
    int added = 0;
    const auto link_pairs = [&](const std::set<std::string>& ends, const auto& wanted) {
        for (auto a = ends.begin(); a != ends.end(); ++a)
            for (auto b = std::next(a); b != ends.end(); ++b)
                if (wanted(*a, *b)) added += add_link(experiment, *a, *b);
    };
    link_pairs(selection.regions, [](const auto&, const auto&) { return true; });
    std::map<std::string, std::string> regions;
    for (const auto& node : experiment.topology.nodes) regions[node.id] = node.region;
    link_pairs(selection.nodes, [&](const std::string& a, const std::string& b) {
        const std::string &in_a = regions[a], &in_b = regions[b];
        if (in_a.empty() || in_b.empty()) return true;
        return in_a != in_b && !are_linked(experiment, in_a, in_b) && !are_linked(experiment, in_b, in_a);
    });
    return added;
}

Selection still_there(const Selection& selection, const Topology& before, const Topology& now) {
    std::map<std::string, std::string> names;  // of what is there, by its name before
    const auto follow = [&](const auto& old_things, const auto& new_things) {
        const bool may_be_renamed = old_things.size() == new_things.size();
        for (std::size_t i = 0; i < old_things.size(); ++i) {
            const auto same = [&](const auto& thing) { return thing.id == old_things[i].id; };
            if (std::any_of(new_things.begin(), new_things.end(), same))
                names[old_things[i].id] = old_things[i].id;
            else if (may_be_renamed && std::none_of(old_things.begin(), old_things.end(),
                                                    [&](const auto& thing) { return thing.id == new_things[i].id; }))
                names[old_things[i].id] = new_things[i].id;
            else
                names[old_things[i].id] = {};
        }
    };
    follow(before.nodes, now.nodes);
    follow(before.regions, now.regions);
    // What was not of this document before is another view's.
    const auto name_of_now = [&](const std::string& id) {
        const auto it = names.find(id);
        return it == names.end() ? id : it->second;
    };
    Selection kept = selection;
    kept.nodes.clear(), kept.regions.clear(), kept.links.clear();
    for (const auto& id : selection.nodes)
        if (const auto name = name_of_now(id); !name.empty()) kept.nodes.insert(name);
    for (const auto& id : selection.regions)
        if (const auto name = name_of_now(id); !name.empty()) kept.regions.insert(name);
    for (const auto& link : selection.links) {
        const auto has = [](const Topology& t, const LinkKey& key) {
            return std::any_of(t.links.begin(), t.links.end(),
                               [&](const Link& l) { return l.from == key.from && l.to == key.to; });
        };
        const LinkKey key{name_of_now(link.from), name_of_now(link.to)};
        if (!has(before, link) || has(now, key)) kept.links.insert(key);
    }
    return kept;
}

}  // namespace skippipe
