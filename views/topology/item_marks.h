// SPDX-License-Identifier: GPL-3.0-or-later
// Marks and measures that several items of the canvas share.
#pragma once
#include <functional>
#include <vector>

#include <QGraphicsScene>
#include <QIcon>
#include <QPainter>

namespace skippipe {

inline constexpr double badge_radius = 7;
inline constexpr double least_name_zoom = 0.35;  ///< below it nodes have names only where there is room
inline constexpr double far_ring = 3;            ///< pixels around a node of a small picture: its ring of work
inline constexpr double label_room = 70;         ///< of a name, on each side of its middle

/// A pen of so many pixels whatever the zoom, as wide on every screen: cosmetic pens are in the screen's own pixels.
QPen screen_pen(const QPainter& painter, const QColor& colour, double width);
/// Whether the canvas is magnified enough for names.
bool is_close(const QPainter* painter);
/// What words are magnified by, so that they stay readable where the canvas is small.
double text_scale(double zoom);
double text_scale(const QPainter* painter);
/// The same for shares of the critical path, which are as large where nodes have no names: folded regions have.
double share_scale(double zoom);
/// The size of such words on their dark ground, at scale 1.
QSizeF share_size(const QString& words);
/// A share on a dark ground: "13 %", in the same size whatever the zoom.
void draw_share(QPainter* painter, QPointF at, const QString& words);
/// The first of these places, in scene coordinates, at which a box of that size covers no node and, of names and of
/// what links are drawn from, the least, where the canvas is magnified by `zoom`; the disc of `own` it may cover. What
/// is `taken` by other words is as good as a node, and so is a folded region. Of places that are as quiet the one at
/// which `cost` is least; it counts for less than what is covered.
QPointF quietest_place(const QGraphicsScene& scene, const std::vector<QPointF>& places, QSizeF size, double zoom,
                       const QGraphicsItem* own = nullptr, const std::vector<QRectF>& taken = {},
                       const std::function<double(const QRectF&)>& cost = {});
/// In the painter's brush, at the end of a line that comes at that angle.
void draw_arrow_head(QPainter* painter, QPointF tip, double angle, double length);
/// 0 of what is empty.
double area_of(const QRectF& box);
/// An exclamation mark on a disc: 1 a warning, 2 an error, 0 nothing.
void draw_badge(QPainter* painter, QPointF at, int level);
/// The same for a tab or a button; none: a null one.
QIcon badge_icon(int level);

}  // namespace skippipe
