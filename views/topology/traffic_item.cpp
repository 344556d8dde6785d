// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/traffic_item.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <QGraphicsScene>
#include <QObject>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double least_flow = 1.5, most_flow = 7;  ///< pixels of a line's width
constexpr double aside = 4;                        ///< of the two ways between two nodes, apart
constexpr double gauge_radius = node_radius + 5;
constexpr double small_parcel_radius = 4;
constexpr std::size_t crowd = 24;                    ///< more at once are small, and one of a kind on a way
constexpr std::size_t most_alone = 3;                ///< of a kind on a way, else
constexpr std::size_t most_numbered = 120;           ///< more at once are discs alone
constexpr double number_reach = 44;                  ///< pixels that a number takes beside its disc, at most
constexpr double palest = 0.25;                      ///< of a line that is hardly used
constexpr double own_tone = 0.6, other_tone = 0.08;  ///< of a selected node's lines at least, and of the others
constexpr double carrying_tone = 0.5;                ///< of a line that carries something now, at least
constexpr double trace_tone = 0.14, trace_width = 1, seen_share = 0.6;  ///< lines less busy, of the busiest: traces
constexpr double reach_px = 8;                                          ///< of the mouse

constexpr qsizetype most_links = 64;  ///< that are selected: of more none stands out

/// Those that are selected.
std::vector<const LinkItem*> selected_links(const QGraphicsScene* scene) {
    std::vector<const LinkItem*> links;
    const auto items = scene != nullptr ? scene->selectedItems() : QList<QGraphicsItem*>{};
    if (items.size() > most_links) return links;
    for (const auto* item : items)
        if (item->type() == link_item) links.push_back(static_cast<const LinkItem*>(item));
    return links;
}

/// What goes from one node to the other goes over one of these links: between them, or between their regions.
bool goes_over(const std::vector<const LinkItem*>& links, const NodeItem& from, const NodeItem& to) {
    const auto joins = [](const LinkItem* link, const QGraphicsItem* a, const QGraphicsItem* b) {
        return a != nullptr && b != nullptr &&
               ((link->from() == a && link->to() == b) || (link->from() == b && link->to() == a));
    };
    return std::any_of(links.begin(), links.end(), [&](const LinkItem* link) {
        return joins(link, &from, &to) || joins(link, from.region, to.region);
    });
}

}  // namespace

void draw_gauge(QPainter* painter, QPointF middle, double radius, double share, bool works) {
    const QRectF box(middle - QPointF(radius, radius), QSizeF(2 * radius, 2 * radius));
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(theme().line, 3, Qt::SolidLine, Qt::FlatCap));
    painter->drawEllipse(box);
    painter->setPen(QPen(works ? theme().good : theme().text_2, works ? 4 : 2.5, Qt::SolidLine, Qt::FlatCap));
    painter->drawArc(box, 90 * 16, -static_cast<int>(std::lround(360 * 16 * std::clamp(share, 0., 1.))));
}

void draw_parcel(QPainter* painter, QPointF at, SpanKind kind, double radius) {
    const bool forward = kind == SpanKind::transfer_forward;
    const QColor colour = kind == SpanKind::transfer_reduction ? theme().reduction : theme().accent;
    painter->setPen(QPen(forward ? theme().surface : colour, 2));
    painter->setBrush(forward ? colour : theme().surface);
    painter->drawEllipse(at, radius, radius);
}

TrafficItem::TrafficItem() {
    setZValue(1.4);
    setAcceptedMouseButtons(Qt::NoButton);
}

void TrafficItem::set_traffic(Traffic traffic, std::vector<NodeItem*> nodes) {
    prepareGeometryChange();
    traffic_ = std::move(traffic);
    nodes_ = std::move(nodes);
    find_bounds();
    update();
}

void TrafficItem::set_zoom(double zoom) {
    if (zoom == zoom_) return;
    prepareGeometryChange();
    zoom_ = zoom;
    find_bounds();
    update();
}

void TrafficItem::find_bounds() {
    bounds_ = {};
    const double edge = std::max(gauge_radius + 4, number_reach / zoom_);
    for (const auto* one : nodes_)
        if (one != nullptr) bounds_ |= QRectF(one->seen_at(), QSizeF()).adjusted(-edge, -edge, edge, edge);
}

const NodeItem* TrafficItem::node(int lane) const {
    return lane >= 0 && static_cast<std::size_t>(lane) < nodes_.size() ? nodes_[static_cast<std::size_t>(lane)]
                                                                       : nullptr;
}

/// From rim to rim, on the left of its direction; null where an end is missing or they touch.
QLineF TrafficItem::way(int from, int to) const {
    const auto *a = node(from), *b = node(to);
    if (a == nullptr || b == nullptr) return {};
    const QLineF middle(a->seen_at(), b->seen_at());
    if (middle.length() < 2 * gauge_radius + 4) return {};
    const QPointF along = (b->seen_at() - a->seen_at()) / middle.length(), across(-along.y(), along.x());
    return {a->seen_at() + gauge_radius * along + aside * across, b->seen_at() - gauge_radius * along + aside * across};
}

