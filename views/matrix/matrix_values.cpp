// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/matrix_values.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <unordered_map>

#include <QCollator>
#include <QObject>

namespace skippipe {
namespace {

constexpr double least_factor = 16, least_spreads = 8;

std::optional<std::size_t> index_of(const Topology& t, const std::string& id) {
    for (std::size_t i = 0; i < t.nodes.size(); ++i)
        if (t.nodes[i].id == id) return i;
    return {};
}

template <class Links>
auto* link_between(Links& links, const std::string& from, const std::string& to) {
    decltype(&links.front()) back = nullptr;
    for (auto& link : links) {
        if (link.from == from && link.to == to) return &link;
        if (back == nullptr && link.both_ways && link.from == to && link.to == from) back = &link;
    }
    return back;
}

const char *const uplink = "Uplink", *const downlink = "Downlink";

/// Of a node's connection, by its column.
template <class AnyNode>
auto& limit_of(AnyNode& node, const MatrixEnd& column) {
    return column.id == uplink ? node.up_bytes_per_s : node.down_bytes_per_s;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// As people count: region-2 before region-10.
bool comes_before(const std::string& a, const std::string& b) {
    static const QCollator order = [] {
        QCollator by_number{QLocale(QLocale::English)};  // C has no such mode
        by_number.setNumericMode(true);
        return by_number;
    }();
    return order.compare(QString::fromStdString(a), QString::fromStdString(b)) < 0;
}

}  // namespace

std::vector<MatrixEnd> matrix_ends(const Experiment& experiment) {
    const Topology& t = experiment.topology;
    std::set<std::string> regions, linked;
    for (const auto& region : t.regions) regions.insert(region.id);
    for (const auto& link : t.links) linked.insert({link.from, link.to});
    const bool by_region = t.hop_matrix_s.empty() && !t.regions.empty() &&
                           (t.links.empty() || std::any_of(linked.begin(), linked.end(),
                                                           [&](const auto& id) { return regions.count(id); }));
    std::vector<std::pair<std::string, MatrixEnd>> ends;  // by region
    if (by_region)
        for (const auto& region : t.regions) ends.push_back({region.id, {region.id, true}});
    for (const auto& node : t.nodes)
        if (!by_region || node.region.empty() || linked.contains(node.id))
            ends.push_back({node.region, {node.id, false, node.region}});
    std::stable_sort(ends.begin(), ends.end(),
                     [](const auto& a, const auto& b) { return comes_before(a.first, b.first); });
    std::vector<MatrixEnd> sorted;
    for (auto& [region, end] : ends) sorted.push_back(std::move(end));
    return sorted;
}

std::vector<MatrixEnd> matrix_rows(const Experiment& experiment, MatrixShows shows) {
    if (shows != MatrixShows::connection) return matrix_ends(experiment);
    std::vector<const Node*> nodes;
    nodes.reserve(experiment.topology.nodes.size());
    for (const auto& node : experiment.topology.nodes) nodes.push_back(&node);
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const Node* a, const Node* b) { return comes_before(a->region, b->region); });
    std::vector<MatrixEnd> rows;
    rows.reserve(nodes.size());
    for (const auto* node : nodes) rows.push_back({node->id, false, node->region});
    return rows;
}

std::vector<MatrixEnd> matrix_columns(const Experiment& experiment, MatrixShows shows) {
    if (shows != MatrixShows::connection) return matrix_ends(experiment);
    return {{uplink, false}, {downlink, false}};
}

namespace {

std::unordered_map<std::string_view, std::size_t> places_of(const std::vector<MatrixEnd>& ends) {
    std::unordered_map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < ends.size(); ++i) places.emplace(ends[i].id, i);
    return places;
}

