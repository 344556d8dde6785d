// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/items.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <QGuiApplication>
#include <QPainter>
#include <QStyleOptionGraphicsItem>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double badge_radius = 7, pale_share = 0.35;
constexpr double thin_strength = 0.2, apart_share = 0.35;
constexpr double label_room = 70;
constexpr double name_below = 10;  ///< so much further down a hull reaches, for the nodes' names
constexpr double handle_radius = 4.5;
constexpr double folded_radius_px = 17;
constexpr double least_bridge = 24;
constexpr double ring_gap = 2, ring_width = 3;  // of what is selected
constexpr double most_ring_scale = 4;           // it stays within NodeItem::boundingRect

constexpr double least_number_zoom = 0.2, least_number = 9;  // pixels of a stage's number, where names are left out
constexpr double least_text_zoom = 0.6;                      // below it, words shrink with the rest

bool is_close(QPainter* painter) { return painter->worldTransform().m11() >= 0.35; }

/// What words are magnified by, so that they stay readable where the canvas is small.
double text_scale(QPainter* painter) { return 1 / std::clamp(painter->worldTransform().m11(), least_text_zoom, 1.0); }

void draw_badge(QPainter* painter, QPointF at, int level) {
    if (level == 0) return;
    const QColor fill = level == 2 ? theme().bad : theme().warning;
    painter->setPen(QPen(theme().surface, 1.5));
    painter->setBrush(fill);
    painter->drawEllipse(at, badge_radius, badge_radius);
    painter->setPen(theme().text_on(fill));
    QFont font = small_font();
    font.setBold(true);
    painter->setFont(font);
    painter->drawText(QRectF(at.x() - badge_radius, at.y() - badge_radius, 2 * badge_radius, 2 * badge_radius),
                      Qt::AlignCenter, "!");
}

/// A node that is lost: a cross, beside its number where that can be read, else over all of it.
void draw_lost_mark(QPainter* painter) {
    QPen pen(theme().bad, 2, Qt::SolidLine, Qt::RoundCap);
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
        pen.setCosmetic(true);
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

void draw_arrow_head(QPainter* painter, QPointF tip, double angle, double length) {
    const QPointF back_left = tip - length * QPointF(std::cos(angle - 0.4), std::sin(angle - 0.4));
    const QPointF back_right = tip - length * QPointF(std::cos(angle + 0.4), std::sin(angle + 0.4));
    painter->drawPolygon(QPolygonF({tip, back_left, back_right}));
}

double cross(QPointF a, QPointF b) { return a.x() * b.y() - a.y() * b.x(); }

/// The convex hull of these nodes and of the room for their names, clockwise as seen; of none the middle.
std::vector<QPointF> hull_of(const std::vector<QPointF>& nodes) {
    std::vector<QPointF> all(nodes);
    for (const QPointF node : nodes) all.push_back(node + QPointF(0, name_below));
    if (all.empty()) return {{0, 0}};
    std::sort(all.begin(), all.end(),
              [](QPointF a, QPointF b) { return a.x() < b.x() || (a.x() == b.x() && a.y() < b.y()); });
    std::vector<QPointF> hull;
    const auto chain = [&](auto from, auto to) {
        const std::size_t base = hull.size();
        for (; from != to; ++from) {
            while (hull.size() >= base + 2 &&
                   cross(hull.back() - hull[hull.size() - 2], *from - hull[hull.size() - 2]) <= 0)
                hull.pop_back();
            hull.push_back(*from);
        }
        hull.pop_back();  // the next chain begins there
    };
    chain(all.begin(), all.end());
    chain(all.rbegin(), all.rend());
    return hull;
}

/// The outline at `margin` round a convex hull that is clockwise as seen.
QPainterPath rounded(const std::vector<QPointF>& hull, double margin) {
    QPainterPath path;
    if (hull.size() == 1) {
        path.addEllipse(hull.front(), margin, margin);
        return path;
    }
    const auto degrees_out = [&](std::size_t i) {  // of the side from corner i to the next
        const QPointF side = hull[(i + 1) % hull.size()] - hull[i];
        return std::atan2(side.x(), side.y()) * 180 / std::numbers::pi;
    };
    for (std::size_t i = 0; i < hull.size(); ++i) {
        const double before = degrees_out((i + hull.size() - 1) % hull.size()), after = degrees_out(i);
        const double turn = std::remainder(after - before, 360);
        const QRectF box(hull[i] - QPointF(margin, margin), QSizeF(2 * margin, 2 * margin));
        if (i == 0) path.arcMoveTo(box, before);
        path.arcTo(box, before, turn > 90 ? turn - 360 : turn);  // never to the left
    }
    path.closeSubpath();
    return path;
}

/// How far a place is from a convex hull; within it: 0.
double distance_to(const std::vector<QPointF>& hull, QPointF place) {
    bool is_in = hull.size() > 2;
    double least = std::hypot(place.x() - hull.front().x(), place.y() - hull.front().y());
    for (std::size_t i = 0; i < hull.size(); ++i) {
        const QPointF side = hull[(i + 1) % hull.size()] - hull[i], to = place - hull[i];
        const double length = QPointF::dotProduct(side, side);
        const double along = length > 0 ? std::clamp(QPointF::dotProduct(side, to) / length, 0.0, 1.0) : 0;
        const QPointF away = to - along * side;
        least = std::min(least, std::hypot(away.x(), away.y()));
        is_in = is_in && cross(side, to) >= 0;
    }
    return is_in ? 0 : least;
}

}  // namespace

