// SPDX-License-Identifier: GPL-3.0-or-later
// The world as a ground for networks: longitude to the right, latitude up, both to one scale.
#pragma once
#include <optional>
#include <string>

#include <QPainterPath>

#include "views/topology/edits.h"

namespace skippipe {

/// Units of the canvas a degree.
inline constexpr double map_scale = 6;

/// Outlines of the land (Natural Earth, public domain), in units of the canvas.
const QPainterPath& land_outlines();

/// Where a name stands on the map: a city, country, state or region of a large cloud, also with a number, a zone's
/// letter or other words beside it ("us-east-1b", "london-2", "lab zurich"). Nothing: not known.
std::optional<Point> place_on_map(const std::string& name);

}  // namespace skippipe
