// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/traffic_item.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <QObject>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double least_flow = 1.5, most_flow = 7;  ///< pixels of a line's width
constexpr double aside = 4;                        ///< of the two ways between two nodes, apart
constexpr double gauge_radius = node_radius + 5;
constexpr double parcel_radius = 5;
constexpr double palest = 0.25;                      ///< of a line that is hardly used
constexpr double own_tone = 0.6, other_tone = 0.08;  ///< of a selected node's lines at least, and of the others
constexpr double carrying_tone = 0.5;                ///< of a line that carries something now, at least
constexpr double trace_tone = 0.14, trace_width = 1, seen_share = 0.6;  ///< lines less busy, of the busiest: traces
constexpr double reach_px = 8;                                          ///< of the mouse

}  // namespace

void draw_gauge(QPainter* painter, QPointF middle, double radius, double share, bool works) {
    const QRectF box(middle - QPointF(radius, radius), QSizeF(2 * radius, 2 * radius));
    painter->setBrush(Qt::NoBrush);
    painter->setPen(QPen(theme().line, 3, Qt::SolidLine, Qt::FlatCap));
    painter->drawEllipse(box);
    painter->setPen(QPen(works ? theme().good : theme().text_2, works ? 4 : 2.5, Qt::SolidLine, Qt::FlatCap));
    painter->drawArc(box, 90 * 16, -static_cast<int>(std::lround(360 * 16 * std::clamp(share, 0., 1.))));
}

void draw_parcel(QPainter* painter, QPointF at, SpanKind kind) {
    const bool forward = kind == SpanKind::transfer_forward;
    const QColor colour = kind == SpanKind::transfer_reduction ? theme().reduction : theme().accent;
    painter->setPen(QPen(forward ? theme().surface : colour, 2));
    painter->setBrush(forward ? colour : theme().surface);
    painter->drawEllipse(at, parcel_radius, parcel_radius);
}

TrafficItem::TrafficItem() {
    setZValue(1.4);
    setAcceptedMouseButtons(Qt::NoButton);
}

void TrafficItem::set_traffic(Traffic traffic, std::vector<NodeItem*> nodes) {
    prepareGeometryChange();
    traffic_ = std::move(traffic);
    nodes_ = std::move(nodes);
    bounds_ = {};
    for (const auto* one : nodes_)
        if (one != nullptr)
            bounds_ |= QRectF(one->seen_at(), QSizeF())
                           .adjusted(-gauge_radius - 4, -gauge_radius - 4, gauge_radius + 4, gauge_radius + 4);
    update();
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
               '\n' +
               (!now ? QObject::tr("now: nothing")
                     : QObject::tr("now: %1 of microbatch %2")
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
    const bool some = std::any_of(nodes_.begin(), nodes_.end(), is_selected);
    std::vector<Stroke> all;
    for (const auto& line : traffic_.lines) {
        Stroke one{.line = way(line.from, line.to),
                   .width = least_flow + (most_flow - least_flow) * line.bytes_per_s / most,
                   .tone = palest + (1 - palest) * std::clamp(line.busy, 0.0, 1.0)};
        if (one.line.isNull()) continue;
        if (some)
            one.tone =
                is_selected(node(line.from)) || is_selected(node(line.to)) ? std::max(one.tone, own_tone) : other_tone;
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
    for (const auto& parcel : traffic_.parcels) paint_parcel(painter, parcel);
}

void TrafficItem::paint_node(QPainter* painter, int lane) const {
    const auto* one = node(lane);
    if (one == nullptr || !one->isVisible()) return;
    const auto index = static_cast<std::size_t>(lane);
    draw_gauge(painter, one->seen_at(), gauge_radius, traffic_.busy[index], traffic_.work[index].has_value());
}

void TrafficItem::paint_parcel(QPainter* painter, const Parcel& parcel) const {
    const QLineF drawn = way(parcel.from, parcel.to);
    if (drawn.isNull()) return;
    const QPointF at = drawn.pointAt(parcel.share);
    draw_parcel(painter, at, parcel.kind);
    if (parcel.microbatch < 0) return;
    // Its number beside it, on a ground of its own: lines run below.
    painter->setFont(small_font());
    const QString number = QString::number(parcel.microbatch);
    const QFontMetricsF metrics(painter->font());
    const QRectF box(at.x() + parcel_radius + 2, at.y() - metrics.height() / 2, metrics.horizontalAdvance(number) + 4,
                     metrics.height());
    painter->setPen(Qt::NoPen);
    painter->setBrush(theme().surface);
    painter->drawRect(box);
    painter->setPen(theme().text);
    painter->drawText(box, Qt::AlignCenter, number);
}

}  // namespace skippipe