QPolygonF failure_flash() { return QPolygonF({{1.2, -5}, {-3, 0.8}, {-0.2, 0.8}, {-1.2, 5}, {3, -0.8}, {0.2, -0.8}}); }

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

QRectF NodeItem::boundingRect() const { return {-label_room, -node_radius - 16, 2 * label_room, 2 * node_radius + 46}; }

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
    if (isSelected() || link_target) {
        // Apart from the disc, whose hue may be near the accent's; as wide on the screen however far away.
        const double wide = std::clamp(1 / painter->worldTransform().m11(), 1.0, most_ring_scale);
        painter->setBrush(Qt::NoBrush);
        painter->setPen(QPen(t.surface, 2 * ring_gap + ring_width * wide));
        painter->drawEllipse(QPointF(0, 0), node_radius + ring_gap, node_radius + ring_gap);
        painter->setPen(QPen(t.accent, ring_width * wide));
        painter->drawEllipse(QPointF(0, 0), node_radius + ring_gap + ring_width * wide / 2,
                             node_radius + ring_gap + ring_width * wide / 2);
    }
    painter->setPen(down ? QPen(t.text_2, 1.5) : QPen(stage >= 0 ? t.surface : t.text_2, 1.5));
    painter->setBrush(fill);
    constexpr double radius = node_radius;
    painter->drawEllipse(QPointF(0, 0), radius, radius);
    if (stage >= 0 && Theme::hatched(stage) && !down) {
        painter->setPen(Qt::NoPen);
        painter->setBrush(QBrush(t.text_on(fill), Qt::BDiagPattern));
        painter->drawEllipse(QPointF(0, 0), radius, radius);
    }
    if (const double zoom = painter->worldTransform().m11(); stage >= 0 && zoom >= least_number_zoom) {
        QFont font = bold_font();
        const double least = std::min(least_number / zoom, 1.6 * node_radius);  // within the disc
        font.setPixelSize(static_cast<int>(std::lround(std::max(size::body_text * text_scale(painter), least))));
        painter->setFont(font);
        painter->setPen(t.text_on(fill));
        painter->drawText(QRectF(-node_radius, -node_radius, 2 * node_radius, 2 * node_radius),
                          Qt::AlignCenter | Qt::TextDontClip, QString::number(stage));
    }
    if (is_close(painter)) {
        painter->setFont(small_font());
        painter->setPen(left_out || down ? t.text_2 : t.text);
        const double scale = text_scale(painter);
        painter->save();
        painter->translate(0, node_radius + 2);
        painter->scale(scale, scale);
        painter->drawStaticText(QPointF(-label_.size().width() / 2, 0), label_);
        painter->restore();
    }
    draw_badge(painter, {node_radius * 0.75, -node_radius * 0.75}, fault_level);
    if (down) {
        draw_lost_mark(painter);
    } else if (fails) {
        // Further out where it is magnified: the stage's number stays free.
        const double out = node_radius * 0.75 + badge_radius * (failure_mark_scale(painter) - 1) * 0.9;
        draw_failure_mark(painter, {-out, -out});
    }
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
    const QColor colour = presence > 0.4 ? mix(t.line, t.text_2, strength * presence)
                                         : mix(t.surface, mix(t.line, t.text_2, 0.3 * strength), 2.5 * presence);
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
        joins_edges_ = QPointF::dotProduct(between.p2() - between.p1(), line_.p2() - line_.p1()) > 0;
        if (joins_edges_) {
            line_ = between;
        } else if (between.length() < line_.length()) {
            // Regions that lie on each other have nothing between them: a bridge over what both cover.
            const double half = std::max(between.length(), least_bridge) / 2;
            const QPointF along = (line_.p2() - line_.p1()) / line_.length();
            line_ = QLineF(between.center() - half * along, between.center() + half * along);
        }
    }
    end_room_ = joins_edges_ ? 1 : node_radius + 3;
    settle_depth();
}

