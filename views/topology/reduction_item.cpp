// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/reduction_item.h"

#include <algorithm>
#include <cmath>

#include <QGraphicsScene>
#include <QObject>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/item_marks.h"

namespace skippipe {
namespace {

constexpr double least_width = 1.5, width_of_all = 6;
constexpr double up_bend = 0.06, down_bend = 0.16;  ///< of the distance, each to the left of its own direction
constexpr double head = 9;
constexpr double least_slowest_zoom = 0.2, chip_room = 300;  ///< words are as large on the screen down to that zoom

}  // namespace

QString reduction_edge_words(const ReductionEdge& edge, const QString& from, const QString& to) {
    QStringList lines{QObject::tr("%1 to %2").arg(from, to)};
    if (edge.up_share > 0) lines << QObject::tr("parts: %1 of the gradient").arg(percent(edge.up_share));
    if (edge.down_share > 0) lines << QObject::tr("sums: %1 of the gradient").arg(percent(edge.down_share));
    lines << QObject::tr("%1, %2 alone on its line").arg(quantity(edge.bytes, "B"), duration(edge.seconds));
    return lines.join('\n');
}

ReductionItem::ReductionItem() {
    setZValue(1.5);
    setAcceptedMouseButtons(Qt::NoButton);
}

void ReductionItem::set_edges(std::vector<DrawnReductionEdge> edges) {
    edges_ = std::move(edges);
    follow_nodes();
    update();
}

void ReductionItem::follow_nodes() {
    prepareGeometryChange();
    arrows_.clear();
    bounds_ = {};
    for (std::size_t i = 0; i < edges_.size(); ++i)
        for (const bool down : {false, true}) add_arrow(i, down);
}

void ReductionItem::add_arrow(std::size_t index, bool down) {
    const auto& [edge, from, to, slowest] = edges_[index];
    const double share = down ? edge.down_share : edge.up_share;
    const QLineF line(from->seen_at(), to->seen_at());
    if (share <= 0 || line.length() < 2 * node_radius + 8) return;
    const double angle = std::atan2(line.dy(), line.dx());
    const QPointF along(std::cos(angle), std::sin(angle)), across(-along.y(), along.x());
    const double bend = (down ? down_bend : up_bend) * std::min(line.length(), 500.0);
    const double aside = down ? 8 : 3;
    const QPointF a = line.p1() + (node_radius + 3) * along + aside * across,
                  b = line.p2() - (node_radius + 4) * along + aside * across;
    const QPointF middle = line.center() + across * (aside + 2 * bend);
    Arrow arrow{index,           down, least_width + width_of_all * std::min(share, 1.0),
                QPainterPath(a), b,    std::atan2(b.y() - middle.y(), b.x() - middle.x())};
    arrow.curve.quadTo(middle, b - head * 0.7 * QPointF(std::cos(arrow.angle), std::sin(arrow.angle)));
    bounds_ |= arrow.curve.boundingRect().adjusted(-chip_room, -chip_room, chip_room, chip_room);
    arrows_.push_back(std::move(arrow));
}

QPainterPath ReductionItem::shape() const {
    QPainterPath all;
    for (const auto& arrow : arrows_) {
        QPainterPathStroker stroker;
        stroker.setWidth(std::max(arrow.width, 8.0));
        all.addPath(stroker.createStroke(arrow.curve));
    }
    all.setFillRule(Qt::WindingFill);
    return all;
}

QString ReductionItem::words_at(QPointF place) const {
    for (const auto& arrow : arrows_) {
        QPainterPathStroker stroker;
        stroker.setWidth(std::max(arrow.width, 8.0));
        if (!stroker.createStroke(arrow.curve).contains(place)) continue;
        const auto& [edge, from, to, slowest] = edges_[arrow.edge];
        const QString words =
            reduction_edge_words(edge, QString::fromStdString(from->id()), QString::fromStdString(to->id()));
        return slowest ? words + '\n' + QObject::tr("the slowest edge of its stage") : words;
    }
    return {};
}

void ReductionItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    for (const auto& arrow : arrows_) paint_arrow(painter, arrow);
    paint_slowest(painter);
}

void ReductionItem::paint_arrow(QPainter* painter, const Arrow& arrow) const {
    const Theme& t = theme();
    const QColor colour = edges_[arrow.edge].slowest ? t.warning : t.reduction;
    QPen ground(t.surface, arrow.width + 2);
    painter->setBrush(Qt::NoBrush);
    painter->setPen(ground);
    painter->drawPath(arrow.curve);
    QPen pen(colour, arrow.width, Qt::SolidLine, Qt::FlatCap);
    if (arrow.down) pen.setDashPattern({6 / arrow.width, 4 / arrow.width});
    painter->setPen(pen);
    painter->drawPath(arrow.curve);
    painter->setPen(Qt::NoPen);
    painter->setBrush(colour);
    const double length = head + arrow.width / 2;
    const auto corner = [&](double turn) {
        return arrow.tip - length * QPointF(std::cos(arrow.angle + turn), std::sin(arrow.angle + turn));
    };
    painter->drawPolygon(QPolygonF({arrow.tip, corner(0.45), corner(-0.45)}));
}

/// Its time on a ground of its own, near the middle of the arrow, in the same size whatever the zoom.
void ReductionItem::paint_slowest(QPainter* painter) const {
    const auto found =
        std::find_if(arrows_.begin(), arrows_.end(), [this](const Arrow& one) { return edges_[one.edge].slowest; });
    if (found == arrows_.end()) return;
    const double zoom = painter->worldTransform().m11(), scale = 1 / std::clamp(zoom, least_slowest_zoom, 1.0);
    const QString words = QObject::tr("slowest, %1").arg(duration(edges_[found->edge].edge.seconds));
    QRectF box = QRectF(QFontMetrics(small_font()).boundingRect(words)).adjusted(-4, -2, 4, 2);
    std::vector<QPointF> places;
    for (const double share : {0.5, 0.4, 0.6, 0.3, 0.7}) places.push_back(found->curve.pointAtPercent(share));
    painter->save();
    painter->translate(quietest_place(*scene(), places, box.size() * scale, zoom));
    painter->scale(scale, scale);
    painter->setFont(small_font());
    box.moveCenter({0, 0});
    painter->setPen(QPen(theme().warning, 1));
    painter->setBrush(theme().surface);
    painter->drawRoundedRect(box, size::radius, size::radius);
    painter->setPen(theme().warning);
    painter->drawText(box, Qt::AlignCenter, words);
    painter->restore();
}

}  // namespace skippipe
