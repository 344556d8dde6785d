// SPDX-License-Identifier: GPL-3.0-or-later
// How the axis of failures looks: red is failure; what is not sure is hatched or dashed, so that colour says nothing
// alone.
#include <algorithm>
#include <cmath>

#include <QPainter>

#include "core/experiment/failure_text.h"
#include "views/document/document.h"
#include "views/failures/failure_axis.h"
#include "views/failures/failure_editor.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/ticks.h"
#include "views/topology/items.h"

namespace skippipe {
namespace {

constexpr double bar_height = 14;
constexpr double least_iteration = 8, tick_distance = 84, pad = 8;
constexpr double wide_title = 120;  // of the column of names, for the title at length

void draw_flash(QPainter& painter, QPointF at) {
    painter.save();
    painter.translate(at);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme().bad);
    painter.drawPolygon(failure_flash());
    painter.restore();
}

QColor pale() { return mix(theme().surface, theme().bad, theme().dark ? 0.28 : 0.16); }

/// What happens, without when: that is what the place says.
QString short_words(const Failure& failure) {
    switch (failure.kind) {
        case FailureKind::crash: return FailureAxis::tr("crash");
        case FailureKind::slow_down:
        case FailureKind::link_degraded: return FailureAxis::tr("%1 × as slow").arg(failure.factor, 0, 'g', 3);
        case FailureKind::link_cut: return FailureAxis::tr("cut");
        case FailureKind::jitter: return FailureAxis::tr("jitter");
        case FailureKind::stage_loss:
        case FailureKind::coordinator_loss: return FailureAxis::tr("lost");
    }
    return {};
}

}  // namespace