QPainterPath TrafficItem::shape() const {
    QPainterPath all;
    QPainterPathStroker stroker;
    stroker.setWidth(reach_px);
    for (const auto& line : traffic_.lines) {
        const QLineF drawn = way(line.from, line.to);
        if (drawn.isNull()) continue;
        QPainterPath path(drawn.p1());
        path.lineTo(drawn.p2());
        all.addPath(stroker.createStroke(path));
    }
    for (const auto* one : nodes_)
        if (one != nullptr) all.addEllipse(one->seen_at(), gauge_radius + 2, gauge_radius + 2);
    all.setFillRule(Qt::WindingFill);
    return all;
}

QString TrafficItem::line_words(const LineTraffic& line) const {
    QStringList words{QObject::tr("%1 to %2: %3, in use %4 of the iteration")
                          .arg(QString::fromStdString(traffic_.names[static_cast<std::size_t>(line.from)]),
                               QString::fromStdString(traffic_.names[static_cast<std::size_t>(line.to)]),
                               quantity(line.bytes_per_s, "B/s"), percent(line.busy))};
    if (line.queue_s > 0) words << QObject::tr("longest wait for the line: %1").arg(duration(line.queue_s));
    for (const auto& parcel : traffic_.parcels)
        if (parcel.from == line.from && parcel.to == line.to)
            words << (parcel.microbatch < 0 ? QObject::tr("under way: a part of a gradient, %1")
                                            : QObject::tr("under way: microbatch %2, %1").arg(percent(parcel.share)))
                         .arg(parcel.microbatch < 0 ? percent(parcel.share) : QString::number(parcel.microbatch));
    return words.join('\n');
}

QString TrafficItem::words_at(QPointF place) const {
    for (std::size_t lane = 0; lane < nodes_.size(); ++lane) {
        if (lane >= traffic_.busy.size() || nodes_[lane] == nullptr ||
            QLineF(nodes_[lane]->seen_at(), place).length() > gauge_radius + 2)
            continue;
        const auto& now = traffic_.work[lane];
        const auto kind = now ? to_string(now->kind) : std::string_view{};
        return QObject::tr("%1 works %2 of the iteration")
                   .arg(QString::fromStdString(traffic_.names[lane]), percent(traffic_.busy[lane])) +
               (traffic_.is_mean ? QString{}
                : !now           ? '\n' + QObject::tr("now: nothing")
                                 : '\n' + QObject::tr("now: %1 of microbatch %2")
                                    .arg(QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size())))
                                    .arg(now->microbatch));
    }
    for (const auto& line : traffic_.lines) {
        const QLineF drawn = way(line.from, line.to);
        if (drawn.isNull()) continue;
        QPainterPath path(drawn.p1());
        path.lineTo(drawn.p2());
        QPainterPathStroker stroker;
        stroker.setWidth(reach_px);
        if (stroker.createStroke(path).contains(place)) return line_words(line);
    }
    return {};
}

/// The fuller, the darker; a hundred lines at once would be a tangle, so that all but the busiest and those under
/// way are traces, and what a selected node has nothing to do with steps back.
std::vector<TrafficItem::Stroke> TrafficItem::strokes() const {
    double most = 0, busiest = 0;
    for (const auto& line : traffic_.lines) {
        most = std::max(most, line.bytes_per_s);
        busiest = std::max(busiest, line.busy);
    }
    std::set<std::pair<int, int>> carrying;
    for (const auto& parcel : traffic_.parcels) carrying.insert({parcel.from, parcel.to});
    const auto is_selected = [](const NodeItem* one) { return one != nullptr && one->isSelected(); };
    const auto links = selected_links(scene());
    const bool some = !links.empty() || std::any_of(nodes_.begin(), nodes_.end(), is_selected);
    std::vector<Stroke> all;
    for (const auto& line : traffic_.lines) {
        Stroke one{.line = way(line.from, line.to),
                   .width = least_flow + (most_flow - least_flow) * line.bytes_per_s / most,
                   .tone = palest + (1 - palest) * std::clamp(line.busy, 0.0, 1.0)};
        if (one.line.isNull()) continue;
        if (some)
            one.tone = is_selected(node(line.from)) || is_selected(node(line.to)) ||
                               goes_over(links, *node(line.from), *node(line.to))
                           ? std::max(one.tone, own_tone)
                           : other_tone;
        else if (carrying.contains({line.from, line.to}))
            one.tone = std::max(one.tone, carrying_tone);
        else if (line.busy < seen_share * busiest)
            one = {.line = one.line, .width = trace_width, .tone = trace_tone};
        all.push_back(one);
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.tone < b.tone; });
    return all;
}

void TrafficItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    for (const auto& [line, width, tone] : strokes()) {
        painter->setPen(QPen(mix(theme().surface, theme().accent, tone), width, Qt::SolidLine, Qt::RoundCap));
        painter->drawLine(line);
    }
    for (int lane = 0; lane < static_cast<int>(traffic_.busy.size()); ++lane) paint_node(painter, lane);
    paint_parcels(painter);
}

void TrafficItem::paint_node(QPainter* painter, int lane) const {
    const auto* one = node(lane);
    if (one == nullptr || !one->isVisible()) return;
    const auto index = static_cast<std::size_t>(lane);
    draw_gauge(painter, one->seen_at(), gauge_radius, traffic_.busy[index], traffic_.work[index].has_value());
}

double TrafficItem::drawn_radius() const {
    return traffic_.parcels.size() > crowd ? small_parcel_radius : parcel_radius;
}

QString TrafficItem::DrawnParcel::words() const {
    return count > 1                ? QObject::tr("\u00d7%1").arg(count)
           : parcel->microbatch < 0 ? QString{}
                                    : QString::number(parcel->microbatch);
}

/// While gradients are summed a hundred parts are under way on a few lines: rings edge to edge would hide all else.
std::vector<TrafficItem::DrawnParcel> TrafficItem::bundled_parcels(double zoom) const {
    std::map<std::tuple<int, int, SpanKind>, std::pair<std::size_t, double>> on_way;  // how many, and their shares
    const auto way_of = [](const Parcel& parcel) { return std::tuple(parcel.from, parcel.to, parcel.kind); };
    for (const auto& parcel : traffic_.parcels) {
        auto& [count, shares] = on_way[way_of(parcel)];
        ++count;
        shares += parcel.share;
    }
    const std::size_t alone = traffic_.parcels.size() > crowd ? 1 : most_alone;
    std::vector<DrawnParcel> drawn;
    for (const auto& parcel : traffic_.parcels) {
        const QLineF line = way(parcel.from, parcel.to);
        if (line.isNull()) continue;
        auto& [count, shares] = on_way[way_of(parcel)];
        if (count == 0) continue;  // drawn with the first of them
        const bool one = count <= alone;
        const double share = one ? parcel.share : shares / static_cast<double>(count);
        drawn.push_back({&parcel, line.pointAt(share) * zoom, {}, one ? 1 : static_cast<int>(count)});
        if (!one) count = 0;
    }
    return drawn;
}

std::vector<TrafficItem::DrawnParcel> TrafficItem::drawn_parcels(double zoom) const {
    std::vector<DrawnParcel> drawn = bundled_parcels(zoom);
    if (drawn.size() > most_numbered) return drawn;
    const double reach = drawn_radius() + 1;
    const QFontMetricsF metrics(small_font());
    std::vector<QRectF> taken;
    for (const auto& one : drawn) taken.push_back(QRectF(one.at, QSizeF()).adjusted(-reach, -reach, reach, reach));
    for (const auto* one : nodes_)
        if (one != nullptr && one->isVisible()) {
            const double round = node_radius * zoom;
            taken.push_back(QRectF(one->seen_at() * zoom, QSizeF()).adjusted(-round, -round, round, round));
            const QRectF name = one->seen_name_box(zoom);
            taken.emplace_back(name.topLeft() * zoom, name.size() * zoom);
            if (one->region == nullptr || one->region->nodes.front() != one || one->region->label == nullptr) continue;
            const QRectF region = one->region->label->seen_box(zoom);
            taken.emplace_back(region.topLeft() * zoom, region.size() * zoom);
        }
    for (auto& one : drawn) {
        const QString words = one.words();
        if (words.isEmpty()) continue;
        const QSizeF size(metrics.horizontalAdvance(words) + 4, metrics.height());
        const double high = one.at.y() - size.height() / 2, middle = one.at.x() - size.width() / 2;
        for (const QPointF corner :
             {QPointF(one.at.x() + reach, high), QPointF(one.at.x() - reach - size.width(), high),
              QPointF(middle, one.at.y() - reach - size.height()), QPointF(middle, one.at.y() + reach)}) {
            const QRectF box(corner, size);
            if (std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(box); }))
                continue;
            one.number = box;
            taken.push_back(box);
            break;
        }
    }
    return drawn;
}

/// As large on the screen whatever the canvas is magnified by; numbers stand beside their discs, on a ground of their
/// own: lines run below.
void TrafficItem::paint_parcels(QPainter* painter) const {
    const double zoom = painter->worldTransform().m11();
    painter->save();
    painter->scale(1 / zoom, 1 / zoom);
    painter->setFont(small_font());
    for (const auto& one : drawn_parcels(zoom)) {
        draw_parcel(painter, one.at, one.parcel->kind, drawn_radius());
        if (one.number.isNull()) continue;
        painter->setPen(Qt::NoPen);
        painter->setBrush(theme().surface);
        painter->drawRect(one.number);
        painter->setPen(theme().text);
        painter->drawText(one.number, Qt::AlignCenter, one.words());
    }
    painter->restore();
}

}  // namespace skippipe
