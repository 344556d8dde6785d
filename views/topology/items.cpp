// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/items.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <QGraphicsScene>
#include <QPainter>
#include <QStyleOptionGraphicsItem>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/item_marks.h"

namespace skippipe {
namespace {

constexpr double pale_share = 0.35;
constexpr double thin_strength = 0.4, apart_share = 0.5, beneath_share = 0.35;
constexpr double least_bridge = 24, least_gap = 8;
constexpr double share_edge = 2;         // between a share and what it must not touch
constexpr double marked_width = 2.5;     // pixels of a line that is selected or critical
constexpr double chosen_width = 4;       // of one that is selected where traffic flows over the others
constexpr double above_traffic = 1.45;   // of a depth: below what lies on nodes
constexpr double least_marked_line = 8;  // pixels of a link below which nothing of it is seen that a share could be of
constexpr double beside_line = 4;        // between a line and a share beside it
constexpr double least_share_line = 64;  // pixels of a link on which its share leaves some of it to be seen
constexpr double beside_middle[] = {0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74};  // of a line, the middle first
constexpr double ring_gap = 2, ring_width = 3;                                 // of what is selected
constexpr double most_ring_scale = 4, share_room = 60;  // they stay within NodeItem::boundingRect
constexpr double share_reach = 140;  // pixels from a line or a folded region to the far end of a share of it

constexpr double least_number_zoom = 0.2, least_number = 9;  // pixels of a stage's number, where names are left out

/// A node that is lost: a cross, beside its number where that can be read, else over all of it.
void draw_lost_mark(QPainter* painter) {
    QPen pen(theme().bad, 2);
    pen.setCapStyle(Qt::RoundCap);
    QPointF at(0, 0);
    double arm = node_radius * 0.8;
    if (is_close(painter)) {
        at = {-node_radius * 0.75, -node_radius * 0.75};
        arm = badge_radius * 0.4;
        painter->setPen(QPen(theme().surface, 1.5));
        painter->setBrush(theme().bad);
        painter->drawEllipse(at, badge_radius, badge_radius);
        pen.setColor(theme().text_on(theme().bad));
    } else {
        pen = screen_pen(*painter, theme().bad, 2);
        pen.setCapStyle(Qt::RoundCap);
    }
    painter->setPen(pen);
    painter->drawLine(at - QPointF(arm, arm), at + QPointF(arm, arm));
    painter->drawLine(at - QPointF(arm, -arm), at + QPointF(arm, -arm));
}

/// A flash that cannot be told from a dot says nothing.
double failure_mark_scale(QPainter* painter) { return 1.15 * text_scale(painter); }

/// Failures are planned here: a flash, which no other mark is, whatever its colour looks like.
void draw_failure_mark(QPainter* painter, QPointF at) {
    painter->save();
    painter->translate(at);
    const double scale = failure_mark_scale(painter);
    painter->scale(scale, scale);
    painter->setPen(QPen(theme().bad, 1));
    painter->setBrush(theme().surface);
    painter->drawEllipse(QPointF(0, 0), badge_radius, badge_radius);
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme().bad);
    painter->drawPolygon(failure_flash());
    painter->restore();
}

double ring_scale(double zoom) { return std::clamp(1 / zoom, 1.0, most_ring_scale); }

/// Where a node with so many rings ends.
double after_rings(int rings, double zoom) { return node_radius + rings * (ring_gap + ring_width * ring_scale(zoom)); }

/// A ring of what is selected or critical: apart from the disc, whose hue may be near its own; as wide on the screen
/// however far away.
void draw_ring(QPainter* painter, const QColor& colour, double inner) {
    const double wide = ring_scale(painter->worldTransform().m11());
    const double radius = inner + ring_gap + ring_width * wide / 2;
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(theme().surface, 2 * ring_gap + ring_width * wide));
    painter->drawEllipse(QPointF(0, 0), inner + ring_gap, inner + ring_gap);
    painter->setPen(QPen(colour, ring_width * wide));
    painter->drawEllipse(QPointF(0, 0), radius, radius);
}

}  // namespace

NodeItem::NodeItem(std::string id)
    : id_(std::move(id)),
      label_(QFontMetrics(small_font())
                 .elidedText(QString::fromStdString(id_), Qt::ElideRight, static_cast<int>(2 * label_room))) {
    label_.setTextFormat(Qt::PlainText);
    label_.prepare({}, small_font());
    setFlags(ItemIsSelectable | ItemSendsGeometryChanges);
    setAcceptHoverEvents(true);
    setZValue(2);
}

QRectF NodeItem::room() const {
    return QRectF{-label_room, -node_radius - 16, 2 * label_room, 2 * node_radius + 52} | far_box_;
}

