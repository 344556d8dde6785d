// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/layouts.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

#include "views/topology/world_map.h"

namespace skippipe {
namespace {

constexpr std::size_t most_settled = 200;
constexpr double spacing = 80;          // of nodes beside each other
constexpr double block_gap = 110;       // between the outer nodes of two regions: both areas and a name
constexpr double least_uncovered = 36;  // of nodes: nearer, one covers the other's stage
constexpr std::size_t least_crowd = 6, most_on_circle = 24;
constexpr double screen_aspect = 1.6;  // about as wide for its height a screen is
constexpr double half_of_map = 180 * map_scale, below_map = 62 * map_scale;

/// Nodes of one region, as a block of rows about its middle.
struct LaidBlock {
    std::vector<std::size_t> nodes;
    Point middle;
    std::size_t columns = 1, rows = 1;

    double half_width() const { return (static_cast<double>(columns - 1) * spacing + block_gap) / 2; }
    double half_height() const { return (static_cast<double>(rows - 1) * spacing + block_gap) / 2; }
    Point place(std::size_t i) const {
        const auto row = i / columns, in_row = std::min(columns, nodes.size() - row * columns);
        return {
            std::round(middle.x + (static_cast<double>(i % columns) - static_cast<double>(in_row - 1) / 2) * spacing),
            std::round(middle.y + (static_cast<double>(row) - static_cast<double>(rows - 1) / 2) * spacing)};
    }
};

LaidBlock block_of(std::vector<std::size_t> nodes, Point middle) {
    LaidBlock block{std::move(nodes), middle, 1, 1};
    block.columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(block.nodes.size()) * 1.2)));
    block.columns = std::max<std::size_t>(block.columns, 1);
    block.rows = std::max<std::size_t>((block.nodes.size() + block.columns - 1) / block.columns, 1);
    return block;
}

/// A block a region in the order of the document, then one of the nodes that stand in none.
std::vector<LaidBlock> blocks_of(const Experiment& e) {
    std::map<std::string, std::vector<std::size_t>> by_region;
    for (std::size_t i = 0; i < e.topology.nodes.size(); ++i) by_region[e.topology.nodes[i].region].push_back(i);
    std::vector<LaidBlock> blocks;
    double right = 0, top = 0;
    for (const auto& region : e.topology.regions) {
        const auto it = by_region.find(region.id);
        blocks.push_back(
            block_of(it == by_region.end() ? std::vector<std::size_t>{} : it->second, {region.x, region.y}));
        if (it != by_region.end()) by_region.erase(it);
        right = std::max(right, region.x), top = std::min(top, region.y);
    }
    for (auto& [region, nodes] : by_region) blocks.push_back(block_of(std::move(nodes), {right + 200, top}));
    return blocks;
}

bool stand_apart(const std::vector<LaidBlock>& blocks) {
    std::vector<std::pair<double, double>> places;
    for (const auto& block : blocks) places.emplace_back(block.middle.x, block.middle.y);
    std::sort(places.begin(), places.end());
    return std::adjacent_find(places.begin(), places.end()) == places.end();
}

/// Rows from left to right, about as wide as a screen is.
void set_in_rows(std::vector<LaidBlock>& blocks) {
    double area = 0;
    for (const auto& block : blocks) area += 4 * block.half_width() * block.half_height();
    const double width = std::max(1.2 * std::sqrt(area * screen_aspect), 1.0);
    double x = 0, y = 0, height = 0;
    for (auto& block : blocks) {
        if (x > 0 && x + 2 * block.half_width() > width) x = 0, y += height, height = 0;
        block.middle = {x + block.half_width(), y + block.half_height()};
        x += 2 * block.half_width();
        height = std::max(height, 2 * block.half_height());
    }
}

/// Moves blocks that cover each other apart along the shorter way, rather to the sides than up and down, until none
/// does; many that stand on each other end in rows instead.
void push_apart(std::vector<LaidBlock>& blocks) {
    for (int round = 0; round < 400; ++round) {
        bool moved = false;
        for (std::size_t a = 0; a < blocks.size(); ++a)
            for (std::size_t b = a + 1; b < blocks.size(); ++b) {
                Point &at = blocks[a].middle, &bt = blocks[b].middle;
                const double dx = bt.x - at.x, dy = bt.y - at.y;
                const double over_x = blocks[a].half_width() + blocks[b].half_width() - std::abs(dx);
                const double over_y = blocks[a].half_height() + blocks[b].half_height() - std::abs(dy);
                if (over_x <= 1e-6 || over_y <= 1e-6) continue;
                moved = true;
                const double half_x = (over_x / 2 + 0.5) * (dx < 0 ? -1 : 1);
                const double half_y = (over_y / 2 + 0.5) * (dy < 0 ? -1 : 1);
                if (over_x < screen_aspect * over_y)
                    at.x -= half_x, bt.x += half_x;
                else
                    at.y -= half_y, bt.y += half_y;
            }
        if (!moved) return;
    }
    set_in_rows(blocks);
}

