// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/price_plot.h"

#include <algorithm>
#include <cmath>

#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/ticks.h"

namespace skippipe {
namespace {

constexpr double room_left = 64, room_below = 34, room_right = 88, pointed_at_px = 10, dot_radius = 4;
constexpr double rounding_share = 1e-9;  ///< of a figure: others that differ less are rounded apart

}  // namespace

PricePlot::PricePlot(QWidget* parent) : QWidget(parent) {
    setObjectName("price_plot");
    setAccessibleName(tr("Iteration time against price"));
    setMouseTracking(true);
    setMinimumSize(220, 90);
}

void PricePlot::show_plans(std::vector<PricedPlan> plans) {
    plans_ = std::move(plans);
    std::sort(plans_.begin(), plans_.end(), [](const auto& a, const auto& b) { return a.iteration_s < b.iteration_s; });
    update();
}

/// With room on both sides, so that no point lies on an axis.
PricePlot::Extent PricePlot::times() const {
    if (plans_.empty()) return {};
    const double low = plans_.front().iteration_s, high = plans_.back().iteration_s;
    const double room = high - low > rounding_share * high ? 0.06 * (high - low) : 0.1 * high;
    return {low - room, high + room};
}

PricePlot::Extent PricePlot::prices() const {
    if (plans_.empty()) return {};
    const auto [low, high] = std::minmax_element(plans_.begin(), plans_.end(),
                                                 [](const auto& a, const auto& b) { return a.price < b.price; });
    const double apart = high->price - low->price;
    const double room = apart > rounding_share * high->price ? 0.1 * apart : std::max(1e-9, 0.1 * high->price);
    return {low->price - room, high->price + room};
}

QRectF PricePlot::field() const { return QRectF(rect()).adjusted(room_left, size::gap, -room_right, -room_below); }

QPointF PricePlot::place(const PricedPlan& plan) const {
    const auto share = [](const Extent& in, double value) { return (value - in.low) / (in.high - in.low); };
    const QRectF in = field();
    return {in.left() + share(times(), plan.iteration_s) * in.width(),
            in.bottom() - share(prices(), plan.price) * in.height()};
}

void PricePlot::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.fillRect(rect(), t.surface);
    if (plans_.empty()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    const QRectF in = field();
    painter.setPen(QPen(t.line, 1));
    painter.drawLine(in.bottomLeft(), in.bottomRight());
    painter.drawLine(in.bottomLeft(), in.topLeft());
    draw_times(painter);
    painter.setPen(t.text_2);
    painter.drawText(QRectF(in.left(), in.bottom() + 16, in.width(), 14), Qt::AlignCenter, tr("Iteration"));
    draw_prices(painter);
    painter.save();
    painter.translate(2, in.center().y());
    painter.rotate(-90);
    painter.drawText(QRectF(-in.height() / 2, 0, in.height(), 14), Qt::AlignCenter, tr("Price"));
    painter.restore();
    QPolygonF front;
    for (const auto& plan : plans_)
        if (plan.is_front) front << place(plan);
    painter.setPen(QPen(mix(t.surface, t.accent, 0.5), 1.5));
    painter.drawPolyline(front);
    draw_names(painter);
    for (const auto& plan : plans_) {
        const QPointF at = place(plan);
        painter.setPen(QPen(plan.is_front ? t.accent : t.text_2, 1.5));
        painter.setBrush(plan.is_front ? t.accent : t.surface);
        painter.drawEllipse(at, dot_radius, dot_radius);
    }
}

/// Round times, as far apart as their words need.
void PricePlot::draw_times(QPainter& painter) const {
    constexpr double apart = 84;
    const Extent all = times();
    const QRectF in = field();
    const double step = nice_step_beside((all.high - all.low) * apart / std::max(apart, in.width()), all.high);
    for (const double at : ticks_between(all.low, all.high, step)) {
        const double x = in.left() + (at - all.low) / (all.high - all.low) * in.width();
        painter.setPen(QPen(theme().line, 1));
        painter.drawLine(QPointF(x, in.bottom()), QPointF(x, in.bottom() + 3));
        painter.setPen(theme().text_2);
        painter.drawText(QRectF(x - apart / 2, in.bottom() + 2, apart, 14), Qt::AlignCenter,
                         tick_beside(at, step, all.high));
    }
}

void PricePlot::draw_prices(QPainter& painter) const {
    constexpr double apart = 26;
    const Extent all = prices();
    const QRectF in = field();
    const double step = nice_step((all.high - all.low) * apart / std::max(apart, in.height()));
    for (const double at : ticks_between(all.low, all.high, step)) {
        const double y = in.bottom() - (at - all.low) / (all.high - all.low) * in.height();
        painter.setPen(QPen(theme().line, 1));
        painter.drawLine(QPointF(in.left() - 3, y), QPointF(in.left(), y));
        painter.setPen(theme().text_2);
        painter.drawText(QRectF(0, y - 7, room_left - 6, 14), Qt::AlignRight | Qt::AlignVCenter,
                         number_tick(at, step, all.high));
    }
}

/// Each beside its dot, where it covers no name and no dot; those on the front first, beside theirs whatever they
/// cover.
void PricePlot::draw_names(QPainter& painter) const {
    for (const auto& [plan, box] : named()) {
        painter.setPen(plan->is_front ? theme().text : theme().text_2);
        painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(plan->name, Qt::ElideRight, static_cast<int>(box.width())));
    }
}