void LinkItem::settle_depth() {
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
    const QColor calm = down    ? mix(t.surface, t.line, 0.6)
                        : apart ? mix(t.surface, look.colour, apart_share)
                                : look.colour;
    const QColor colour = isSelected()       ? t.accent
                          : fault_level == 2 ? t.bad
                          : fault_level == 1 ? t.warning
                          : critical         ? t.text
                          : hovered          ? t.text_2
                                             : calm;
    QPen pen(colour, std::max(look.width, isSelected() || critical ? 2.5 : fault_level > 0 ? 2.0 : 0.0));
    pen.setCosmetic(true);
    if (fault_level > 0) pen.setStyle(Qt::DashLine);
    painter->setPen(pen);
    if (line_.isNull()) return;
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

RegionItem::RegionItem(std::string id) : id_(std::move(id)), hull_{QPointF()} {
    setFlags(ItemIsSelectable);
    setZValue(-2);
}

void RegionItem::follow_nodes() {
    prepareGeometryChange();
    QPointF sum;
    for (const auto* node : nodes) sum += node->pos();
    if (!nodes.empty()) setPos(sum / static_cast<double>(nodes.size()));
    std::vector<QPointF> places;
    for (const auto* node : nodes) places.push_back(node->pos() - pos());
    if (folded_ || places != places_ || area_.isEmpty()) {
        places_ = std::move(places);
        hull_ = hull_of(places_);
        area_ = folded_ ? QPainterPath{} : rounded(hull_, region_margin);
        if (folded_) area_.addEllipse(QPointF(0, 0), folded_radius_px * pixel_, folded_radius_px * pixel_);
    }
    follow_area();
}

QPointF RegionItem::edge_towards(QPointF scene_place) const {
    const QPointF way = scene_place - pos();
    const double length = std::hypot(way.x(), way.y());
    if (length == 0) return pos();
    if (folded_) return pos() + way * (folded_radius_px * pixel_ / length);
    // The middle lies in the hull, and what is further out on the way lies further from it: halving finds the margin.
    double in = 0, out = area_.boundingRect().width() + area_.boundingRect().height();
    for (int i = 0; i < 24; ++i) {
        const double half = (in + out) / 2;
        (distance_to(hull_, way * (half / length)) < region_margin ? in : out) = half;
    }
    return pos() + way * (in / length);
}

void RegionItem::follow_area() {
    for (auto* link : links) link->follow_ends();
    if (folded_)
        for (auto* node : nodes)
            for (auto* link : node->links) link->follow_ends();
    if (label != nullptr) label->follow();
}

bool RegionItem::fold(bool folded, double zoom) {
    const double pixel = 1 / zoom;
    if (folded == folded_ && (!folded || pixel == pixel_)) return false;
    folded_ = folded;
    pixel_ = pixel;
    area_.clear();
    setZValue(folded ? 2 : -2);  // as its nodes
    for (auto* node : nodes) {
        node->setVisible(!folded);
        for (auto* link : node->links) link->follow_ends();
    }
    follow_nodes();
    return true;
}

/// A ring of the nodes' stages round their number.
void RegionItem::paint_folded(QPainter& painter) const {
    const Theme& t = theme();
    painter.save();
    painter.scale(pixel_, pixel_);
    const bool holds_selected =
        std::any_of(nodes.begin(), nodes.end(), [](const auto* n) { return n->holds_selection; });
    painter.setPen(isSelected() || link_target || holds_selected ? QPen(t.accent, 3) : QPen(t.text_2, 1.5));
    painter.setBrush(t.surface_2);
    painter.drawEllipse(QPointF(0, 0), folded_radius_px, folded_radius_px);
    std::map<int, int> of_stage;
    for (const auto* node : nodes) ++of_stage[node->stage];
    constexpr double ring = folded_radius_px - 4;
    double from = 90;
    for (const auto& [stage, count] : of_stage) {
        const double span = 360.0 * count / static_cast<double>(nodes.size());
        painter.setPen(QPen(stage >= 0 ? t.stage(stage) : t.line, 4, Qt::SolidLine, Qt::FlatCap));
        painter.setBrush(Qt::NoBrush);
        painter.drawArc(QRectF(-ring, -ring, 2 * ring, 2 * ring), static_cast<int>(std::lround(16 * from)),
                        static_cast<int>(std::lround(-16 * span)));
        from -= span;
    }
    painter.setPen(t.text);
    painter.setFont(bold_font());
    painter.drawText(QRectF(-ring, -ring, 2 * ring, 2 * ring), Qt::AlignCenter, QString::number(nodes.size()));
    int fault = 0;
    bool down = false, fails = false;
    for (const auto* node : nodes) {
        fault = std::max(fault, node->fault_level);
        down = down || node->down;
        fails = fails || node->fails;
    }
    constexpr double out = folded_radius_px * 0.75;
    draw_badge(&painter, {out, -out}, fault);
    if (down || fails) {
        painter.translate(-out, -out);
        painter.setPen(QPen(t.bad, 1));
        painter.setBrush(down ? t.bad : t.surface);
        painter.drawEllipse(QPointF(0, 0), badge_radius, badge_radius);
        painter.setPen(Qt::NoPen);
        painter.setBrush(down ? t.surface : t.bad);
        painter.drawPolygon(failure_flash());
    }
    painter.restore();
}

QRectF RegionItem::boundingRect() const { return area_.boundingRect().adjusted(-3, -3, 3, 3); }

void RegionItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (folded_) return paint_folded(*painter);
    const Theme& t = theme();
    painter->setPen(isSelected() || link_target ? QPen(t.accent, 2)
                    : fault_level > 0           ? QPen(fault_level == 2 ? t.bad : t.warning, 1.5)
                                                : QPen(t.surface, 2));  // those that lie on each other stay two
    painter->setBrush(mix(t.surface, t.text_2, t.dark ? 0.16 : 0.1));
    painter->drawPath(area_);
}