/// A link's own direction goes before another's way back; the first of several holds.
void put_links(std::vector<double>& values, const Topology& t, const std::vector<MatrixEnd>& ends, MatrixShows shows) {
    const auto places = places_of(ends);
    const auto value_of = [&](const Link& link) {
        return shows == MatrixShows::latency ? link.latency_s : link.bandwidth_bytes_per_s;
    };
    const auto put = [&](const std::string& from, const std::string& to, double value) {
        const auto row = places.find(from), column = places.find(to);
        if (row == places.end() || column == places.end()) return;
        if (double& cell = values[row->second * ends.size() + column->second]; cell < 0) cell = value;
    };
    for (const auto& link : t.links) put(link.from, link.to, value_of(link));
    for (const auto& link : t.links)
        if (link.both_ways) put(link.to, link.from, value_of(link));
    const double within =
        shows == MatrixShows::latency ? t.within_region.latency_s : t.within_region.bandwidth_bytes_per_s;
    for (const auto& end : ends)
        if (end.is_region) put(end.id, end.id, within);
}

}  // namespace

std::vector<double> matrix_values(const Experiment& experiment, const std::vector<MatrixEnd>& rows,
                                  const std::vector<MatrixEnd>& columns, MatrixShows shows) {
    const Topology& t = experiment.topology;
    std::vector<double> values(rows.size() * columns.size(), -1);
    if (shows == MatrixShows::latency || shows == MatrixShows::bandwidth) {
        put_links(values, t, rows, shows);
        return values;
    }
    std::unordered_map<std::string_view, std::size_t> nodes;
    for (std::size_t i = 0; i < t.nodes.size(); ++i) nodes.emplace(t.nodes[i].id, i);
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::size_t c = 0; c < columns.size(); ++c) {
            double& cell = values[r * columns.size() + c];
            const auto a = nodes.find(rows[r].id);
            if (a == nodes.end()) continue;
            if (shows == MatrixShows::connection) {
                cell = limit_of(t.nodes[a->second], columns[c]).value_or(-1);
                continue;
            }
            const auto b = nodes.find(columns[c].id);
            if (b == nodes.end() || a == b || a->second >= t.hop_matrix_s.size()) continue;
            const auto& hops = t.hop_matrix_s[a->second];
            if (b->second < hops.size()) cell = hops[b->second];
        }
    return values;
}

std::vector<double> inherited_values(const Experiment& experiment, const std::vector<MatrixEnd>& rows,
                                     const std::vector<MatrixEnd>& columns, MatrixShows shows) {
    std::vector<double> values(rows.size() * columns.size(), -1);
    if (shows != MatrixShows::latency && shows != MatrixShows::bandwidth) return values;
    const Topology& t = experiment.topology;
    std::vector<MatrixEnd> regions;
    for (const auto& region : t.regions) regions.push_back({region.id, true});
    std::vector<double> between(regions.size() * regions.size(), -1);
    put_links(between, t, regions, shows);
    const auto own = matrix_values(experiment, rows, columns, shows);
    const auto places = places_of(regions);
    const auto region_of = [&](const MatrixEnd& end) {
        const auto found = end.is_region ? places.end() : places.find(end.region);
        return found == places.end() ? regions.size() : found->second;
    };
    std::vector<std::size_t> across;
    for (const auto& end : columns) across.push_back(region_of(end));
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const std::size_t from = region_of(rows[r]);
        for (std::size_t c = 0; from < regions.size() && c < columns.size(); ++c)
            if (const std::size_t cell = r * columns.size() + c;
                own[cell] < 0 && across[c] < regions.size() && !(rows[r] == columns[c]))
                values[cell] = between[from * regions.size() + across[c]];
    }
    return values;
}