std::vector<std::pair<const PricedPlan*, QRectF>> PricePlot::named() const {
    constexpr double high = 16, beside = dot_radius + 3;
    const QFontMetrics font(small_font());
    std::vector<QRectF> taken;
    for (const auto& plan : plans_)
        taken.push_back(QRectF(-dot_radius, -dot_radius, 2 * dot_radius, 2 * dot_radius).translated(place(plan)));
    std::vector<std::pair<const PricedPlan*, QRectF>> names;
    for (const bool is_front : {true, false})
        for (const auto& plan : plans_) {
            if (plan.is_front != is_front) continue;
            const QPointF at = place(plan);
            const double wide = font.horizontalAdvance(plan.name) + 1;
            std::vector<QRectF> boxes{
                {at.x() + beside, at.y() - high / 2, std::min(wide, width() - at.x() - beside), high}};
            for (const double line : {0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0})
                for (const double x : {at.x() + beside, at.x() - beside - wide, at.x() - wide / 2})
                    boxes.emplace_back(x, at.y() + line * high - high / 2, wide, high);
            const auto is_free = [&](const QRectF& box) {
                return QRectF(rect()).contains(box) && box.bottom() <= field().bottom() &&
                       std::none_of(taken.begin(), taken.end(),
                                    [&](const QRectF& other) { return other.intersects(box); });
            };
            const auto free = std::find_if(boxes.begin(), boxes.end(), is_free);
            if (free == boxes.end() && !is_front) continue;
            names.emplace_back(&plan, free == boxes.end() ? boxes.front() : *free);
            taken.push_back(names.back().second);
        }
    return names;
}

const PricedPlan* PricePlot::plan_at(QPointF at) const {
    const PricedPlan* nearest = nullptr;
    double least = pointed_at_px;
    for (const auto& plan : plans_) {
        const QPointF away = place(plan) - at;
        if (const double far = std::hypot(away.x(), away.y()); far < least) least = far, nearest = &plan;
    }
    return nearest;
}

void PricePlot::mousePressEvent(QMouseEvent* event) {
    if (const auto* plan = plan_at(event->position())) Q_EMIT row_clicked(plan->row);
}

void PricePlot::mouseMoveEvent(QMouseEvent* event) {
    const auto* plan = plan_at(event->position());
    setCursor(plan != nullptr ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (plan == nullptr) return QToolTip::hideText();
    QToolTip::showText(event->globalPosition().toPoint(),
                       tr("%1: %2, price %3").arg(plan->name, duration(plan->iteration_s), three_digits(plan->price)) +
                           (plan->is_front ? tr("\nNo other is as short and as cheap") : QString{}),
                       this);
}

}  // namespace skippipe