RegionLabel::RegionLabel(RegionItem& region, bool has_handle) : region_(region), has_handle_(has_handle) {
    setZValue(1.7);  // above what flows, below nodes
    setAcceptedMouseButtons(Qt::NoButton);
}

QRectF RegionLabel::boundingRect() const {
    QRectF area = region_.boundingRect().translated(region_.pos());
    if (!region_.is_folded()) area.translate(side_ * std::max(0.0, area.width() / 2 - region_margin), 0);
    if (region_.is_folded()) {
        const double pixel = region_.pixel(), top = below_ ? area.bottom() : area.top() - 20 * pixel;
        return {area.center().x() - label_room * pixel, top, 2 * label_room * pixel, 20 * pixel};
    }
    return {area.center().x() - label_room, below_ ? area.bottom() - 8 : area.top() - 14, 2 * label_room, 28};
}

/// The name's ground, as the canvas shows it where words are magnified by `scale`.
QRectF RegionLabel::words(double scale) const {
    QFont font = small_font();
    font.setPixelSize(static_cast<int>(std::lround(size::small_text * scale)));
    QRectF box = QRectF(QFontMetrics(font).boundingRect(QString::fromStdString(region_.id()))).adjusted(-4, -1, 4, 1);
    box.moveCenter(boundingRect().center());
    return box;
}

double RegionLabel::scale(double zoom) const {
    return region_.is_folded() ? region_.pixel() : 1 / std::clamp(zoom, least_text_zoom, 1.0);
}

