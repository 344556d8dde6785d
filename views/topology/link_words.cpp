// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/link_words.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <optional>

#include <QGraphicsScene>
#include <QGraphicsView>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/item_marks.h"

namespace skippipe {
namespace {
constexpr double words_room = 400, words_height = 300;  // pixels beside a line
constexpr double least_leader = 10;  ///< pixels from words to their line, below which they stand on it as it is
constexpr double least_seen = 1.6;   ///< times what the words hide of a line, at which it is still seen

/// The middle of a box of that size, moved to the side by less than half of it where that brings it into sight: it
/// stays on what it was in the middle of.
QPointF moved_within(QPointF middle, QSizeF size, const std::optional<QRectF>& seen) {
    constexpr double edge = 2, most_moved = 0.4;
    if (!seen) return middle;
    const double half = size.width() / 2 + edge, most = most_moved * size.width();
    const double left = seen->left() + half - middle.x(), right = middle.x() - (seen->right() - half);
    const double moved = left > 0 ? left : right > 0 ? -right : 0;
    return std::abs(moved) <= most ? middle + QPointF(moved, 0) : middle;
}
/// Round the middle of a line, the nearest first: where words go that have no room along it.
void add_around(std::vector<QPointF>& places, QPointF middle, QSizeF size, double scale) {
    constexpr double step = 22, furthest = 220;  // pixels between words and the middle
    constexpr int ways = 16;
    for (double away = step; away <= furthest; away += step)
        for (int way = 0; way < ways; ++way) {
            const double angle = 2 * std::numbers::pi * way / ways, x = std::cos(angle), y = std::sin(angle);
            places.push_back(middle +
                             QPointF(x * (away * scale + size.width() / 2), y * (away * scale + size.height() / 2)));
        }
}

/// How many of these a line runs over.
int crossed(const QLineF& line, const std::vector<QRectF>& things) {
    return static_cast<int>(std::count_if(things.begin(), things.end(), [&](const QRectF& box) {
        const QLineF sides[] = {{box.topLeft(), box.bottomRight()}, {box.topRight(), box.bottomLeft()}};
        return std::any_of(std::begin(sides), std::end(sides), [&](const QLineF& side) {
            return line.intersects(side, nullptr) == QLineF::BoundedIntersection;
        });
    }));
}

/// Words are as large on the screen however far out.
double words_scale(double zoom) { return 1 / std::min(zoom, 1.0); }
}  // namespace

double link_width(double bandwidth_bytes_per_s, const BandwidthRange& among) {
    constexpr double narrow_bytes_per_s = 20e6 / 8, pixels_a_decade = 1.6;
    constexpr double whole_spread = 4;  // times the slowest, from which on all widths are used
    const auto by_itself = [&](double bytes_per_s) {
        return std::clamp(1 + pixels_a_decade * std::log10(std::max(bytes_per_s, 1.0) / narrow_bytes_per_s), 1.0,
                          widest_link);
    };
    const double slowest = std::max(among.slowest_bytes_per_s, 1.0), ratio = among.fastest_bytes_per_s / slowest;
    constexpr double same = 1.01;
    if (!(ratio > same)) return by_itself(bandwidth_bytes_per_s);
    const double spread = (widest_link - 1) * std::min(1.0, std::log(ratio) / std::log(whole_spread));
    const double middle = by_itself(std::sqrt(slowest * among.fastest_bytes_per_s));
    const double least = std::clamp(middle - spread / 2, 1.0, widest_link - spread);
    const double share = std::log(std::max(bandwidth_bytes_per_s, 1.0) / slowest) / std::log(ratio);
    return least + spread * std::clamp(share, 0.0, 1.0);
}

BandwidthRange bandwidths_of(const std::vector<Link>& links) {
    BandwidthRange range;
    for (const auto& link : links) {
        const double one = link.bandwidth_bytes_per_s;
        range.slowest_bytes_per_s = range.slowest_bytes_per_s > 0 ? std::min(range.slowest_bytes_per_s, one) : one;
        range.fastest_bytes_per_s = std::max(range.fastest_bytes_per_s, one);
    }
    return range;
}

QString link_name(const Link& link) {
    const QString arrow = QString::fromUtf8(link.both_ways ? " ↔ " : " → ");
    return QString::fromStdString(link.from) + arrow + QString::fromStdString(link.to);
}

QString link_words(const Link& link) {
    return QObject::tr("%1, %2").arg(without_zeros(duration(link.latency_s)),
                                     without_zeros(quantity(8 * link.bandwidth_bytes_per_s, "bit/s")));
}

QString critical_words(double share) {
    return QObject::tr("critical link: %1 of the critical path").arg(percent(share));
}

QString critical_node_words(double share) {
    return QObject::tr("critical node: %1 of the critical path").arg(percent(share));
}

LinkWordsItem::LinkWordsItem() {
    setZValue(4);
    setAcceptedMouseButtons(Qt::NoButton);
}

void LinkWordsItem::show_links(std::vector<const LinkItem*> links) {
    prepareGeometryChange();
    links_ = std::move(links);
    bounds_ = {};
    for (const auto* link : links_)
        bounds_ |= QRectF(link->line().p1(), link->line().p2())
                       .normalized()
                       .adjusted(-words_room * words_scale(zoom_), -words_height * words_scale(zoom_),
                                 words_room * words_scale(zoom_), words_height * words_scale(zoom_));
    update();
}

void LinkWordsItem::set_zoom(double zoom) {
    if (zoom == zoom_) return;
    zoom_ = zoom;
    follow_links();
}

/// On the line, where that is seen on both sides, or beside it, near its middle, where it covers the least of nodes and
/// of names; on a line that is near the edge of the view not in its own middle.
QRectF LinkWordsItem::box_of(const LinkItem& link, double zoom, std::vector<QRectF> taken) const {
    const double scale = words_scale(zoom);
    if (shares_ != nullptr)
        for (const QRectF& box : shares_->boxes(zoom)) taken.push_back(box);
    const QRectF words = QFontMetrics(small_font()).boundingRect(QRect(), Qt::AlignCenter, words_of(link));
    const QSizeF size = words.adjusted(-5, -2, 5, 2).size() * scale;
    const QLineF& line = link.line();
    std::vector<QPointF> places;
    constexpr double shares[] = {0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8};
    std::optional<QRectF> seen;
    if (const auto views = scene()->views(); !views.isEmpty())
        seen = views.front()->mapToScene(views.front()->viewport()->rect()).boundingRect();
    const bool has_badge = link.fault_level > 0 || link.fails;  // in the middle
    const QPointF along = line.length() > 0 ? (line.p2() - line.p1()) / line.length() : QPointF(1, 0);
    const double hidden = std::min(size.width() / std::max(std::abs(along.x()), 1e-9),
                                   size.height() / std::max(std::abs(along.y()), 1e-9));
    if (line.length() >= least_seen * hidden || line.length() == 0)
        for (const double share : shares)
            places.push_back(moved_within(line.pointAt(share) + QPointF(0, has_badge ? 20 * scale : 0), size, seen));
    if (line.length() > 0) {
        const QPointF across(-along.y(), along.x());
        const double away = std::abs(across.x()) * size.width() / 2 + std::abs(across.y()) * size.height() / 2 + 6;
        for (const double further : {0.0, 24.0, 48.0})
            for (const double share : shares)
                for (const double side : {1.0, -1.0})
                    places.push_back(line.pointAt(share) + side * (away + further * scale) * across);
    }
    add_around(places, line.center(), size, scale);
    QRectF box({}, size);
    const auto around = [&](QPointF place) {
        box.moveCenter(place);
        return box;
    };
    // Where it is in sight, if anywhere.
    if (seen) {
        std::vector<QPointF> in_sight;
        std::copy_if(places.begin(), places.end(), std::back_inserter(in_sight),
                     [&](QPointF place) { return seen->contains(around(place)); });
        if (!in_sight.empty()) places = std::move(in_sight);
    }
    const auto things = things_near(line, zoom);
    // A way that is short, and runs over as little as can be: over one thing rather than so many pixels further.
    constexpr double worth_px = 30;
    const auto way_cost = [&](const QRectF& there) {
        const QLineF way = leader_of(line, there);
        return way.length() / scale + worth_px * crossed(way, things);
    };
    constexpr double apart = 4;  // of what it must not touch, on both sides together
    const QSizeF with_edge = size + QSizeF(apart, apart) * scale;
    return around(quietest_place(*scene(), places, with_edge, zoom, nullptr, taken, way_cost));
}

/// Nodes, folded regions and names, which a way to a line runs over only where it must.
std::vector<QRectF> LinkWordsItem::things_near(const QLineF& line, double zoom) const {
    const double wide = words_room * words_scale(zoom), high = words_height * words_scale(zoom);
    std::vector<QRectF> things;
    if (shares_ != nullptr) things = shares_->boxes(zoom);
    const QRectF near = QRectF(line.p1(), line.p2()).normalized().adjusted(-wide, -high, wide, high);
    for (const auto* item : scene()->items(near, Qt::IntersectsItemBoundingRect)) {
        if (const auto* label = dynamic_cast<const RegionLabel*>(item); label != nullptr && label->is_shown())
            things.push_back(label->words_and_handle_box(zoom));
        if (const auto* region = dynamic_cast<const RegionItem*>(item); region != nullptr && region->is_folded())
            things.push_back(region->sceneBoundingRect());
        if (const auto* node = dynamic_cast<const NodeItem*>(item); node != nullptr && node->isVisible()) {
            things.push_back(node->shape().boundingRect().translated(node->pos()));
            things.push_back(node->name_box(zoom));
        }
    }
    return things;
}

QLineF LinkWordsItem::leader_of(const QLineF& line, const QRectF& box) {
    const auto nearest = [](const QRectF& in, QPointF to) {
        return QPointF(std::clamp(to.x(), in.left(), in.right()), std::clamp(to.y(), in.top(), in.bottom()));
    };
    const double squared = QPointF::dotProduct(line.p2() - line.p1(), line.p2() - line.p1());
    if (squared <= 0) return {};
    QLineF shortest;
    const int steps = std::max(40, static_cast<int>(line.length() / 4));  // less than words are high apart
    for (int i = 0; i <= steps; ++i) {
        const QPointF on = line.pointAt(static_cast<double>(i) / steps);
        const QLineF way(nearest(box, on), on);
        if (i == 0 || way.length() < shortest.length()) shortest = way;
    }
    return shortest;
}

QString LinkWordsItem::words_of(const LinkItem& link) {
    const QString words = link.hovered ? link.name + '\n' + link.words : link.words;
    return link.critical ? words + '\n' + critical_words(link.critical_share) : words;
}

void LinkWordsItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const Theme& t = theme();
    const double zoom = painter->worldTransform().m11(), scale = words_scale(zoom);
    std::vector<QRectF> taken;
    for (const auto* link : links_) {
        const QRectF there = box_of(*link, zoom, taken);
        taken.push_back(there);
        if (const QLineF leader = leader_of(link->line(), there); leader.length() > least_leader * scale) {
            painter->setPen(screen_pen(*painter, link->isSelected() ? t.accent : t.text_2, 1));
            painter->drawLine(leader);
        }
        painter->save();
        painter->translate(there.center());
        painter->scale(scale, scale);
        painter->setFont(small_font());
        QRectF box({}, there.size() / scale);
        box.moveCenter({});
        painter->setPen(QPen(link->isSelected() ? t.accent : t.line, 1));
        painter->setBrush(t.surface);
        painter->drawRoundedRect(box, size::radius, size::radius);
        painter->setPen(t.text);
        painter->drawText(box, Qt::AlignCenter, words_of(*link));
        painter->restore();
    }
}

}  // namespace skippipe
