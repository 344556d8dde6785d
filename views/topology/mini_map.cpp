// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/mini_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <QMouseEvent>
#include <QPainter>

#include "views/theme/theme.h"
#include "views/topology/view.h"

namespace skippipe {
namespace {
constexpr QSize map_sizes[] = {{150, 100}, {120, 80}, {84, 56}};
constexpr double inset = 6, dot = 2.5, hidden_edge = 0.1;
constexpr double least_disc = 19, name_high = 16;  ///< pixels: of a folded region; below a node

/// How far a box is from the nearest of others; 0: it lies on one.
double distance_to_nearest(const QRectF& box, const std::vector<QRectF>& others) {
    double least = std::numeric_limits<double>::infinity();
    for (const auto& other : others) {
        const double across = std::max({0.0, other.left() - box.right(), box.left() - other.right()});
        const double down = std::max({0.0, other.top() - box.bottom(), box.top() - other.bottom()});
        least = std::min(least, std::hypot(across, down));
    }
    return least;
}

}  // namespace

MiniMap::MiniMap(TopologyView& view) : QWidget(view.viewport()), view_(view) {
    setObjectName("mini_map");
    setAccessibleName(tr("Overview of the network"));
    setToolTip(
        tr("The whole network; the frame is what is in sight. Click or drag to go there, Home shows everything"));
    setCursor(Qt::PointingHandCursor);
    resize(map_sizes[0]);
    hide();
}

std::vector<QRectF> MiniMap::taken_places() const {
    const QTransform to = view_.viewportTransform();
    const double radius = std::max(least_disc, node_radius * to.m11());
    const auto dots = view_.scene_model().node_dots();
    std::vector<QRectF> taken;
    taken.reserve(dots.size());
    for (const auto& [at, stage] : dots) {
        const QPointF middle = to.map(at);
        taken.emplace_back(middle.x() - radius, middle.y() - radius, 2 * radius, 2 * radius + name_high);
    }
    return taken;
}

/// Where it stands while that is free, else the corner that is farthest from all nodes; empty: none is free.
QRect MiniMap::free_corner() const {
    const QSize room = view_.viewport()->size();
    const auto taken = taken_places();
    const auto corners = [&](QSize map) {
        const int right = room.width() - map.width() - size::gap, bottom = room.height() - map.height() - size::gap;
        return std::array{QRect({right, bottom}, map), QRect({size::gap, bottom}, map), QRect({right, size::gap}, map),
                          QRect({size::gap, size::gap}, map)};
    };
    for (const QSize map : map_sizes) {
        if (room.width() <= 3 * map.width() || room.height() <= 2 * map.height()) continue;
        QRect best;
        double farthest = 0;
        for (const QRect& corner : corners(map)) {
            const double away = distance_to_nearest(corner, taken);
            if (isVisibleTo(parentWidget()) && corner == geometry() && away > 0) return corner;
            if (away > farthest) best = corner, farthest = away;
        }
        if (farthest > 0) return best;
    }
    return {};
}

void MiniMap::follow() {
    whole_ = view_.scene_model().things_box();
    const QRectF seen = view_.mapToScene(view_.viewport()->rect()).boundingRect();
    // Where only an edge is out of sight it would hide more than it shows.
    const double aside = hidden_edge * whole_.width(), above = hidden_edge * whole_.height();
    const bool is_wanted = !whole_.isEmpty() && !seen.contains(whole_.adjusted(aside, above, -aside, -above));
    if (is_held_ && is_wanted) return update();
    const QRect corner = is_wanted ? free_corner() : QRect{};
    if (!corner.isEmpty()) setGeometry(corner);
    if (corner.isEmpty() == isVisibleTo(parentWidget())) setVisible(!corner.isEmpty());
    update();
}

QTransform MiniMap::place() const {
    const QRectF room = QRectF(rect()).adjusted(inset, inset, -inset, -inset);
    const double scale = std::min(room.width() / whole_.width(), room.height() / whole_.height());
    QTransform to;
    to.translate(room.center().x(), room.center().y());
    to.scale(scale, scale);
    to.translate(-whole_.center().x(), -whole_.center().y());
    return to;
}

void MiniMap::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.line, 1));
    painter.setBrush(t.surface_2);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), size::radius, size::radius);
    const QTransform to = place();
    painter.setPen(Qt::NoPen);
    for (const auto& [at, stage] : view_.scene_model().node_dots()) {
        painter.setBrush(stage >= 0 ? t.stage(stage) : t.text_2);
        painter.drawEllipse(to.map(at), dot, dot);
    }
    const QRectF seen = to.mapRect(view_.mapToScene(view_.viewport()->rect()).boundingRect());
    painter.setPen(QPen(t.accent, 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(seen.intersected(QRectF(rect()).adjusted(1, 1, -1, -1)));
}

void MiniMap::mousePressEvent(QMouseEvent* event) {
    is_held_ = event->button() == Qt::LeftButton;
    if (event->button() == Qt::LeftButton) Q_EMIT place_wanted(place().inverted().map(event->position()));
    event->accept();
}

void MiniMap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) Q_EMIT place_wanted(place().inverted().map(event->position()));
    event->accept();
}

/// What it came to cover meanwhile it uncovers.
void MiniMap::mouseReleaseEvent(QMouseEvent* event) {
    is_held_ = false;
    follow();
    event->accept();
}

}  // namespace skippipe