bool cover(const LaidBlock& a, const LaidBlock& b) {
    return std::abs(a.middle.x - b.middle.x) < a.half_width() + b.half_width() &&
           std::abs(a.middle.y - b.middle.y) < a.half_height() + b.half_height();
}

/// One after the other to the nearest place that none before it covers: neighbours stay round each other. Many are
/// pushed apart instead, which takes less time.
void settle(std::vector<LaidBlock>& blocks) {
    if (blocks.size() > most_settled) return push_apart(blocks);
    for (auto block = blocks.begin(); block != blocks.end(); ++block) {
        const Point wanted = block->middle;
        const auto covered = [&] {
            return std::any_of(blocks.begin(), block, [&](const LaidBlock& before) { return cover(before, *block); });
        };
        constexpr double step = 8;
        constexpr int directions = 24;
        for (int i = 0; covered(); ++i) {
            const double away = step * (1 + i / directions), angle = 2 * std::numbers::pi * i / directions;
            block->middle = {wanted.x + away * std::cos(angle), wanted.y + away * std::sin(angle)};
        }
    }
}

}  // namespace

std::vector<Point> circle_layout(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    std::vector<std::size_t> order(nodes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return nodes[a].region < nodes[b].region; });
    const double radius = std::max(120.0, spacing * static_cast<double>(nodes.size()) / (2 * std::numbers::pi));
    std::vector<Point> places(nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double angle =
            2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(order.size()) - std::numbers::pi / 2;
        places[order[i]] = {std::round(radius * std::cos(angle)), std::round(radius * std::sin(angle))};
    }
    return places;
}

std::vector<Point> tidy_layout(const Experiment& experiment) {
    const auto& t = experiment.topology;
    const bool in_regions =
        std::any_of(t.nodes.begin(), t.nodes.end(), [](const Node& n) { return !n.region.empty(); });
    if (!in_regions && t.nodes.size() <= most_on_circle) return circle_layout(experiment);
    auto blocks = blocks_of(experiment);
    stand_apart(blocks) ? push_apart(blocks) : set_in_rows(blocks);
    std::vector<Point> places(t.nodes.size());
    for (const auto& block : blocks)
        for (std::size_t i = 0; i < block.nodes.size(); ++i) places[block.nodes[i]] = block.place(i);
    return places;
}

MapLayout map_layout(const Experiment& experiment,
                     const std::function<std::optional<Point>(const std::string&)>& place_of) {
    const auto& t = experiment.topology;
    MapLayout layout{std::vector<Point>(t.nodes.size()), {}};
    std::vector<LaidBlock> blocks;
    double next_below = -half_of_map;
    const auto add = [&](const std::string& name, std::vector<std::size_t> nodes) {
        auto block = block_of(std::move(nodes), {});
        if (const auto place = place_of(name)) {
            block.middle = *place;
        } else {
            layout.unknown.push_back(name);
            block.middle = {next_below + block.half_width(), below_map + block.half_height()};
            next_below += 2 * block.half_width();
        }
        blocks.push_back(std::move(block));
    };
    std::map<std::string, std::vector<std::size_t>> by_region;
    for (std::size_t i = 0; i < t.nodes.size(); ++i) {
        if (t.nodes[i].region.empty())
            add(t.nodes[i].id, {i});
        else
            by_region[t.nodes[i].region].push_back(i);
    }
    for (auto& [region, nodes] : by_region) add(region, std::move(nodes));
    settle(blocks);
    for (const auto& block : blocks)
        for (std::size_t i = 0; i < block.nodes.size(); ++i) layout.places[block.nodes[i]] = block.place(i);
    return layout;
}

std::vector<Point> stage_layout(const std::vector<int>& stages) {
    std::map<int, int> used;
    int deepest = 0;
    std::vector<Point> places(stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i)
        if (stages[i] >= 0) {
            places[i] = {2 * spacing * stages[i], spacing * used[stages[i]]++};
            deepest = std::max(deepest, used[stages[i]]);
        }
    for (std::size_t i = 0; i < stages.size(); ++i)
        if (stages[i] < 0) places[i] = {spacing * used[-1]++, spacing * (deepest + 1)};
    return places;
}

std::vector<double> nearest_distances(const std::vector<Point>& places) {
    std::vector<std::size_t> order(places.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return places[a].x < places[b].x; });
    std::vector<double> nearest(places.size(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Point& at = places[order[i]];
        double& least = nearest[order[i]];
        // To both sides, until they are further away already from left to right.
        const auto is_beyond = [&](std::size_t k) {
            const Point& other = places[order[k]];
            if (std::abs(other.x - at.x) > least) return true;
            least = std::min(least, std::hypot(other.x - at.x, other.y - at.y));
            return false;
        };
        for (std::size_t k = i + 1; k < order.size() && !is_beyond(k); ++k) {}
        for (std::size_t k = i; k > 0 && !is_beyond(k - 1); --k) {}
    }
    return nearest;
}