QRectF RegionLabel::words_box() const { return words(region_.is_folded() ? region_.pixel() : 1); }

QRectF RegionLabel::words_and_handle_box() const {
    const double pixel = region_.is_folded() ? region_.pixel() : 1;
    return words_box().adjusted(0, 0, has_handle_ ? 2 * (handle_radius + 3) * pixel : 0, 0);
}

QPainterPath RegionLabel::shape() const {
    QPainterPath path;
    path.addRect(words_box());
    return path;
}

QPointF RegionLabel::handle(double zoom) const {
    const QRectF box = words(scale(zoom));
    const double pixel = region_.is_folded() ? region_.pixel() : 1;
    return {box.right() + (handle_radius + 3) * pixel, box.center().y()};
}

bool RegionLabel::on_handle(QPointF scene_place, double zoom) const {
    if (!has_handle_) return false;
    const QPointF d = scene_place - handle(zoom);
    return std::hypot(d.x(), d.y()) <= (handle_radius + 3) * (region_.is_folded() ? region_.pixel() : 1);
}

void RegionLabel::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (!is_close(painter) && !region_.is_folded()) return;
    const Theme& t = theme();
    const QColor ground = mix(t.surface, t.text_2, t.dark ? 0.16 : 0.1);
    const double magnified = scale(painter->worldTransform().m11());
    QFont font = small_font();
    font.setPixelSize(static_cast<int>(std::lround(size::small_text * magnified)));
    painter->setFont(font);
    const QRectF box = words(magnified);
    painter->setPen(Qt::NoPen);
    painter->setBrush(ground);
    painter->drawRoundedRect(box, size::radius, size::radius);
    painter->setPen(t.text_2);
    painter->drawText(box, Qt::AlignCenter, QString::fromStdString(region_.id()));
    if (has_handle_) {
        painter->setPen(QPen(region_.isSelected() || region_.link_target ? t.accent : t.text_2, 1.5));
        painter->setBrush(t.surface);
        const double radius = handle_radius * (region_.is_folded() ? region_.pixel() : 1);
        painter->drawEllipse(handle(painter->worldTransform().m11()), radius, radius);
    }
    draw_badge(painter, {box.left() - badge_radius, box.center().y()}, region_.fault_level);
}

PathItem::PathItem() { setZValue(3); }

void PathItem::set_way(const std::vector<NodeItem*>& nodes) {
    prepareGeometryChange();
    nodes_ = nodes;
    places_.clear();
    bounds_ = {};
    for (const auto* node : nodes) {
        const QPointF at = node->seen_at();
        places_.push_back(at);
        bounds_ |= QRectF(at.x() - 60, at.y() - 60, 120, 120);
    }
}

void PathItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    for (std::size_t i = 0; i + 1 < places_.size(); ++i) {
        const QLineF line(places_[i], places_[i + 1]);
        if (line.length() < 2 * node_radius + 8) continue;
        const double angle = std::atan2(line.dy(), line.dx());
        const QPointF along(std::cos(angle), std::sin(angle)), across(-along.y(), along.x());
        // Bent to one side, so that there and back do not lie on each other.
        const QPointF a = line.p1() + (node_radius + 3) * along, b = line.p2() - (node_radius + 5) * along;
        const QPointF middle = line.center() + across * std::min(30.0, line.length() * 0.08);
        QPainterPath curve(a);
        curve.quadTo(middle, b);
        painter->setPen(QPen(t.accent, 2.5));
        painter->setBrush(Qt::NoBrush);
        painter->drawPath(curve);
        painter->setPen(Qt::NoPen);
        painter->setBrush(t.accent);
        draw_arrow_head(painter, b + 2 * along, std::atan2(b.y() - middle.y(), b.x() - middle.x()), 11);
        const QPointF chip = curve.pointAtPercent(0.5);
        painter->drawEllipse(chip, 8, 8);
        painter->setPen(t.on_accent);
        painter->setFont(small_font());
        painter->drawText(QRectF(chip.x() - 8, chip.y() - 8, 16, 16), Qt::AlignCenter, QString::number(i + 1));
    }
}

}  // namespace skippipe