namespace {

bool has_region(const Topology& t, const std::string& id) {
    return std::any_of(t.regions.begin(), t.regions.end(), [&](const Region& region) { return region.id == id; });
}

/// What a pair of nodes without a link of its own has of its regions: `inherited_values` of one cell. Many are made at
/// once, so one link is looked up.
Link inherited_link(const Topology& t, const MatrixEnd& from, const MatrixEnd& to) {
    Link link{from.id, to.id, 0.05, 1.25e8, true};
    if (from.is_region || to.is_region || !has_region(t, from.region) || !has_region(t, to.region)) return link;
    const auto take = [&link](double latency_s, double bandwidth_bytes_per_s) {
        if (latency_s >= 0) link.latency_s = latency_s;
        if (bandwidth_bytes_per_s >= 0) link.bandwidth_bytes_per_s = bandwidth_bytes_per_s;
    };
    if (const Link* between = link_between(t.links, from.region, to.region))
        take(between->latency_s, between->bandwidth_bytes_per_s);
    else if (from.region == to.region)
        take(t.within_region.latency_s, t.within_region.bandwidth_bytes_per_s);
    return link;
}

/// Limits are those of the document's own fields.
struct TakeInfo {
    std::string_view key;
    Info found;
    template <class Value>
    void operator()(const char* name, const Value&, const Info& info) {
        if (key == name) found = info;
    }
};

template <class Part>
Info info_of(const Part& part, const char* key) {
    TakeInfo take{key, {}};
    describe(take, part);
    return take.found;
}

}  // namespace

Info node_info(const char* key) { return info_of(Node{}, key); }

Info matrix_info(MatrixShows shows) {
    switch (shows) {
        case MatrixShows::latency: return info_of(Link{}, "latency_s");
        case MatrixShows::bandwidth: return info_of(Link{}, "bandwidth_bytes_per_s");
        case MatrixShows::hop: return info_of(Topology{}, "hop_matrix_s");
        case MatrixShows::connection: return node_info("up_bytes_per_s");
    }
    return {};
}

QString set_matrix_value(Experiment& experiment, const MatrixEnd& from, const MatrixEnd& to, MatrixShows shows,
                         std::optional<double> value) {
    Topology& t = experiment.topology;
    if (shows == MatrixShows::connection) {
        const auto node = index_of(t, from.id);
        if (!node) return QObject::tr("There is no node %1").arg(QString::fromStdString(from.id));
        limit_of(t.nodes[*node], to) = value;
        return {};
    }
    if (shows == MatrixShows::hop) {
        const auto a = index_of(t, from.id), b = index_of(t, to.id);
        if (!a || !b || a == b || *a >= t.hop_matrix_s.size() || *b >= t.hop_matrix_s[*a].size())
            return QObject::tr("There is no hop from a node to itself");
        if (!value) return QObject::tr("A matrix of hops has a value for each pair");
        t.hop_matrix_s[*a][*b] = *value;
        return {};
    }
    if (from == to && !from.is_region) return QObject::tr("A node is not linked to itself");
    if (from.is_region != to.is_region)
        return QObject::tr("%1 and %2: a link joins two nodes or two regions")
            .arg(QString::fromStdString(from.id), QString::fromStdString(to.id));
    Link* link = link_between(t.links, from.id, to.id);
    if (!value) {
        if (link != nullptr) t.links.erase(t.links.begin() + (link - t.links.data()));
        return {};
    }
    if (link == nullptr) {
        Link made = inherited_link(t, from, to);
        if (from == to)
            made.latency_s = t.within_region.latency_s,
            made.bandwidth_bytes_per_s = t.within_region.bandwidth_bytes_per_s;
        t.links.push_back(made);
        link = &t.links.back();
    }
    (shows == MatrixShows::latency ? link->latency_s : link->bandwidth_bytes_per_s) = *value;
    return {};
}

std::vector<std::size_t> outliers(const std::vector<double>& values) {
    std::vector<double> logs;
    for (const double value : values)
        if (value > 0) logs.push_back(std::log(value));
    if (logs.size() < 6) return {};
    const double middle = median(logs);
    for (auto& log : logs) log = std::abs(log - middle);
    const double far = std::max(std::log(least_factor), least_spreads * median(logs));
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] > 0 && std::abs(std::log(values[i]) - middle) >= far) found.push_back(i);
    return found;
}

}  // namespace skippipe