QRectF NodeItem::boundingRect() const { return room().adjusted(0, -share_room, 0, share_room); }

QRectF NodeItem::far_name_box(FarName side, double zoom) const {
    const double scale = double(size::tiny_text) / size::small_text / zoom, away = node_radius + far_ring / zoom;
    const QSizeF words = label_.size() * scale;
    const double half = words.width() / 2, middle = words.height() / 2;
    switch (side) {
        case FarName::below: return {{-half, away}, words};
        case FarName::above: return {{-half, -away - words.height()}, words};
        case FarName::right: return {{away, -middle}, words};
        case FarName::left: return {{-away - words.width(), -middle}, words};
        default: return {};
    }
}

QRectF NodeItem::seen_name_box(double zoom) const {
    if (zoom >= least_name_zoom) return name_box(zoom);
    return far_name_ == FarName::none ? QRectF{} : far_name_box(far_name_, zoom).translated(pos());
}

void NodeItem::set_far_name(FarName side, double zoom) {
    const QRectF box = far_name_box(side, zoom);
    if (side == far_name_ && box == far_box_) return;
    prepareGeometryChange();
    far_name_ = side;
    far_box_ = box;
}

/// Below the node; in a small picture where it has room, if anywhere.
void NodeItem::paint_name(QPainter* painter) const {
    const bool close = is_close(painter);
    if (!close && far_name_ == FarName::none) return;
    painter->save();
    painter->setFont(small_font());
    painter->setPen(left_out || down ? theme().text_2 : theme().text);
    const double scale = close ? text_scale(painter) : far_box_.height() / label_.size().height();
    painter->translate(close ? QPointF(-label_.size().width() / 2 * scale, name_top(painter->worldTransform().m11()))
                             : far_box_.topLeft());
    painter->scale(scale, scale);
    // The bridge of two regions that touch may run below it, and lines of links.
    QColor ground = region != nullptr ? region_ground() : theme().surface;
    if (region == nullptr || !close) ground.setAlphaF(0.8F);
    painter->fillRect(QRectF(QPointF(), label_.size()), ground);
    painter->drawStaticText(QPointF(), label_);
    painter->restore();
}

QPainterPath NodeItem::shape() const {
    QPainterPath path;
    path.addEllipse(QPointF(0, 0), node_radius + 2, node_radius + 2);
    return path;
}

bool NodeItem::on_rim(QPointF scene_place) const {
    const QPointF d = scene_place - pos();
    const double distance = std::hypot(d.x(), d.y());
    return distance > node_radius - rim_width && distance <= node_radius + 2;
}

QPointF NodeItem::seen_at() const { return region != nullptr && region->is_folded() ? region->pos() : pos(); }

void NodeItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    const QColor fill = down        ? mix(t.surface, t.text_2, 0.3)
                        : stage < 0 ? t.surface_2
                        : pale      ? mix(t.surface, t.stage(stage), pale_share)
                                    : t.stage(stage);
    const double zoom = painter->worldTransform().m11();
    if (critical_share > 0) draw_ring(painter, t.text, after_rings(rings() - 1, zoom));
    if (is_chosen()) draw_ring(painter, t.accent, node_radius);
    painter->setPen(down ? QPen(t.text_2, 1.5) : QPen(stage >= 0 ? t.surface : t.text_2, 1.5));
    painter->setBrush(fill);
    constexpr double radius = node_radius;
    painter->drawEllipse(QPointF(0, 0), radius, radius);
    if (stage >= 0 && Theme::hatched(stage) && !down) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(QBrush(t.text_on(fill), Qt::BDiagPattern));
        painter->drawEllipse(QPointF(0, 0), radius, radius);
    }
    if (stage >= 0 && zoom >= least_number_zoom) {
        QFont font = bold_font();
        const double least = std::min(least_number / zoom, 1.6 * node_radius);  // within the disc
        font.setPixelSize(static_cast<int>(std::lround(std::max(size::body_text * text_scale(painter), least))));
        painter->setFont(font);
        painter->setPen(t.text_on(fill));
        painter->drawText(QRectF(-node_radius, -node_radius, 2 * node_radius, 2 * node_radius),
                          Qt::AlignCenter | Qt::TextDontClip, QString::number(stage));
    }
    paint_name(painter);
    draw_badge(painter, {node_radius * 0.75, -node_radius * 0.75}, fault_level);
    if (down) {
        draw_lost_mark(painter);
    } else if (fails) {
        // Further out where it is magnified: the stage's number stays free.
        const double out = node_radius * 0.75 + badge_radius * (failure_mark_scale(painter) - 1) * 0.9;
        draw_failure_mark(painter, {-out, -out});
    }
}

