// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_curve.h"

#include <algorithm>
#include <cmath>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int left_room = 72, bottom_room = 42, top_room = 34;
constexpr int gap_room = 34, above_gaps = 12;  ///< of the row of values without a plan, and between it and the axis
constexpr double point_radius = 4;
constexpr double pale_opacity = 0.4;
constexpr double tick_room = 44;  ///< pixels between ticks, at least

/// Of a short search: it takes at most so long.
QString bounded_by(const WhatIfAnswer& answer, const QString& time) {
    return answer.is_whole ? time : QString::fromUtf8("≤\u2009") + time;
}

bool has_answer(const std::vector<WhatIfAnswer>& answers) {
    return std::any_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.is_planned(); });
}

}  // namespace

QString iteration_words(double seconds, double most_s) {
    constexpr double in_minutes = 120;
    return most_s < in_minutes ? duration_beside(seconds, most_s) : duration(seconds);
}

WhatIfCurve::WhatIfCurve(QWidget* parent) : QWidget(parent) {
    setObjectName("what_if_curve");
    setAccessibleName(tr("Iteration time over the values of what is asked"));
    setFocusPolicy(Qt::StrongFocus);
    setMinimumHeight(80);
}

void WhatIfCurve::show_curve(const WhatIfQuestion& question, const std::vector<WhatIfAnswer>& answers) {
    const bool is_other = question.words != question_.words || question.values != question_.values;
    if (is_other) chosen_ = -1;
    is_pale_ = !is_other && !has_answer(answers) && has_answer(answers_);
    update();
    if (is_pale_) return;
    question_ = question;
    answers_ = answers;
    most_s_ = 0;
    for (const auto& answer : answers_) most_s_ = std::max(most_s_, answer.seconds);
}

void WhatIfCurve::choose(int index) {
    if (index < 0 || index >= static_cast<int>(answers_.size()) || index == chosen_) return;
    chosen_ = index;
    update();
    Q_EMIT chosen_changed(index);
}

QRectF WhatIfCurve::frame() const {
    return QRectF(rect()).adjusted(left_room, top_room, -size::wide_gap, -bottom_room - gaps_high());
}

/// A value without a plan has no time: it stands in a row of its own.
int WhatIfCurve::gaps_high() const {
    const bool has = std::any_of(answers_.begin(), answers_.end(),
                                 [](const auto& answer) { return answer.is_planned() && !answer.has_plan(); });
    return has ? gap_room : 0;
}

double WhatIfCurve::x_of(double value) const {
    const QRectF in = frame();
    const double a = question_.values.front(), b = question_.values.back();
    if (b <= a) return in.center().x();
    const double share = question_.logarithmic ? std::log(value / a) / std::log(b / a) : (value - a) / (b - a);
    return in.left() + share * in.width();
}

/// Where the axis ends: at a tick.
double WhatIfCurve::top_s() const {
    const double step = step_s();
    return step > 0 ? step * std::ceil(most_s_ / step) : 0;
}

double WhatIfCurve::step_s() const {
    const double ticks = std::max(1.0, std::floor(frame().height() / tick_room));
    return most_s_ > 0 ? nice_step_beside(most_s_ / ticks, most_s_) : 0;
}

/// From 0: half the height is half the time.
double WhatIfCurve::y_of(double seconds) const {
    return frame().bottom() - (most_s_ > 0 ? seconds / top_s() : 0) * frame().height();
}

QPointF WhatIfCurve::place(std::size_t value) const {
    const double x = x_of(question_.values[value]);
    if (!answers_[value].has_plan()) return {x, frame().bottom() + (above_gaps + gaps_high()) / 2.0};
    return {x, y_of(answers_[value].seconds)};
}

/// Whether a box lies on the words of the axis of times.
bool WhatIfCurve::covers_times(const QRectF& box) const {
    constexpr double words_high = 14;
    const double step = step_s();
    if (box.left() >= left_room - size::gap) return false;
    for (int i = 0; step > 0 && i * step <= top_s() * (1 + 1e-9); ++i)
        if (std::abs(box.center().y() - y_of(i * step)) < words_high) return true;
    return false;
}

/// Small words about a place, moved into the frame.
void WhatIfCurve::draw_beside(QPainter& painter, QPointF middle, const QString& words) const {
    painter.save();
    painter.setPen(theme().text);
    QRectF box(0, 0, painter.fontMetrics().horizontalAdvance(words) + 2, 14);
    box.moveCenter(middle);
    if (box.right() > width() - 2) box.moveRight(width() - 2);
    if (box.top() < frame().top() - 6) box.moveTop(middle.y() + 22);  // below what it is about
    if (covers_times(box)) {
        constexpr double apart = 16;
        const bool is_level = answers_.size() > 1 && std::abs(place(1).y() - place(0).y()) < apart;
        is_level ? box.moveTop(middle.y() + 22) : box.moveLeft(left_room - size::gap + 2);
    }
    painter.fillRect(box, theme().surface);  // lines run below
    painter.drawText(box, Qt::AlignCenter, words);
    painter.restore();
}

