// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/mini_map.h"

#include <algorithm>

#include <QMouseEvent>
#include <QPainter>

#include "views/theme/theme.h"
#include "views/topology/view.h"

namespace skippipe {
namespace {
constexpr QSize map_size(168, 112);
constexpr double inset = 6, dot = 2.5, hidden_edge = 0.1;
}  // namespace

MiniMap::MiniMap(TopologyView& view) : QWidget(view.viewport()), view_(view) {
    setObjectName("mini_map");
    setAccessibleName(tr("Overview of the network"));
    setToolTip(
        tr("The whole network; the frame is what is in sight. Click or drag to go there, Home shows everything"));
    setCursor(Qt::PointingHandCursor);
    resize(map_size);
    hide();
}

void MiniMap::follow() {
    whole_ = view_.scene_model().things_box();
    const QRectF seen = view_.mapToScene(view_.viewport()->rect()).boundingRect();
    const QSize room = view_.viewport()->size();
    const bool has_room = room.width() > 3 * map_size.width() && room.height() > 2 * map_size.height();
    // Where only an edge is out of sight it would hide more than it shows.
    const double aside = hidden_edge * whole_.width(), above = hidden_edge * whole_.height();
    const bool is_wanted =
        has_room && !whole_.isEmpty() && !seen.contains(whole_.adjusted(aside, above, -aside, -above));
    move(room.width() - width() - size::gap, room.height() - height() - size::gap);
    if (is_wanted != isVisibleTo(parentWidget())) setVisible(is_wanted);
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
    if (event->button() == Qt::LeftButton) Q_EMIT place_wanted(place().inverted().map(event->position()));
    event->accept();
}

void MiniMap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) Q_EMIT place_wanted(place().inverted().map(event->position()));
    event->accept();
}

}  // namespace skippipe