QRectF NodeItem::share_box(double zoom) const {
    const bool is_folded = region != nullptr && region->is_folded();
    if (critical_share <= 0 || (!is_folded && (zoom < least_name_zoom || !isVisible()))) return {};
    QRectF box({}, share_size(whole_percent(critical_share)) * share_scale(zoom));
    box.moveCenter(seen_at() + share_place(zoom));
    return box;
}

void NodeItem::paint_share(QPainter* painter, const QRectF& box) const {
    draw_share(painter, box.center(), whole_percent(critical_share));
}

/// Round a disc, the free side first; further out where all sides are taken.
QPointF RegionItem::share_place(QSizeF size, double zoom) const {
    std::vector<QPointF> places;
    const QSizeF half = size / 2;
    for (const double out : {2.0, 12.0, 24.0, 40.0, 60.0}) {
        const double away = folded_radius() + out * pixel_;
        for (const int side : {1, -1}) places.push_back(pos() + QPointF(0, side * (away + half.height())));
        for (const int side : {1, -1}) places.push_back(pos() + QPointF(side * (away + half.width()), 0));
        for (const int x : {1, -1})
            for (const int y : {1, -1})
                places.push_back(pos() + QPointF(x * (0.7 * away + half.width()), y * (0.7 * away + half.height())));
    }
    return quietest_place(*scene(), places, size, zoom, this) - pos();
}

/// Above the rings or at their sides, beside the marks that may stand there, where it covers no name.
QPointF NodeItem::share_place(double zoom) const {
    const QSizeF box = share_size(whole_percent(critical_share)) * share_scale(zoom);
    if (region != nullptr && region->is_folded()) return region->share_place(box, zoom);
    std::vector<QPointF> places;
    const auto add_round = [&](double top, double beyond) {
        constexpr double half = node_radius / 2;
        const double aside = box.width() / 2 - 2;
        std::vector<QPointF> right{{aside, top}}, left{{-aside, top}};
        for (const double down : {0.0, -half, half, -2 * half, 2 * half}) {
            right.emplace_back(beyond, down);
            left.emplace_back(-beyond, down);
        }
        // Beside its corners it is as far from the disc.
        constexpr double nearer = node_radius / 4;
        for (const double down : {top + nearer, -top - nearer}) {
            right.emplace_back(beyond - nearer, down);
            left.emplace_back(-beyond + nearer, down);
        }
        if (!fails && fault_level == 0) places.emplace_back(0, top);
        if (fault_level == 0) places.insert(places.end(), right.begin(), right.end());
        if (!fails) places.insert(places.end(), left.begin(), left.end());
        if (places.empty()) places.emplace_back(0, top);
    };
    const double reach = after_rings(rings(), zoom) + 1;
    for (const double out : {0.0, 0.8 * box.height()})
        add_round(-reach - box.height() / 2 - out, reach + box.width() / 2 + out);
    if (places.size() > 1) places.emplace_back(0, name_box(zoom).bottom() - pos().y() + box.height() / 2 + 1);
    // Among others there may be room on its rim alone.
    add_round(-node_radius - 4, node_radius + box.width() / 2 - rim_width);
    for (QPointF& place : places) place += pos();
    return quietest_place(*scene(), places, box + QSizeF(2 * share_edge, 2 * share_edge), zoom, this) - pos();
}

double NodeItem::name_top(double zoom) const { return rings() > 0 ? after_rings(rings(), zoom) : node_radius + 2; }

QRectF NodeItem::name_box(double zoom) const {
    const QSizeF words = label_.size() * text_scale(zoom);
    return {pos().x() - words.width() / 2, pos().y() + name_top(zoom), words.width(), words.height()};
}

QVariant NodeItem::itemChange(GraphicsItemChange change, const QVariant& value) {
    if (change == ItemPositionHasChanged) {
        for (auto* link : links) link->follow_ends();
        if (region != nullptr && !region->waits) region->follow_nodes();
    }
    return QGraphicsItem::itemChange(change, value);
}

LinkLook link_look(double width, double presence) {
    const Theme& t = theme();
    const double strength = thin_strength + (1 - thin_strength) * (width - 1) / (widest_link - 1);
    constexpr double few = 0.4, palest = 0.4;  // of thousands each is still told from the ground
    const QColor colour = mix(t.line, t.text_2, strength * std::max(few, presence));
    if (presence < few)
        return {mix(t.surface, colour, palest + (1 - palest) * presence / few), 1 + (width - 1) * presence};
    return {colour, 1 + (width - 1) * presence};
}

