// SPDX-License-Identifier: GPL-3.0-or-later
// Where things stand on the canvas, as functions on the experiment: no widget.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/document.h"
#include "views/topology/edits.h"

namespace skippipe {

/// Places nearer than this lie on each other, names included.
inline constexpr double least_distance = 60;

/// Where each node is drawn: as the document says, or laid out where all stand on one spot; where half would cover each
/// other they are spread. The document stays as it is until something is moved or added.
std::vector<Point> node_places(const Experiment& experiment);

/// From each place to the nearest other one; infinite where there is none.
std::vector<double> nearest_distances(const std::vector<Point>& places);

/// Where half of six nodes or more would cover each other: moves these places apart, the first of them stays; where
/// most would, all are magnified first, unless they stand on a map.
void spread_crowded(std::vector<Point>& places, bool may_magnify);

/// Puts into the document where nodes are seen: before one is added beside those that the canvas laid out.
void keep_places(Experiment& experiment);

/// What `Tidy up` gives: nodes of one region side by side, regions where they stand on the canvas, moved apart until
/// none covers another, or in rows where they have no places; without regions a circle, or rows where there are many.
std::vector<Point> tidy_layout(const Experiment& experiment);

/// A circle, in the order of the list, nodes of one region side by side.
std::vector<Point> circle_layout(const Experiment& experiment);
/// A column a stage, from left to right; nodes of no stage below. `stages`: of each node, -1: none.
std::vector<Point> stage_layout(const std::vector<int>& stages);

/// Places on the world map, and what it does not know.
struct MapLayout {
    std::vector<Point> places;         ///< of all nodes
    std::vector<std::string> unknown;  ///< regions and nodes outside regions, below the map
};
/// Nodes of one region side by side where `place_of` says that the region is, else below; moved apart until none covers
/// another. A node outside regions stands where its own name is.
MapLayout map_layout(const Experiment& experiment,
                     const std::function<std::optional<Point>(const std::string&)>& place_of);

/// Moves places that are nearer than `least` to one before them to the nearest spot that is not; the others stay.
void move_apart(std::vector<Point>& places, double least);

enum class Align { left, centre, right, top, middle, bottom };
/// The same places in one line.
void align(std::vector<Point>& places, Align to);
/// The same places at equal distances between the outermost two, in their order; fewer than three stay.
void distribute(std::vector<Point>& places, bool across);

}  // namespace skippipe
