// SPDX-License-Identifier: GPL-3.0-or-later
// Marks and measures that several items of the canvas share.
#pragma once
#include <QPainter>

namespace skippipe {

inline constexpr double badge_radius = 7;
inline constexpr double least_name_zoom = 0.35;  ///< below it nodes have names only where there is room
inline constexpr double far_ring = 3;            ///< pixels around a node of a small picture: its ring of work
inline constexpr double label_room = 70;         ///< of a name, on each side of its middle

/// Whether the canvas is magnified enough for names.
bool is_close(const QPainter* painter);
/// What words are magnified by, so that they stay readable where the canvas is small.
double text_scale(double zoom);
double text_scale(const QPainter* painter);
/// A share on a dark ground: "13 %", in the same size wherever words are readable.
void draw_share(QPainter* painter, QPointF at, double share);
/// An exclamation mark on a disc: 1 a warning, 2 an error, 0 nothing.
void draw_badge(QPainter* painter, QPointF at, int level);

}  // namespace skippipe
