// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/edits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>

#include "core/experiment/io.h"

namespace skippipe {
namespace {

bool is_taken(const Experiment& e, const std::string& id) {
    const auto same = [&](const auto& thing) { return thing.id == id; };
    return std::any_of(e.topology.nodes.begin(), e.topology.nodes.end(), same) ||
           std::any_of(e.topology.regions.begin(), e.topology.regions.end(), same);
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
        names[region.id] = free_id(experiment, "region");
        region = {names[region.id], region.x + offset.x, region.y + offset.y};
        experiment.topology.regions.push_back(region);
        added.regions.insert(region.id);
    }
    for (Node node : part.nodes) {
        node.id = names[node.id] = free_id(experiment, "node");
        if (const auto region = names.find(node.region); region != names.end()) node.region = region->second;
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

std::vector<Point> circle_layout(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return nodes[a].region < nodes[b].region; });
    const double radius = std::max(120.0, 80.0 * static_cast<double>(nodes.size()) / (2 * std::numbers::pi));
    std::vector<Point> places(nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(order.size()) - std::numbers::pi / 2;
        places[order[i]] = {std::round(radius * std::cos(angle)), std::round(radius * std::sin(angle))};
    }
    return places;
}

std::vector<Point> node_places(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    const bool one_spot = nodes.size() > 1 && std::all_of(nodes.begin(), nodes.end(), [&](const Node& n) {
                              return n.x == nodes.front().x && n.y == nodes.front().y;
                          });
    if (one_spot) return circle_layout(experiment);
    std::vector<Point> places;
    for (const auto& node : nodes) places.push_back({node.x, node.y});
    return places;
}

Point region_place(const Experiment& experiment, const std::vector<Point>& places, const Region& region) {
    Point sum;
    int count = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
        if (experiment.topology.nodes[i].region == region.id) sum.x += places[i].x, sum.y += places[i].y, ++count;
    return count > 0 ? Point{sum.x / count, sum.y / count} : Point{region.x, region.y};
}

}  // namespace skippipe