LinkItem::LinkItem(LinkKey key, QGraphicsItem* from, QGraphicsItem* to, bool both_ways)
    : key_(std::move(key)), from_(from), to_(to), both_ways_(both_ways) {
    setFlag(ItemIsSelectable);
    follow_ends();
}

void LinkItem::follow_ends() {
    prepareGeometryChange();
    const auto seen_at = [](const QGraphicsItem* end) {
        return end->type() == node_item ? static_cast<const NodeItem*>(end)->seen_at() : end->pos();
    };
    line_ = QLineF(seen_at(from_), seen_at(to_));
    joins_edges_ = false;
    if (from_->type() == region_item && to_->type() == region_item) {
        const QLineF between(static_cast<const RegionItem*>(from_)->edge_towards(line_.p2()),
                             static_cast<const RegionItem*>(to_)->edge_towards(line_.p1()));
        joins_edges_ = QPointF::dotProduct(between.p2() - between.p1(), line_.p2() - line_.p1()) > 0 &&
                       between.length() > least_gap;
        if (joins_edges_) {
            line_ = between;
        } else if (between.length() < line_.length()) {
            // Regions that lie on each other, or touch, have nothing between them: a bridge over what both cover.
            const double half = std::max(between.length(), least_bridge) / 2;
            const QPointF along = (line_.p2() - line_.p1()) / line_.length();
            line_ = QLineF(between.center() - half * along, between.center() + half * along);
        }
    }
    end_room_ = joins_edges_ ? 1 : node_radius + 3;
    settle_depth();
}

void LinkItem::settle_depth() {
    // Whatever a run's traffic draws over lines, the one that is asked about is seen.
    if (isSelected() && beneath) return setZValue(above_traffic);
    const bool is_marked = isSelected() || hovered || critical || fault_level > 0 || fails;
    setZValue((joins_edges_ && !is_marked ? -3 : -1) -
              (apart ? 0.1 : 0));  // beneath those that lead to what is selected
}

QRectF LinkItem::boundingRect() const {
    constexpr double room = 3.2 * badge_radius;  // for marks, magnified
    return QRectF(line_.p1(), line_.p2()).normalized().adjusted(-room, -room, room, room);
}

QPainterPath LinkItem::shape() const {
    QPainterPath path(line_.p1());
    path.lineTo(line_.p2());
    QPainterPathStroker stroker;
    stroker.setWidth(8);
    return stroker.createStroke(path);
}

void LinkItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    const LinkLook look = link_look(width, presence);
    const QColor calm = down      ? mix(t.surface, t.line, 0.6)
                        : beneath ? mix(t.surface, look.colour, beneath_share)
                        : apart   ? mix(t.surface, look.colour, apart_share)
                                  : look.colour;
    const QColor colour = isSelected()       ? t.accent
                          : fault_level == 2 ? t.bad
                          : fault_level == 1 ? t.warning
                          : critical         ? t.text
                          : hovered          ? t.text_2
                                             : calm;
    if (line_.isNull()) return;
    const bool over_traffic = isSelected() && beneath;
    const double wide = std::max(look.width, over_traffic               ? chosen_width
                                             : isSelected() || critical ? marked_width
                                             : fault_level > 0          ? 2.0
                                                                        : 0.0);
    if (over_traffic) {
        painter->setPen(screen_pen(*painter, t.surface, wide + 3));
        painter->drawLine(line_);
    }
    QPen pen = screen_pen(*painter, colour, wide);
    if (fault_level > 0) pen.setStyle(Qt::DashLine);
    painter->setPen(pen);
    painter->drawLine(line_);
    if (!both_ways_ && line_.length() > 3 * node_radius) {
        painter->setBrush(colour);
        const double angle = std::atan2(line_.dy(), line_.dx());
        draw_arrow_head(painter, line_.p2() - end_room_ * QPointF(std::cos(angle), std::sin(angle)), angle, 9);
    }
    // Beside each other where a link has both.
    const QPointF aside(fails && fault_level > 0 ? badge_radius + 1 : 0, 0);
    if (fault_level > 0) draw_badge(painter, line_.center() + aside, fault_level);
    if (fails) draw_failure_mark(painter, line_.center() - aside);
}

/// Not where its words say it too.
bool LinkItem::shows_share() const {
    const bool has_marks = fault_level > 0 || fails || isSelected() || hovered;
    return critical && !has_marks && !line_.isNull();
}

QRectF LinkItem::share_box(double zoom, const std::vector<QRectF>& taken) const {
    if (!shows_share() || line_.length() * zoom < least_marked_line) return {};
    QRectF box({}, share_size(whole_percent(critical_share)) * share_scale(zoom));
    box.moveCenter(share_place(zoom, taken));
    return box;
}