void FailureAxis::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.fillRect(rect(), t.surface);
    painter.setFont(small_font());
    painter.save();
    painter.setClipRect(QRectF(0, failure_scale_height, width(), height() - failure_scale_height));
    const int first = std::max(0, static_cast<int>(scroll_ / failure_lane_height));
    const int last = std::min(static_cast<int>(lanes_.size()) - 1,
                              static_cast<int>((scroll_ + height() - failure_scale_height) / failure_lane_height));
    for (int lane = first; lane <= last; ++lane) paint_lane(painter, lane);
    if (lanes_.empty() && !is_one_row()) paint_hint(painter, failure_scale_height, failure_lane_height);
    painter.restore();
    paint_axis(painter);
    paint_thumb(painter);
    paint_ghost(painter);
    if (hasFocus()) {
        painter.setPen(QPen(t.accent, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void FailureAxis::paint_hint(QPainter& painter, double top, double high) const {
    const double wide = width() - names_width() - pad;
    painter.setPen(theme().text_2);
    painter.drawText(
        QRectF(names_width(), top, wide, high), Qt::AlignVCenter | Qt::AlignLeft,
        painter.fontMetrics().elidedText(tr("Nothing fails. Click here, or right-click a node, to make it fail"),
                                         Qt::ElideRight, static_cast<int>(wide)));
}

QString FailureAxis::axis_words() const {
    return names_width() >= wide_title ? tr("Failures, whole run") : tr("Failures, run");
}

/// Time of the whole run, from its start: the plan above has one iteration, whose length is marked here.
void FailureAxis::paint_axis(QPainter& painter) const {
    const Theme& t = theme();
    const TimeScale s = scale();
    const double bottom = failure_scale_height - 1;
    painter.fillRect(QRectF(0, 0, width(), failure_gap), t.surface);
    painter.fillRect(QRectF(0, failure_gap, width(), failure_scale_height - failure_gap), t.surface_2);
    painter.fillRect(QRectF(0, failure_gap, width(), 1), t.line);
    painter.fillRect(QRectF(0, bottom, width(), 1), t.line);
    painter.setPen(t.text_2);
    painter.drawText(QRectF(pad, failure_gap, names_width() - pad, failure_scale_height - failure_gap),
                     Qt::AlignVCenter, axis_words());
    // Where nothing fails and lanes need the room, what could be done is more than when it would be.
    if (is_one_row()) return paint_hint(painter, failure_gap, failure_scale_height - failure_gap);
    painter.save();
    painter.setClipRect(QRectF(s.left, failure_gap, s.right - s.left + 1, height()));
    if (const double iteration_s = editor_.iteration_s(); iteration_s > 0)
        painter.fillRect(QRectF(s.x(0), bottom - 3, std::max(2.0, iteration_s * s.pixels_per_second()), 3), t.text_2);
    const double step = clock_step(tick_distance / s.pixels_per_second());
    double free_from = s.left;
    for (const double at : ticks_between(s.begin, s.end, step)) {
        if (at < -step / 2) continue;
        const bool is_start = std::abs(at) < step / 2;
        const double x = std::floor(s.x(at)) + 0.5;
        painter.setPen(t.text_2);
        painter.drawLine(QPointF(x, bottom - 4), QPointF(x, bottom));
        const QString words = is_start ? tr("0 s, run starts") : tick(at, step);
        const double wide = painter.fontMetrics().horizontalAdvance(words);
        if (x < free_from || x + 3 + wide >= s.right) continue;
        painter.drawText(QRectF(x + 3, failure_gap, wide + 1, failure_scale_height - failure_gap), Qt::AlignVCenter,
                         words);
        free_from = x + 3 + wide + pad;
    }
    painter.restore();
}

void FailureAxis::paint_lane(QPainter& painter, int lane) const {
    const Theme& t = theme();
    const TimeScale s = scale();
    const auto& shown_lane = lanes_[static_cast<std::size_t>(lane)];
    const double top = stack().lane_top(lane);
    // Where iterations begin, as long as they can be told apart.
    const double iteration_s = editor_.iteration_s();
    if (shown_lane.timed && iteration_s > 0 && iteration_s * s.pixels_per_second() >= least_iteration) {
        const double end_s = std::min(s.end, iteration_s * document_.experiment().training.iterations);
        for (double k = std::max(0.0, std::ceil(s.begin / iteration_s)); k * iteration_s <= end_s * (1 + 1e-9); ++k)
            painter.fillRect(QRectF(std::floor(s.x(k * iteration_s)), top, 1, failure_lane_height), t.line);
    }
    painter.setPen(t.text);
    painter.drawText(QRectF(pad, top, names_width() - pad - 4, failure_lane_height), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(QString::fromStdString(shown_lane.name), Qt::ElideRight,
                                                      static_cast<int>(names_width() - pad - 4)));
    painter.save();
    painter.setClipRect(QRectF(s.left - 1, failure_scale_height, s.right - s.left + 2, height() - failure_scale_height),
                        Qt::IntersectClip);
    shown_lane.timed ? paint_timed(painter, lane) : paint_words(painter, lane);
    painter.restore();
    painter.fillRect(QRectF(0, top + failure_lane_height - 1, width(), 1), mix(t.surface, t.line, 0.6));
}

void FailureAxis::paint_timed(QPainter& painter, int lane) const {
    const Theme& t = theme();
    const TimeScale s = scale();
    const auto& failures = lanes_[static_cast<std::size_t>(lane)].failures;
    const double top = stack().lane_top(lane) + (failure_lane_height - bar_height) / 2;
    for (std::size_t i = 0; i < failures.size(); ++i) {
        const auto& failure = shown(failures[i]);
        const auto stretch = stretch_of(failure, editor_.iteration_s());
        if (!stretch || stretch->begin_s > s.end) continue;
        const double x0 = s.x(stretch->begin_s);
        const double x1 = std::max(std::isfinite(stretch->end_s) ? s.x(stretch->end_s) : s.right + 4, x0 + 2);
        if (x1 < s.left) continue;
        const bool is_selected = selected() == failures[i];
        const QRectF bar(x0, top, x1 - x0, bar_height);
        const bool slower = has_factor(failure.kind);
        painter.setPen(Qt::NoPen);
        painter.setBrush(pale());
        if (!stretch->vague) painter.drawRect(bar);
        // Only slower, not gone; or somewhere in here.
        if (slower || stretch->vague) {
            QColor lines = t.bad;
            lines.setAlphaF(0.45f);
            painter.setBrush(QBrush(lines, stretch->vague ? Qt::FDiagPattern : Qt::BDiagPattern));
            painter.drawRect(bar);
        }
        painter.setBrush(Qt::NoBrush);
        QPen edge(is_selected ? t.accent : t.bad, is_selected ? 2 : 1);
        if (stretch->vague) edge.setStyle(Qt::DashLine);
        painter.setPen(edge);
        painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
        draw_flash(painter, {x0 + 1, top + bar_height / 2});
        // Words where they fit before the next one begins.
        double room = s.right;
        if (i + 1 < failures.size())
            if (const auto next = stretch_of(shown(failures[i + 1]), editor_.iteration_s()))
                room = std::min(room, s.x(next->begin_s) - 6);
        const QString words = short_words(failure);
        const double from = std::max(x0, s.left) + 7;
        if (painter.fontMetrics().horizontalAdvance(words) <= std::min(room, x1) - from - 2 ||
            (x1 - x0 < 40 && painter.fontMetrics().horizontalAdvance(words) <= room - x1 - 5)) {
            const bool inside = painter.fontMetrics().horizontalAdvance(words) <= std::min(room, x1) - from - 2;
            painter.setPen(t.text);
            painter.drawText(QRectF(inside ? from : x1 + 5, top, room - from, bar_height), Qt::AlignVCenter, words);
        }
    }
}

/// By chance or rate: it may happen anywhere, and words say how often.
void FailureAxis::paint_words(QPainter& painter, int lane) const {
    const Theme& t = theme();
    const TimeScale s = scale();
    const auto index = lanes_[static_cast<std::size_t>(lane)].failures.front();
    const double top = stack().lane_top(lane) + (failure_lane_height - bar_height) / 2;
    const bool is_selected = selected() == index;
    const QRectF band(s.left + 0.5, top + 0.5, s.right - s.left - 1, bar_height - 1);
    QPen edge(is_selected ? t.accent : mix(t.surface, t.bad, 0.7), is_selected ? 2 : 1);
    if (!is_selected) edge.setStyle(Qt::DotLine);
    painter.setPen(edge);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(band);
    draw_flash(painter, {s.left + 9, top + bar_height / 2});
    painter.setPen(t.text);
    const auto words = QString::fromStdString(failure_words(shown(index)));
    painter.drawText(band.adjusted(18, 0, -pad, 0), Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(band.width() - 26)));
}

/// How much of the lanes is in sight, where that is not all.
void FailureAxis::paint_thumb(QPainter& painter) const {
    const double seen = height() - failure_scale_height, all = stack().content_height();
    if (all <= seen) return;
    painter.setPen(Qt::NoPen);
    painter.setBrush(mix(theme().surface, theme().text_2, 0.6));
    painter.drawRoundedRect(
        QRectF(width() - 6, failure_scale_height + scroll_ / all * seen + 1, 4, std::max(8.0, seen / all * seen - 2)),
        2, 2);
}

/// Where a click would add a crash.
void FailureAxis::paint_ghost(QPainter& painter) const {
    if (!hover_ || drag_ || !is_empty_place(*hover_)) return;
    const double x = std::floor(scale().x(time_at(*hover_, false))) + 0.5;
    painter.setPen(QPen(theme().bad, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, failure_scale_height), QPointF(x, height()));
    const QString words = duration(time_at(*hover_, false));
    const double wide = painter.fontMetrics().horizontalAdvance(words) + 8;
    const QRectF box(std::clamp(x - wide / 2, scale().left, std::max(scale().left, width() - wide)), failure_gap + 1,
                     wide, failure_scale_height - failure_gap - 2);
    painter.fillRect(box, theme().bad);
    painter.setPen(theme().text_on(theme().bad));
    painter.drawText(box, Qt::AlignCenter, words);
}

}  // namespace skippipe