void WhatIfCurve::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().surface);
    if (question_.values.empty()) return;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    draw_times(painter);
    draw_values(painter);
    draw_gaps(painter);
    draw_now(painter);
    painter.setOpacity(is_pale_ ? pale_opacity : 1);
    draw_line(painter);
    for (std::size_t i = 0; i < answers_.size(); ++i) draw_point(painter, i);
    if (!hasFocus()) return;
    painter.setOpacity(1);
    painter.setPen(QPen(theme().accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

/// The axis of iteration times, in one unit.
void WhatIfCurve::draw_times(QPainter& painter) const {
    const Theme& t = theme();
    const QRectF in = frame();
    const double step = step_s();
    for (int i = 0; step > 0 && i * step <= top_s() * (1 + 1e-9); ++i) {
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(in.left(), y_of(i * step)), QPointF(in.right(), y_of(i * step)));
        painter.setPen(t.text_2);
        painter.drawText(QRectF(0, y_of(i * step) - 10, left_room - size::gap, 20), Qt::AlignRight | Qt::AlignVCenter,
                         tick_beside(i * step, step, most_s_));
    }
    painter.setPen(t.text_2);
    painter.drawText(QRectF(size::gap, 2, width() - 2 * size::gap, 16), Qt::AlignLeft | Qt::AlignVCenter,
                     tr("Iteration time"));
}

/// The axis of values: its ends always, between them as many as have room.
void WhatIfCurve::draw_values(QPainter& painter) const {
    const QRectF in = frame();
    painter.setPen(theme().text_2);
    const double top = in.bottom() + gaps_high();
    painter.drawText(QRectF(in.left(), top + 22, in.width(), 16), Qt::AlignCenter, question_.words);
    std::vector<std::size_t> places{0, question_.values.size() - 1};
    for (std::size_t i = 1; i + 1 < question_.values.size(); ++i) places.push_back(i);
    std::vector<QRectF> taken;
    for (const std::size_t i : places) {
        const QString words = value_text(question_, question_.values[i]);
        const double half = painter.fontMetrics().horizontalAdvance(words) / 2.0;
        const double x = std::clamp(x_of(question_.values[i]), half, std::max(half, width() - half - 2));
        const QRectF box(x - half, top + 4, 2 * half + 1, 18);
        const QRectF roomy = box.adjusted(-size::gap, 0, size::gap, 0);
        if (std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(roomy); }))
            continue;
        taken.push_back(box);
        painter.drawText(box, Qt::AlignCenter, words);
    }
}

void WhatIfCurve::draw_now(QPainter& painter) const {
    if (std::find(question_.values.begin(), question_.values.end(), question_.now) == question_.values.end()) return;
    const QRectF in = frame();
    const double x = x_of(question_.now);
    painter.setPen(QPen(theme().text_2, 1, Qt::DashLine));
    painter.drawLine(QPointF(x, in.top()), QPointF(x, in.bottom()));
    const QString words = tr("now");
    const double wide = painter.fontMetrics().horizontalAdvance(words) + 4;
    painter.drawText(QRectF(x + 4 + wide > width() ? x - 4 - wide : x + 4, in.top() - 2, wide, 16), Qt::AlignLeft,
                     words);
}

void WhatIfCurve::draw_gaps(QPainter& painter) const {
    if (gaps_high() == 0) return;
    const QRectF row(0, frame().bottom() + above_gaps, width(), gaps_high() - above_gaps);
    painter.fillRect(row.adjusted(left_room, 0, -size::wide_gap, 0), theme().surface_2);
    painter.setPen(theme().text_2);
    painter.drawText(row.adjusted(0, 0, left_room - size::gap - width(), 0), Qt::AlignRight | Qt::AlignVCenter,
                     tr("no plan"));
}

/// Broken where there is no plan.
void WhatIfCurve::draw_line(QPainter& painter) const {
    painter.setPen(QPen(theme().accent, 2));
    QPolygonF line;
    for (std::size_t i = 0; i <= answers_.size(); ++i) {
        if (i < answers_.size() && answers_[i].has_plan()) {
            line << place(i);
        } else {
            painter.drawPolyline(line);
            line.clear();
        }
    }
}

void WhatIfCurve::draw_point(QPainter& painter, std::size_t i) const {
    const Theme& t = theme();
    const WhatIfAnswer& answer = answers_[i];
    if (!answer.is_planned()) return;
    const QPointF at = place(i);
    painter.setPen(QPen(answer.has_plan() ? t.accent : t.bad, 2));
    if (!answer.has_plan()) {
        painter.drawLine(at - QPointF(4, 4), at + QPointF(4, 4));
        painter.drawLine(at - QPointF(4, -4), at + QPointF(4, -4));
        return;
    }
    painter.setBrush(t.surface);
    if (static_cast<int>(i) == chosen_) painter.drawEllipse(at, point_radius + 4, point_radius + 4);
    if (answer.is_whole) painter.setBrush(t.accent);
    painter.drawEllipse(at, point_radius, point_radius);
    draw_beside(painter, at - QPointF(0, 17), bounded_by(answer, iteration_words(answer.seconds, most_s_)));
}

void WhatIfCurve::choose_at(double x) {
    int best = -1;
    double least = 1e9;
    for (std::size_t i = 0; i < question_.values.size(); ++i)
        if (const double d = std::abs(x_of(question_.values[i]) - x); d < least) least = d, best = static_cast<int>(i);
    choose(best);
}

void WhatIfCurve::mousePressEvent(QMouseEvent* event) { choose_at(event->position().x()); }

void WhatIfCurve::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & Qt::LeftButton) choose_at(event->position().x());
}

void WhatIfCurve::keyPressEvent(QKeyEvent* event) {
    const int step = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
    if (step == 0) return QWidget::keyPressEvent(event);
    choose(std::clamp(chosen_ + step, 0, std::max(0, static_cast<int>(answers_.size()) - 1)));
}

}  // namespace skippipe