void LinkItem::paint_share(QPainter* painter, const QRectF& box) const {
    if (!shows_share()) return;
    paint_over_nodes(painter);
    if (box.isEmpty()) return;
    draw_way_to(painter, box.center(), 1.2 * box.height());
    draw_share(painter, box.center(), whole_percent(critical_share));
}

/// What had no room beside the line hangs on it by a thread.
void LinkItem::draw_way_to(QPainter* painter, QPointF place, double near) const {
    const QPointF along = line_.p2() - line_.p1();
    const double share = QPointF::dotProduct(place - line_.p1(), along) / QPointF::dotProduct(along, along);
    const QLineF way(line_.pointAt(std::clamp(share, 0.0, 1.0)), place);
    if (way.length() < near) return;
    painter->setPen(screen_pen(*painter, theme().text, 1));
    painter->drawLine(way);
}

/// Where the line runs behind nodes, which it does not lead to, it is seen through them.
void LinkItem::paint_over_nodes(QPainter* painter) const {
    constexpr double seen_through = 0.55;
    QPainterPath discs;
    for (const auto* item : scene()->items(shape(), Qt::IntersectsItemShape))
        if (item->type() == node_item && item != from_ && item != to_ && item->isVisible())
            discs.addEllipse(item->pos(), node_radius, node_radius);
    if (discs.isEmpty()) return;
    painter->save();
    painter->setClipPath(discs, Qt::IntersectClip);
    painter->setOpacity(seen_through);
    painter->setPen(screen_pen(*painter, theme().text, marked_width));
    painter->drawLine(line_);
    painter->restore();
}

QPointF LinkItem::share_place(double zoom, const std::vector<QRectF>& taken) const {
    std::vector<QPointF> places;
    const QSizeF box = share_size(whole_percent(critical_share)) * share_scale(zoom);
    if (line_.length() * zoom >= least_share_line)
        for (const double share : beside_middle) places.push_back(line_.pointAt(share));
    // A short line is seen beside its share, as is one whose middle lies on nodes.
    const QPointF across = QPointF(-line_.dy(), line_.dx()) / line_.length();
    const double away = std::abs(across.x()) * box.width() / 2 + std::abs(across.y()) * box.height() / 2 + beside_line;
    for (const double rows : {0.0, 1.0, 2.0, 4.0})
        for (const double share : {0.5, 0.34, 0.66, 0.1, 0.9})
            for (const double side : {-1.0, 1.0})
                places.push_back(line_.pointAt(share) + side * (away + rows * box.height()) * across);
    return quietest_place(*scene(), places, box + QSizeF(2 * share_edge, 2 * share_edge), zoom, nullptr, taken);
}

QRectF SharesItem::boundingRect() const { return bounds_; }

void SharesItem::show_things(const NodeItem* node, const LinkItem* link) {
    node_ = node;
    link_ = link;
    follow();
}

void SharesItem::follow() {
    prepareGeometryChange();
    bounds_ = {};
    const double most = share_reach / std::min(zoom_, 1.0);
    const auto add = [&](const QRectF& box) { bounds_ |= box.adjusted(-most, -most, most, most); };
    if (node_ != nullptr) add(QRectF(node_->seen_at(), QSizeF()));
    if (link_ != nullptr) add(link_->sceneBoundingRect());
    update();
}

void SharesItem::set_zoom(double zoom) {
    if (zoom == zoom_) return;
    zoom_ = zoom;
    follow();
}

QRectF SharesItem::node_box(double zoom) const { return node_ == nullptr ? QRectF{} : node_->share_box(zoom); }

QRectF SharesItem::link_box(double zoom, const QRectF& of_node) const {
    if (link_ == nullptr || !link_->isVisible()) return {};
    return link_->share_box(zoom, of_node.isEmpty() ? std::vector<QRectF>{} : std::vector{of_node});
}

std::vector<QRectF> SharesItem::boxes(double zoom) const {
    const QRectF of_node = node_box(zoom), of_link = link_box(zoom, of_node);
    std::vector<QRectF> all;
    for (const QRectF& box : {of_node, of_link})
        if (!box.isEmpty()) all.push_back(box);
    return all;
}

void SharesItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const double zoom = painter->worldTransform().m11();
    const QRectF of_node = node_box(zoom), of_link = link_box(zoom, of_node);
    if (link_ != nullptr && link_->isVisible()) link_->paint_share(painter, of_link);
    if (!of_node.isEmpty()) node_->paint_share(painter, of_node);
}

}  // namespace skippipe
