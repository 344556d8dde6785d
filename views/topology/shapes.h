// SPDX-License-Identifier: GPL-3.0-or-later
// Networks to start from that are counted out rather than read from a file.
#pragma once
#include <cstdint>

#include "core/experiment/document.h"

namespace skippipe {

enum class Shape { ring, star, two_data_centres, random };
inline constexpr int least_shape_nodes = 4;

/// Most nodes of a shape: a ring has a link a pair.
constexpr int most_nodes(Shape shape) { return shape == Shape::ring ? 40 : 500; }

/// What every new document begins with, as the bundled ones do.
Experiment new_document();

/// A network of so many nodes (taken into least_shape_nodes..most_nodes), with stages that fit it:
/// - ring: each pair linked, 10 ms a step round the ring, 1 Gbit/s;
/// - star: home connections of 50 Mbit/s up and 250 Mbit/s down to one hub, 40 ms between any two;
/// - two data centres: halves of 10 Gbit/s within, 60 ms and 1 Gbit/s between;
/// - random: regions of about five at random places, linked pairwise with 5 ms and 10 ms each 100 points of distance,
///   and 50 Mbit/s to 1 Gbit/s; nodes of 0.5 to 2 times the usual speed. The same seed gives the same network.
Experiment make_shape(Shape shape, int nodes, std::uint64_t seed);

}  // namespace skippipe
