// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of the canvas and their names.
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/item_marks.h"
#include "views/topology/items.h"

namespace skippipe {
namespace {

constexpr double handle_radius = 4.5;
constexpr double beside_disc = 6;                  ///< pixels between a folded region and a name beside it
constexpr int least_count_px = 8;                  ///< of the number in a folded disc
constexpr double named_zoom = 0.6, name_room = 4;  ///< a hull holds names as large as then, and so much round them

double cross(QPointF a, QPointF b) { return a.x() * b.y() - a.y() * b.x(); }

/// The convex hull of these places, clockwise as seen; of none the middle.
std::vector<QPointF> hull_of(std::vector<QPointF> all) {
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

QColor region_ground() { return mix(theme().surface, theme().text_2, theme().dark ? 0.16 : 0.1); }

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
    for (const auto* node : nodes) {
        const QPointF at = node->pos() - pos();
        const QSizeF name = node->name_box(named_zoom).size();
        const double half = std::max(0.0, name.width() / 2 + name_room - region_margin);
        const double below = node_radius + name.height() + name_room - region_margin;
        places.insert(places.end(), {at, at + QPointF(-half, below), at + QPointF(half, below)});
    }
    if (folded_ || places != places_ || area_.isEmpty()) {
        places_ = std::move(places);
        hull_ = hull_of(places_);
        area_ = folded_ ? QPainterPath{} : rounded(hull_, region_margin);
        if (folded_) area_.addEllipse(QPointF(0, 0), radius_px_ * pixel_, radius_px_ * pixel_);
    }
    follow_area();
}

QPointF RegionItem::edge_towards(QPointF scene_place) const {
    const QPointF way = scene_place - pos();
    const double length = std::hypot(way.x(), way.y());
    if (length == 0) return pos();
    if (folded_) return pos() + way * (radius_px_ * pixel_ / length);
    // The middle lies in the hull, and what is further out on the way lies further from it: halving finds the margin.
    double in = 0, out = area_.boundingRect().width() + area_.boundingRect().height();
    for (int i = 0; i < 24; ++i) {
        const double half = (in + out) / 2;
        (distance_to(hull_, way * (half / length)) < region_margin ? in : out) = half;
    }
    return pos() + way * (in / length);
}

bool RegionItem::covers(QPointF scene_place) const {
    const QPointF place = scene_place - pos();
    return folded_ ? std::hypot(place.x(), place.y()) < radius_px_ * pixel_ : distance_to(hull_, place) < region_margin;
}

void RegionItem::follow_area() {
    for (auto* link : links) link->follow_ends();
    if (folded_)
        for (auto* node : nodes)
            for (auto* link : node->links) link->follow_ends();
    if (label != nullptr) label->follow();
}

bool RegionItem::fold(bool folded, double zoom, double radius_px) {
    const double pixel = 1 / zoom;
    if (folded == folded_ && (!folded || (pixel == pixel_ && radius_px == radius_px_))) return false;
    folded_ = folded;
    pixel_ = pixel;
    radius_px_ = radius_px;
    area_.clear();
    settle_depth();
    for (auto* node : nodes) {
        node->setVisible(!folded);
        for (auto* link : node->links) link->follow_ends();
    }
    follow_nodes();
    return true;
}

/// Folded as its nodes are, and with a share of the critical path above names that cover others.
void RegionItem::settle_depth() {
    const bool is_critical =
        std::any_of(nodes.begin(), nodes.end(), [](const auto* node) { return node->critical_share > 0; });
    setZValue(!folded_ ? -2 : is_critical ? 2.2 : 2);
}

/// A ring of the nodes' stages round their number, which is no stage's.
void RegionItem::paint_folded(QPainter& painter) const {
    const Theme& t = theme();
    painter.save();
    painter.scale(pixel_, pixel_);
    const bool holds_selected =
        std::any_of(nodes.begin(), nodes.end(), [](const auto* n) { return n->holds_selection; });
    painter.setPen(isSelected() || link_target || holds_selected ? QPen(t.accent, 3) : QPen(t.text_2, 1.5));
    painter.setBrush(t.surface_2);
    painter.drawEllipse(QPointF(0, 0), radius_px_, radius_px_);
    std::map<int, int> of_stage;
    for (const auto* node : nodes) ++of_stage[node->stage];
    const double wide = radius_px_ * 4 / most_folded_px, ring = radius_px_ - wide;
    double from = 90;
    for (const auto& [stage, count] : of_stage) {
        const double span = 360.0 * count / static_cast<double>(nodes.size());
        painter.setPen(QPen(stage >= 0 ? t.stage(stage) : t.line, wide, Qt::SolidLine, Qt::FlatCap));
        painter.setBrush(Qt::NoBrush);
        painter.drawArc(QRectF(-ring, -ring, 2 * ring, 2 * ring), static_cast<int>(std::lround(16 * from)),
                        static_cast<int>(std::lround(-16 * span)));
        from -= span;
    }
    painter.setPen(t.text);
    painter.setFont(count_font());
    painter.drawText(QRectF(-ring, -ring, 2 * ring, 2 * ring), Qt::AlignCenter | Qt::TextDontClip, count_words());
    int fault = 0;
    bool down = false, fails = false;
    for (const auto* node : nodes) {
        fault = std::max(fault, node->fault_level);
        down = down || node->down;
        fails = fails || node->fails;
    }
    const double out = radius_px_ * 0.75;
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

/// As large as the disc has room for, and never too small to be read.
QFont RegionItem::count_font() const {
    QFont font = bold_font();
    const int of_disc = static_cast<int>(radius_px_ * size::body_text / most_folded_px) + 1;
    font.setPixelSize(std::clamp(of_disc, least_count_px, size::body_text));
    return font;
}

/// "×12", in a small disc "12"; empty where it has not even room for that.
QString RegionItem::count_words() const {
    const double room = 2 * (radius_px_ - 2 * radius_px_ / most_folded_px);  // within the ring
    const QFontMetrics measured(count_font());
    for (const QString& words : {QStringLiteral("×%1").arg(nodes.size()), QString::number(nodes.size())})
        if (measured.horizontalAdvance(words) <= room) return words;
    return {};
}

QRectF RegionItem::boundingRect() const { return area_.boundingRect().adjusted(-3, -3, 3, 3); }

void RegionItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (folded_) return paint_folded(*painter);
    const Theme& t = theme();
    painter->setPen(isSelected() || link_target ? QPen(t.accent, 2)
                    : fault_level > 0           ? QPen(fault_level == 2 ? t.bad : t.warning, 1.5)
                                                : QPen(t.surface, 2));  // those that lie on each other stay two
    constexpr double aimed_at = 0.25;
    painter->setBrush(link_target ? mix(region_ground(), t.accent, aimed_at) : region_ground());
    painter->drawPath(area_);
}

RegionLabel::RegionLabel(RegionItem& region, bool has_handle) : region_(region), has_handle_(has_handle) {
    setZValue(below_nodes);
    setAcceptedMouseButtons(Qt::NoButton);
}

/// The band of the name at full size.
QRectF RegionLabel::band() const {
    QRectF area = region_.boundingRect().translated(region_.pos());
    if (!region_.is_folded()) area.translate(side_ * std::max(0.0, area.width() / 2 - region_margin), 0);
    if (region_.is_folded()) return folded_band();
    return {area.center().x() - label_room, below_ ? area.bottom() - 8 : area.top() - 14, 2 * label_room, 28};
}

/// Above the disc, below it or, as wide as its words, beside it.
QRectF RegionLabel::folded_band() const {
    constexpr double high = 20;
    const QRectF disc = region_.boundingRect().translated(region_.pos());
    const double pixel = region_.pixel();
    if (side_ == 0) {
        const double top = below_ ? disc.bottom() : disc.top() - high * pixel;
        return {disc.center().x() - label_room * pixel, top, 2 * label_room * pixel, high * pixel};
    }
    const double wide = pixel * (QFontMetrics(small_font()).horizontalAdvance(QString::fromStdString(region_.id())) +
                                 2 * beside_disc + (has_handle_ ? 2 * (handle_radius + 3) : 0));
    QRectF band(0, disc.center().y() - high * pixel / 2, wide, high * pixel);
    side_ > 0 ? band.moveLeft(disc.right()) : band.moveRight(disc.left());
    return band;
}

/// With what words that are magnified reach beyond their band: to the sides half of it again, and below further.
QRectF RegionLabel::boundingRect() const {
    if (region_.is_folded()) return band() | words_and_handle_box(1);
    constexpr double magnified = 30;
    return band().adjusted(-label_room, -magnified, label_room, 2 * magnified) | far_box_;
}

/// The name's ground, as the canvas shows it where words are magnified by `scale`: below its region it gives way to the
/// names of the region's nodes, which grow downwards.
QRectF RegionLabel::words(double scale) const {
    QFont font = small_font();
    font.setPixelSize(static_cast<int>(std::lround(size::small_text * scale)));
    QRectF box = QRectF(QFontMetrics(font).boundingRect(QString::fromStdString(region_.id()))).adjusted(-4, -1, 4, 1);
    box.moveCenter(band().center());
    if (side_ != 0 && region_.is_folded() && has_handle_) box.translate(-(handle_radius + 3) * region_.pixel(), 0);
    if (!below_ || region_.is_folded()) return box;
    for (const auto* node : region_.nodes) {
        const QRectF name = node->name_box(1 / scale);
        if (name.left() < box.right() && name.right() > box.left()) box.moveTop(std::max(box.top(), name.bottom()));
    }
    return box;
}

double RegionLabel::scale(double zoom) const { return region_.is_folded() ? region_.pixel() : text_scale(zoom); }

QRectF RegionLabel::words_box() const { return words(region_.is_folded() ? region_.pixel() : 1); }

QRectF RegionLabel::words_and_handle_box() const { return words_and_handle_box(1); }

QRectF RegionLabel::words_and_handle_box(double zoom) const {
    const double pixel = region_.is_folded() ? region_.pixel() : 1;
    return words(scale(zoom)).adjusted(0, 0, has_handle_ ? 2 * (handle_radius + 3) * pixel : 0, 0);
}

bool RegionLabel::is_shown() const {
    return has_room_ || !region_.is_folded() || region_.hovered || region_.isSelected();
}

QPainterPath RegionLabel::shape() const {
    QPainterPath path;
    if (is_shown()) path.addRect(words_box());
    return path;
}

QPointF RegionLabel::handle(double zoom) const {
    const QRectF box = words(scale(zoom));
    const double pixel = region_.is_folded() ? region_.pixel() : 1;
    return {box.right() + (handle_radius + 3) * pixel, box.center().y()};
}

bool RegionLabel::on_handle(QPointF scene_place, double zoom) const {
    if (!has_handle_ || !is_shown()) return false;
    const QPointF d = scene_place - handle(zoom);
    return std::hypot(d.x(), d.y()) <= (handle_radius + 3) * (region_.is_folded() ? region_.pixel() : 1);
}

QSizeF RegionLabel::far_size(double zoom) const {
    constexpr double aside = 2;
    const QFontMetricsF metrics(small_font());
    const QSizeF words(metrics.horizontalAdvance(QString::fromStdString(region_.id())) + 2 * aside, metrics.height());
    return words * (double(size::tiny_text) / size::small_text / zoom);
}

void RegionLabel::set_far_box(const QRectF& box) {
    if (box == far_box_) return;
    prepareGeometryChange();
    far_box_ = box;
}

QRectF RegionLabel::seen_box(double zoom) const {
    if (zoom < least_name_zoom && !region_.is_folded()) return far_box_;
    return is_shown() ? words_and_handle_box(zoom) : QRectF{};
}

void RegionLabel::paint_far(QPainter& painter) const {
    const double scale = far_box_.height() / QFontMetricsF(small_font()).height();
    painter.save();
    painter.translate(far_box_.center());
    painter.scale(scale, scale);
    QRectF box({}, far_box_.size() / scale);
    box.moveCenter({});
    painter.setFont(small_font());
    painter.setPen(Qt::NoPen);
    painter.setBrush(region_ground());
    painter.drawRoundedRect(box, size::radius, size::radius);
    painter.setPen(theme().text_2);
    painter.drawText(box, Qt::AlignCenter, QString::fromStdString(region_.id()));
    painter.restore();
}

void RegionLabel::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (!is_close(painter) && !region_.is_folded() && !far_box_.isEmpty()) return paint_far(*painter);
    if (!is_shown() || (!is_close(painter) && !region_.is_folded())) return;
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

}  // namespace skippipe
