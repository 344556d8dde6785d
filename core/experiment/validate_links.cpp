// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/experiment/checker.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

/// How far from the median of its kind a value may be before it looks like a slip of the unit or of the decimal point.
constexpr double outlier_factor = 50;
constexpr std::size_t least_for_median = 5;

std::string pointer_of(std::size_t link, const char* key = "") {
    return fmt::format("/topology/links/{}{}", link, key);
}

bool ends_exist(Checker& check, std::size_t i, bool ids_sound) {
    const Link& link = check.experiment.topology.links[i];
    bool both = true;
    for (const auto& [key, id] : {std::pair{"/from", &link.from}, std::pair{"/to", &link.to}}) {
        if (!check.sound(pointer_of(i, key))) {
            both = false;
            continue;
        }
        if (check.index.is_node(*id) || check.index.is_region(*id)) continue;
        both = false;
        if (!ids_sound) continue;
        std::vector<std::string_view> ids;
        for (const auto& node : check.experiment.topology.nodes) ids.push_back(node.id);
        for (const auto& region : check.experiment.topology.regions) ids.push_back(region.id);
        const auto meant = closest(*id, ids);
        check.error(
            pointer_of(i, key), fmt::format("there is no node or region {}", in_quotes(*id)),
            "a link needs both its ends",
            meant.empty() ? std::string("Name a node or a region") : fmt::format("Did you mean {}?", in_quotes(meant)));
    }
    return both;
}

void check_pair(Checker& check, std::size_t i) {
    const Link& link = check.experiment.topology.links[i];
    const bool from_node = check.index.is_node(link.from), to_node = check.index.is_node(link.to);
    if (from_node != to_node)
        check.error(pointer_of(i),
                    fmt::format("{} is a {}, {} a {}", in_quotes(link.from), from_node ? "node" : "region",
                                in_quotes(link.to), to_node ? "node" : "region"),
                    "a link joins two nodes or two regions", "Name two of one kind");
    else if (link.from == link.to && from_node)
        check.error(pointer_of(i), fmt::format("it joins node {} to itself", in_quotes(link.from)),
                    "nothing is sent from a node to itself", "Name another node, or remove the link");
}

/// Every direction of every pair at most once.
class Directions {
public:
    explicit Directions(Checker& check) : check_(check) {}

    void add(std::size_t i) {
        const Link& link = check_.experiment.topology.links[i];
        const bool forward_free = take(link.from, link.to, i);
        const bool back_free = !link.both_ways || link.from == link.to || take(link.to, link.from, i);
        if (forward_free && back_free) return;
        const auto& [from, to] = forward_free ? std::pair{link.to, link.from} : std::pair{link.from, link.to};
        check_.error(pointer_of(i), fmt::format("a second link from {} to {}", in_quotes(from), in_quotes(to)),
                     fmt::format("{} has drawn that direction already, and each has one line",
                                 pointer_of(drawn_.at({from, to}))),
                     "Remove one of them, or switch off Both ways (both_ways)");
    }

private:
    bool take(const std::string& from, const std::string& to, std::size_t i) {
        return drawn_.emplace(std::pair{from, to}, i).second;
    }

    Checker& check_;
    std::map<std::pair<std::string, std::string>, std::size_t> drawn_;
};

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void check_outliers(Checker& check, const std::vector<std::size_t>& links, const char* kind) {
    if (links.size() < least_for_median) return;
    const auto& all = check.experiment.topology.links;
    std::vector<double> bandwidths, latencies;
    for (const auto i : links) {
        bandwidths.push_back(all[i].bandwidth_bytes_per_s);
        latencies.push_back(all[i].latency_s);
    }
    const double bandwidth = median(std::move(bandwidths)), latency = median(std::move(latencies));
    for (const auto i : links) {
        const double ratio = all[i].bandwidth_bytes_per_s / bandwidth;
        const std::string pair = fmt::format("between {} and {}", in_quotes(all[i].from), in_quotes(all[i].to));
        if (ratio < 1 / outlier_factor || ratio > outlier_factor)
            check.warning(
                pointer_of(i, "/bandwidth_bytes_per_s"),
                fmt::format("{} {} is {} times {} the median of the links between {}",
                            format_si(8 * all[i].bandwidth_bytes_per_s, "bit/s"), pair,
                            format_number(ratio < 1 ? 1 / ratio : ratio), ratio < 1 ? "below" : "above", kind),
                "a slip of the unit or of the decimal point looks like this, and one such link can decide the plan",
                "Check the value; keep it if it is meant");
        if (latency > 0 && all[i].latency_s > outlier_factor * latency)
            check.warning(
                pointer_of(i, "/latency_s"),
                fmt::format("{} {} is {} times the median of the links between {}", format_seconds(all[i].latency_s),
                            pair, format_number(all[i].latency_s / latency), kind),
                "milliseconds taken for seconds look like this", "Check the value; keep it if it is meant");
    }
}

}  // namespace

void check_links(Checker& check) {
    const auto& links = check.experiment.topology.links;
    Directions directions(check);
    std::vector<std::size_t> between_regions, between_nodes;
    const bool ids_sound = check.ids_sound();
    for (std::size_t i = 0; i < links.size() && !check.full(); ++i) {
        if (!ends_exist(check, i, ids_sound)) continue;
        check_pair(check, i);
        directions.add(i);
        const bool values =
            check.sound(pointer_of(i, "/bandwidth_bytes_per_s")) && check.sound(pointer_of(i, "/latency_s"));
        if (!values || links[i].from == links[i].to || links[i].bandwidth_bytes_per_s <= 0) continue;
        if (check.index.is_region(links[i].from) && check.index.is_region(links[i].to)) between_regions.push_back(i);
        if (check.index.is_node(links[i].from) && check.index.is_node(links[i].to)) between_nodes.push_back(i);
    }
    check_outliers(check, between_regions, "regions");
    check_outliers(check, between_nodes, "nodes");
}

}  // namespace skippipe
