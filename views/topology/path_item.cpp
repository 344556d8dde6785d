// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/path_item.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <QGraphicsScene>
#include <QPainter>

#include "views/theme/theme.h"
#include "views/topology/item_marks.h"

namespace skippipe {
namespace {

constexpr double chip = 8, arrow_head = 11, node_box = 60;
constexpr double leaves_at = node_radius + 3, ends_at = node_radius + 5;
constexpr double most_bend = 15, bend_share = 0.04;               ///< of an arrow that nothing is in the way of
constexpr double bends[] = {36, -36, 54, -54, 72, -72, 96, -96};  ///< what goes round something
constexpr double furthest = 100;                                  ///< that such an arrow comes from its line
constexpr double chip_places[] = {0.5, 0.42, 0.58, 0.34, 0.66};
constexpr int samples = 24;

/// What an arrow is not to be drawn over.
struct Obstacle {
    QRectF disc;  ///< of a node; of a region's name: empty
    QRectF name;
};

/// From disc to disc; its middle is so far from the straight line, to the left where that is positive.
DrawnHop arc(const QLineF& line, double bend) {
    const QPointF along = (line.p2() - line.p1()) / line.length(), across(-along.y(), along.x());
    DrawnHop hop;
    hop.control = line.center() + 2 * bend * across;
    const auto towards = [&](QPointF from) {
        const QPointF way = hop.control - from;
        return way / std::hypot(way.x(), way.y());
    };
    hop.from = line.p1() + leaves_at * towards(line.p1());
    hop.to = line.p2() + ends_at * towards(line.p2());
    return hop;
}

double share_covered(const QRectF& box, const QRectF& by) { return area_of(box & by) / area_of(box); }

QRectF chip_box(QPointF at, double radius) { return {at.x() - radius, at.y() - radius, 2 * radius, 2 * radius}; }

/// How much is in the way of its curve.
double curve_cost(const DrawnHop& hop, const QLineF& line, const std::vector<Obstacle>& near, double radius) {
    constexpr double over_node = 4, over_name = 3, no_room = 6;
    double cost = 0;
    for (int i = 1; i < samples; ++i) {
        const QPointF at = hop.at(double(i) / samples);
        for (const auto& one : near) {
            if (one.name.contains(at)) cost += over_name;
            const QPointF middle = one.disc.center(), d = at - middle;
            const bool is_end = middle == line.p1() || middle == line.p2();
            if (!one.disc.isEmpty() && !is_end && std::hypot(d.x(), d.y()) < node_radius + 3) cost += over_node;
        }
    }
    // The disc would be all of it.
    if (QLineF(hop.from, hop.at(0.5)).length() < arrow_head + radius) cost += no_room;
    return cost;
}

/// The same of the disc with its number.
double chip_cost(const DrawnHop& hop, const std::vector<Obstacle>& near, const std::vector<DrawnHop>& before,
                 double radius) {
    constexpr double covers = 12;
    const QRectF box = chip_box(hop.chip, radius);
    double cost = 0;
    for (const auto& one : near) cost += covers * (share_covered(box, one.disc) + share_covered(box, one.name));
    for (const auto& other : before) cost += covers * share_covered(box, chip_box(other.chip, radius));
    return cost;
}

}  // namespace

/// Below nodes, so that their names stay readable.
PathItem::PathItem() { setZValue(1.9); }

double PathItem::chip_radius(double zoom) { return chip * text_scale(zoom); }

QRectF PathItem::boundingRect() const {
    return box_.isEmpty() ? box_ : box_.adjusted(-furthest, -furthest, furthest, furthest);
}

void PathItem::set_way(const std::vector<NodeItem*>& nodes) {
    prepareGeometryChange();
    nodes_ = nodes;
    hops_.clear();
    laid_out_for_ = 0;
    box_ = {};
    for (const auto* node : nodes) {
        const QPointF at = node->seen_at();
        box_ |= QRectF(at.x() - node_box, at.y() - node_box, 2 * node_box, 2 * node_box);
    }
}

const std::vector<DrawnHop>& PathItem::hops(double zoom) {
    if (laid_out_for_ != zoom) lay_out(zoom);
    return hops_;
}

/// One after the other, each on the side where the least is in its way. Bent a little where nothing is, so that there
/// and back do not lie on each other.
void PathItem::lay_out(double zoom) {
    laid_out_for_ = zoom;
    hops_.clear();
    std::vector<Obstacle> all;
    for (const auto* item : scene()->items()) {
        if (item->type() == region_label_item)
            all.push_back({{}, static_cast<const RegionLabel*>(item)->seen_box(zoom)});
        if (item->type() != node_item || !item->isVisible()) continue;
        const auto* node = static_cast<const NodeItem*>(item);
        all.push_back({chip_box(node->pos(), node_radius), node->seen_name_box(zoom)});
    }
    const double radius = chip_radius(zoom);
    for (std::size_t i = 0; i + 1 < nodes_.size(); ++i) {
        const QLineF line(nodes_[i]->seen_at(), nodes_[i + 1]->seen_at());
        if (line.length() < 2 * node_radius + 8) continue;
        const QRectF reach =
            QRectF(line.p1(), line.p2()).normalized().adjusted(-furthest, -furthest, furthest, furthest);
        std::vector<Obstacle> near;
        std::copy_if(all.begin(), all.end(), std::back_inserter(near),
                     [&](const Obstacle& one) { return reach.intersects(one.disc | one.name); });
        DrawnHop best;
        double least = std::numeric_limits<double>::infinity();
        const auto consider = [&](double bend) {
            constexpr double farther = 0.005;  // for each unit, and for a disc off the middle
            DrawnHop hop = arc(line, bend);
            hop.number = static_cast<int>(i) + 1;
            const double on_its_way = curve_cost(hop, line, near, radius) + farther * std::abs(bend);
            for (const double share : chip_places) {
                hop.chip = hop.at(share);
                const double cost = on_its_way + chip_cost(hop, near, hops_, radius) + std::abs(share - 0.5);
                if (cost < least) best = hop, least = cost;
            }
        };
        consider(std::min(most_bend, bend_share * line.length()));
        for (const double bend : bends)
            if (least > std::abs(bend) / bends[0]) consider(bend);  // what is hardly in the way is no reason
        hops_.push_back(std::move(best));
    }
}

void PathItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    const double zoom = painter->worldTransform().m11(), scale = text_scale(zoom);
    for (const auto& hop : hops(zoom)) {
        painter->setPen(QPen(t.accent, 2.5));
        painter->setBrush(Qt::NoBrush);
        QPainterPath curve(hop.from);
        curve.quadTo(hop.control, hop.to);
        painter->drawPath(curve);
        painter->setPen(Qt::NoPen);
        painter->setBrush(t.accent);
        const double angle = std::atan2(hop.to.y() - hop.control.y(), hop.to.x() - hop.control.x());
        draw_arrow_head(painter, hop.to + 2 * QPointF(std::cos(angle), std::sin(angle)), angle, arrow_head);
    }
    // Above all arrows.
    for (const auto& hop : hops_) {
        painter->save();
        painter->translate(hop.chip);
        painter->scale(scale, scale);
        painter->setPen(QPen(t.surface, 1));
        painter->setBrush(t.accent);
        painter->drawEllipse(QPointF(0, 0), chip, chip);
        painter->setPen(t.on_accent);
        painter->setFont(small_font());
        painter->drawText(QRectF(-chip, -chip, 2 * chip, 2 * chip), Qt::AlignCenter, QString::number(hop.number));
        painter->restore();
    }
}

}  // namespace skippipe