namespace {

/// Magnifies places that are on the whole too near for nodes, as degrees are, until most stand apart.
void magnify_crowded(std::vector<Point>& places, const std::vector<double>& nearest) {
    std::vector<double> distances;
    std::copy_if(nearest.begin(), nearest.end(), std::back_inserter(distances), [](double d) { return d > 0; });
    if (distances.empty()) return;
    const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
    std::nth_element(distances.begin(), middle, distances.end());
    if (*middle >= least_uncovered || !std::isfinite(*middle)) return;
    double left = std::numeric_limits<double>::infinity(), right = -left, top = left, bottom = -left;
    for (const Point p : places)
        left = std::min(left, p.x), right = std::max(right, p.x), top = std::min(top, p.y),
        bottom = std::max(bottom, p.y);
    // A few that are far from the rest would leave it a point: as wide as all need in a row is enough.
    const double widest = spacing * static_cast<double>(places.size()), wide = std::max(right - left, bottom - top);
    const double factor = std::min(least_distance / *middle, std::max(1.0, widest / wide));
    const Point centre{(left + right) / 2, (top + bottom) / 2};
    for (Point& p : places)
        p = {std::round(centre.x + (p.x - centre.x) * factor), std::round(centre.y + (p.y - centre.y) * factor)};
}

}  // namespace

void spread_crowded(std::vector<Point>& places, bool may_magnify) {
    const auto nearest = nearest_distances(places);
    const auto crowded =
        std::count_if(nearest.begin(), nearest.end(), [](double distance) { return distance < least_uncovered; });
    // A few were put there by somebody, who would see them jump.
    if (places.size() < least_crowd || 2 * static_cast<std::size_t>(crowded) < places.size()) return;
    if (may_magnify) magnify_crowded(places, nearest);
    move_apart(places, least_uncovered);
}

std::vector<Point> node_places(const Experiment& experiment) {
    const auto& nodes = experiment.topology.nodes;
    const bool one_spot = nodes.size() > 1 && std::all_of(nodes.begin(), nodes.end(), [&](const Node& n) {
                              return n.x == nodes.front().x && n.y == nodes.front().y;
                          });
    if (one_spot) return tidy_layout(experiment);
    std::vector<Point> places;
    places.reserve(nodes.size());
    for (const auto& node : nodes) places.push_back({node.x, node.y});
    spread_crowded(places, !experiment.topology.on_map);
    return places;
}

void keep_places(Experiment& experiment) {
    const auto places = node_places(experiment);
    for (std::size_t i = 0; i < places.size(); ++i)
        experiment.topology.nodes[i].x = places[i].x, experiment.topology.nodes[i].y = places[i].y;
}

void move_apart(std::vector<Point>& places, double least) {
    constexpr double step = 8;
    constexpr int directions = 24;
    std::vector<Point> taken;
    std::vector<std::size_t> movers;
    const auto is_taken = [&](Point at) {
        return std::any_of(taken.begin(), taken.end(),
                           [&](Point other) { return std::hypot(other.x - at.x, other.y - at.y) < least; });
    };
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (is_taken(places[i]))
            movers.push_back(i);
        else
            taken.push_back(places[i]);
    }
    for (const std::size_t mover : movers) {
        const Point wanted = places[mover];
        for (int i = 0; is_taken(places[mover]); ++i) {
            const double away = step * (1 + i / directions), angle = 2 * std::numbers::pi * i / directions;
            places[mover] = {wanted.x + away * std::cos(angle), wanted.y + away * std::sin(angle)};
        }
        taken.push_back(places[mover]);
    }
}

void align(std::vector<Point>& places, Align to) {
    if (places.empty()) return;
    const bool across = to == Align::left || to == Align::centre || to == Align::right;
    const auto value = [&](Point& p) -> double& { return across ? p.x : p.y; };
    double least = value(places.front()), most = least;
    for (auto& p : places) least = std::min(least, value(p)), most = std::max(most, value(p));
    const double line = to == Align::left || to == Align::top       ? least
                        : to == Align::right || to == Align::bottom ? most
                                                                    : std::round((least + most) / 2);
    for (auto& p : places) value(p) = line;
}

void distribute(std::vector<Point>& places, bool across) {
    if (places.size() < 3) return;
    const auto value = [&](Point& p) -> double& { return across ? p.x : p.y; };
    std::vector<std::size_t> order(places.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return value(places[a]) < value(places[b]); });
    const double first = value(places[order.front()]), last = value(places[order.back()]);
    for (std::size_t i = 0; i < order.size(); ++i)
        value(places[order[i]]) =
            std::round(first + (last - first) * static_cast<double>(i) / static_cast<double>(order.size() - 1));
}

}  // namespace skippipe
