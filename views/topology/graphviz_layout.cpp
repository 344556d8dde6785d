// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/graphviz_layout.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include <graphviz/gvc.h>

#include "views/topology/layouts.h"

namespace skippipe {
namespace {

constexpr std::size_t most_for_neato = 80;  ///< its stress takes time with the square of the nodes
constexpr double region_length = 0.4, most_length = 4;
constexpr double apart = 1.2;        ///< times the least distance, which rounding takes nothing of
constexpr double most_blown_up = 3;  ///< by two that are nearer to each other than others are

/// Graphviz' interface takes texts that it does not change as char*.
char* text(const char* constant) {
    return const_cast<char*>(constant);
}  // NOLINT(cppcoreguidelines-pro-type-const-cast)

/// Of an edge, in Graphviz' inches: one more for each ten times 1 ms.
double length_of(double latency_s) {
    return std::clamp(1 + std::log10(std::max(latency_s, 1e-4) / 1e-3), 0.5, most_length);
}

class Graph {
public:
    Graph() : graph_(agopen(text("network"), Agstrictundirected, nullptr)) {
        agattr(graph_, AGEDGE, text("len"), text("1"));
        agattr(graph_, AGNODE, text("label"), text(""));
        agattr(graph_, AGRAPH, text("overlap"), text("true"));
    }
    ~Graph() { agclose(graph_); }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;

    Agnode_t* vertex(const std::string& name) { return agnode(graph_, text(name.c_str()), 1); }
    void edge(Agnode_t* a, Agnode_t* b, double length) {
        if (auto* drawn = agedge(graph_, a, b, nullptr, 1))
            agset(drawn, text("len"), text(std::to_string(length).c_str()));
    }
    /// Places of these vertices; empty: it cannot.
    std::vector<Point> lay_out(const std::vector<Agnode_t*>& vertices) {
        const std::unique_ptr<GVC_t, int (*)(GVC_t*)> context(gvContext(), gvFreeContext);
        if (gvLayout(context.get(), graph_, vertices.size() > most_for_neato ? "sfdp" : "neato") != 0) return {};
        std::vector<Point> places;
        for (auto* vertex : vertices) places.push_back({ND_coord(vertex).x, -ND_coord(vertex).y});
        gvFreeLayout(context.get(), graph_);
        return places;
    }

private:
    Agraph_t* graph_;
};

/// So that nothing lies on anything else, whatever Graphviz' units. Two that it puts on one spot do not blow up all
/// the others: they are moved apart afterwards.
double scale_of(const std::vector<Point>& places) {
    if (places.size() < 2) return 1;
    auto nearest = nearest_distances(places);
    std::sort(nearest.begin(), nearest.end());
    const double usual = nearest[nearest.size() / 2], least = std::max(nearest.front(), usual / most_blown_up);
    return least > 0 ? apart * least_distance / least : 1;
}

}  // namespace

std::vector<Point> graphviz_layout(const Topology& t) {
    Graph graph;
    std::map<std::string, Agnode_t*> ends;
    std::vector<Agnode_t*> vertices;
    for (const auto& region : t.regions) ends[region.id] = graph.vertex("region " + region.id);
    for (const auto& node : t.nodes) {
        vertices.push_back(ends[node.id] = graph.vertex("node " + node.id));
        if (const auto hub = ends.find(node.region); hub != ends.end())
            graph.edge(hub->second, vertices.back(), region_length);
    }
    for (const auto& link : t.links) {
        const auto from = ends.find(link.from), to = ends.find(link.to);
        if (from != ends.end() && to != ends.end()) graph.edge(from->second, to->second, length_of(link.latency_s));
    }
    auto places = graph.lay_out(vertices);
    const double scale = scale_of(places);
    for (auto& place : places) place = {scale * place.x, scale * place.y};
    move_apart(places, apart * least_distance);
    for (auto& place : places) place = {std::round(place.x), std::round(place.y)};
    return places;
}

}  // namespace skippipe
