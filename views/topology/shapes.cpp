// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/shapes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/rng.h"
#include "views/topology/edits.h"
#include "views/topology/layouts.h"

namespace skippipe {
namespace {

constexpr double bits = 1.0 / 8;  // bytes a bit
constexpr int nodes_a_region = 5;

Experiment empty_experiment(const char* name, int nodes) {
    auto e = new_document();
    e.name = std::string(name) + ", " + std::to_string(nodes) + " nodes";
    e.pipeline.stages = nodes >= 12 ? 6 : nodes >= 6 ? 3 : 2;
    return e;
}

void ring(Experiment& e, int nodes) {
    for (int i = 0; i < nodes; ++i) add_node(e, {});
    for (int a = 0; a < nodes; ++a)
        for (int b = a + 1; b < nodes; ++b) {
            const int steps = std::min(b - a, nodes - (b - a));
            e.topology.links.push_back({e.topology.nodes[static_cast<std::size_t>(a)].id,
                                        e.topology.nodes[static_cast<std::size_t>(b)].id, 0.010 * steps, 1e9 * bits});
        }
    const auto places = circle_layout(e);
    for (std::size_t i = 0; i < places.size(); ++i)
        e.topology.nodes[i].x = places[i].x, e.topology.nodes[i].y = places[i].y;
}

void star(Experiment& e, int nodes) {
    e.topology.regions.push_back({"homes"});
    e.topology.within_region = {0.040, 10e9 * bits};
    for (int i = 0; i < nodes; ++i) {
        add_node(e, {}, "homes");
        e.topology.nodes.back().up_bytes_per_s = 50e6 * bits;
        e.topology.nodes.back().down_bytes_per_s = 250e6 * bits;
    }
    keep_places(e);
}

void two_data_centres(Experiment& e, int nodes) {
    e.topology.regions = {{"west", -300, 0}, {"east", 300, 0}};
    e.topology.within_region = {0.0005, 10e9 * bits};
    for (int i = 0; i < nodes; ++i) add_node(e, {}, i < (nodes + 1) / 2 ? "west" : "east");
    e.topology.links.push_back({"west", "east", 0.060, 1e9 * bits});
    keep_places(e);
}

void scattered(Experiment& e, int nodes, std::uint64_t seed) {
    Rng rng(seed);
    const int regions = std::max(2, (nodes + nodes_a_region - 1) / nodes_a_region);
    const double side = 400 * std::sqrt(static_cast<double>(regions));
    for (int r = 0; r < regions; ++r)
        e.topology.regions.push_back({"region-" + std::to_string(r + 1), std::round(side * rng.uniform()),
                                      std::round(0.6 * side * rng.uniform())});
    for (int i = 0; i < nodes; ++i) {
        add_node(e, {}, e.topology.regions[static_cast<std::size_t>(i % regions)].id);
        e.topology.nodes.back().seconds_per_sample_per_block =
            Node{}.seconds_per_sample_per_block * std::pow(4, rng.uniform() - 0.5);
    }
    for (std::size_t a = 0; a < e.topology.regions.size(); ++a)
        for (std::size_t b = a + 1; b < e.topology.regions.size(); ++b) {
            const Region &from = e.topology.regions[a], &to = e.topology.regions[b];
            const double latency_s = 0.005 + 0.0001 * std::hypot(from.x - to.x, from.y - to.y);
            const double bandwidth = 50e6 * bits * std::pow(20, rng.uniform());
            e.topology.links.push_back(
                {from.id, to.id, std::round(latency_s * 1e4) / 1e4, std::round(bandwidth / 1e4) * 1e4});
        }
    keep_places(e);
}

}  // namespace

Experiment new_document() {
    Experiment e;
    e.training.checkpoint_every = 20;
    e.costs.all_reduce = AllReduceRule::planned;
    e.recovery.move_nodes_s = 60;
    return e;
}

Experiment make_shape(Shape shape, int nodes, std::uint64_t seed) {
    const int count = std::clamp(nodes, least_shape_nodes, most_nodes(shape));
    constexpr const char* names[] = {"Ring", "Star", "Two data centres", "Random"};
    Experiment e = empty_experiment(names[static_cast<int>(shape)], count);
    switch (shape) {
        case Shape::ring: ring(e, count); break;
        case Shape::star: star(e, count); break;
        case Shape::two_data_centres: two_data_centres(e, count); break;
        case Shape::random: scattered(e, count, seed); break;
    }
    return e;
}

}  // namespace skippipe
