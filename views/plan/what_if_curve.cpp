// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_curve.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int bottom_room = 42, top_room = 38, least_left_room = 44;
constexpr int gap_room = 34, above_gaps = 12;  ///< of the row of values without a plan, and between it and the axis
constexpr double point_radius = 4;
constexpr double words_high = 14, beside_point = 7;  ///< pixels of a time, and between it and its point's middle
constexpr double pale_opacity = 0.4;
constexpr double tick_room = 44;    ///< pixels between ticks, at least
constexpr double by_clock = 59.95;  ///< seconds from which times are told in minutes

/// Of a short search: it takes at most so long.
QString bounded_by(const WhatIfAnswer& answer, const QString& time) {
    return answer.is_whole ? time : QString::fromUtf8("≤\u2009") + time;
}

bool has_answer(const std::vector<WhatIfAnswer>& answers) {
    return std::any_of(answers.begin(), answers.end(), [](const auto& answer) { return answer.is_planned(); });
}

}  // namespace

QString iteration_words(double seconds, double most_s) {
    constexpr double in_minutes = 120;  // as duration() does, with a digit more where that tells
    return most_s < by_clock     ? duration_beside(seconds, most_s)
           : most_s < in_minutes ? tick(seconds, 0.1)
                                 : duration(seconds);
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
    least_s_ = most_s_ = 0;
    for (const auto& answer : answers_) {
        if (!answer.has_plan()) continue;
        least_s_ = least_s_ > 0 ? std::min(least_s_, answer.seconds) : answer.seconds;
        most_s_ = std::max(most_s_, answer.seconds);
    }
    measure();
}

void WhatIfCurve::choose(int index) {
    if (index < 0 || index >= static_cast<int>(answers_.size()) || index == chosen_) return;
    chosen_ = index;
    update();
    Q_EMIT chosen_changed(index);
}

double WhatIfCurve::frame_high() const { return height() - top_room - bottom_room - gaps_high(); }

QRectF WhatIfCurve::frame() const {
    return QRectF(rect()).adjusted(left_, top_room, -right_, -bottom_room - gaps_high());
}

/// The frame leaves as much room as the words at its edges want.
void WhatIfCurve::measure() {
    const QFontMetrics measured(small_font());
    left_ = least_left_room;
    right_ = size::wide_gap;
    const auto wants_left = [&](const QString& words) {
        left_ = std::max(left_, measured.horizontalAdvance(words) + 2 * size::gap);
    };
    for (const double at : ticks_s()) wants_left(tick_words(at));
    if (gaps_high() > 0) wants_left(no_plan_words());
    if (!question_.values.empty())
        right_ =
            std::max(right_, measured.horizontalAdvance(words_of_value(question_.values.size() - 1)) / 2 + size::gap);
}

void WhatIfCurve::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    measure();
}

QString WhatIfCurve::no_plan_words() const { return tr("no plan"); }

/// The present value is told from the others.
QString WhatIfCurve::words_of_value(std::size_t value) const {
    const QString words = value_text(question_, question_.values[value]);
    return question_.values[value] == question_.now ? tr("%1, now").arg(words) : words;
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
    return step > 0 ? step * std::ceil(most_s_ / step - 1e-9) : 0;
}

bool WhatIfCurve::is_level() const {
    constexpr double no_difference = 0.001;
    return most_s_ - least_s_ < no_difference * most_s_;
}

/// What the axis is to hold. A line that is level would look like none in an axis that is magnified for it.
double WhatIfCurve::range_s() const {
    constexpr double least_share = 0.02;  // of the longest: what differs by less is as good as level
    if (is_level()) return most_s_;
    return least_s_ < most_s_ / 2 ? most_s_ : std::max(1.2 * (most_s_ - least_s_), least_share * most_s_);
}

double WhatIfCurve::bottom_s() const {
    const double step = step_s();
    if (step <= 0 || is_level() || range_s() >= most_s_) return 0;
    const double below = (range_s() - (most_s_ - least_s_)) / 2;
    return std::max(0.0, step * std::floor((least_s_ - below) / step + 1e-9));
}

double WhatIfCurve::step_s() const {
    const double ticks = std::max(1.0, std::floor(frame_high() / tick_room));
    if (most_s_ <= 0) return 0;
    return most_s_ < by_clock ? nice_step_beside(range_s() / ticks, most_s_) : clock_step(range_s() / ticks);
}

std::vector<double> WhatIfCurve::ticks_s() const {
    std::vector<double> ticks;
    const double step = step_s(), bottom = bottom_s();
    if (step <= 0) return ticks;
    for (int i = 0; bottom + i * step <= top_s() + step / 2; ++i) ticks.push_back(bottom + i * step);
    return ticks;
}

QString WhatIfCurve::tick_words(double seconds) const {
    return most_s_ < by_clock ? tick_beside(seconds, step_s(), most_s_) : tick(seconds, step_s());
}

double WhatIfCurve::y_of(double seconds) const {
    const double bottom = bottom_s();
    return frame().bottom() - (most_s_ > 0 ? (seconds - bottom) / (top_s() - bottom) : 0) * frame().height();
}

QPointF WhatIfCurve::place(std::size_t value) const {
    const double x = x_of(question_.values[value]);
    if (!answers_[value].has_plan()) return {x, frame().bottom() + (above_gaps + gaps_high()) / 2.0};
    return {x, y_of(answers_[value].seconds)};
}

/// Whether a box lies on the words of the axis of times.
bool WhatIfCurve::covers_times(const QRectF& box) const {
    if (box.left() >= frame().left() - size::gap) return false;
    const auto ticks = ticks_s();
    return std::any_of(ticks.begin(), ticks.end(),
                       [&](double at) { return std::abs(box.center().y() - y_of(at)) < words_high; });
}

/// Whether the line, or a point of it, runs through a box.
bool WhatIfCurve::covers_line(const QRectF& box) const {
    const QLineF edges[] = {{box.topLeft(), box.topRight()},
                            {box.bottomLeft(), box.bottomRight()},
                            {box.topLeft(), box.bottomLeft()},
                            {box.topRight(), box.bottomRight()}};
    for (std::size_t i = 0; i < answers_.size(); ++i)
        if (answers_[i].has_plan() && box.contains(place(i))) return true;
    const auto parts = joined();
    return std::any_of(parts.begin(), parts.end(), [&](std::size_t i) {
        const QLineF part(place(i), place(i + 1));
        return std::any_of(std::begin(edges), std::end(edges), [&](const QLineF& edge) {
            return part.intersects(edge, nullptr) == QLineF::BoundedIntersection;
        });
    });
}

/// Of small words above, below or beside a point, where they cover neither the line nor an axis' words.
std::optional<QRectF> WhatIfCurve::box_beside(QPointF point, double words_wide) const {
    const double away = beside_point + words_high / 2, aside = beside_point + words_wide / 2;
    const QPointF ways[] = {{0, -away},      {0, away},      {aside, -away}, {aside, away},
                            {-aside, -away}, {-aside, away}, {aside, 0},     {-aside, 0}};
    const QRectF free(2, top_room - words_high - beside_point, width() - 4, frame_high() + words_high + beside_point);
    for (const QPointF way : ways) {
        QRectF box(0, 0, words_wide + 2, words_high);
        box.moveCenter(point + way);
        if (free.contains(box) && !covers_times(box) && !covers_line(box)) return box;
    }
    return std::nullopt;
}

/// Times beside their points, as many as have room: what is chosen and what is now first, then the ends.
void WhatIfCurve::draw_words(QPainter& painter) const {
    std::vector<std::size_t> order;
    const auto now = std::find(question_.values.begin(), question_.values.end(), question_.now);
    if (chosen_ >= 0) order.push_back(static_cast<std::size_t>(chosen_));
    if (now != question_.values.end()) order.push_back(static_cast<std::size_t>(now - question_.values.begin()));
    if (!answers_.empty()) order.insert(order.end(), {0, answers_.size() - 1});
    for (std::size_t i = 0; i < answers_.size(); ++i) order.push_back(i);
    std::vector<QRectF> taken;
    painter.setPen(theme().text);
    for (const std::size_t i : order) {
        if (i >= answers_.size() || !answers_[i].has_plan()) continue;
        if (is_level() && !taken.empty()) return;  // the same once more
        const QString words = bounded_by(answers_[i], iteration_words(answers_[i].seconds, most_s_));
        const auto box = box_beside(place(i), painter.fontMetrics().horizontalAdvance(words));
        if (!box ||
            std::any_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(*box); }))
            continue;
        taken.push_back(box->adjusted(-2, 0, 2, 0));
        painter.fillRect(*box, theme().surface);  // the axis' lines run below
        painter.drawText(*box, Qt::AlignCenter, words);
    }
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
    draw_words(painter);
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
    const double bottom = bottom_s();
    for (const double at : ticks_s()) {
        painter.setPen(QPen(t.line, 1));
        painter.drawLine(QPointF(in.left(), y_of(at)), QPointF(in.right(), y_of(at)));
        painter.setPen(t.text_2);
        painter.drawText(QRectF(0, y_of(at) - 10, in.left() - size::gap, 20), Qt::AlignRight | Qt::AlignVCenter,
                         tick_words(at));
    }
    painter.setPen(t.text_2);
    painter.drawText(QRectF(size::gap, 2, width() - 2 * size::gap, 16), Qt::AlignLeft | Qt::AlignVCenter,
                     bottom > 0 ? tr("Iteration time, from %1 on").arg(tick_words(bottom)) : tr("Iteration time"));
    if (bottom <= 0) return;
    // The axis is broken: it does not begin at 0.
    constexpr double step_px = 4;
    QPolygonF broken;
    for (int i = 0; i <= 4; ++i)
        broken << QPointF(in.left() + (i % 2 == 0 ? -step_px : step_px) * (i == 0 || i == 4 ? 0 : 1),
                          in.bottom() + (i - 4) * step_px);
    painter.setPen(QPen(t.text_2, 1.5));
    painter.drawPolyline(broken);
}

/// The axis of values: what is now and its ends always, between them as many as have room.
void WhatIfCurve::draw_values(QPainter& painter) const {
    const QRectF in = frame();
    painter.setPen(theme().text_2);
    const double top = in.bottom() + gaps_high();
    painter.drawText(QRectF(in.left(), top + 22, in.width(), 16), Qt::AlignCenter, question_.words);
    std::vector<std::size_t> places;
    if (const auto now = std::find(question_.values.begin(), question_.values.end(), question_.now);
        now != question_.values.end())
        places.push_back(static_cast<std::size_t>(now - question_.values.begin()));
    for (const std::size_t end : {std::size_t{0}, question_.values.size() - 1})
        if (places.empty() || places.front() != end) places.push_back(end);
    for (std::size_t i = 1; i + 1 < question_.values.size(); ++i)
        if (i != places.front()) places.push_back(i);
    std::vector<QRectF> taken;
    for (const std::size_t i : places) {
        const QString words = words_of_value(i);
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
    painter.drawLine(QPointF(x, in.top()), QPointF(x, in.bottom() + gaps_high()));
}

void WhatIfCurve::draw_gaps(QPainter& painter) const {
    if (gaps_high() == 0) return;
    const QRectF in = frame(), row(in.left(), in.bottom() + above_gaps, in.width(), gaps_high() - above_gaps);
    painter.fillRect(row, theme().surface_2);
    painter.setPen(theme().text_2);
    painter.drawText(QRectF(0, row.top(), in.left() - size::gap, row.height()), Qt::AlignRight | Qt::AlignVCenter,
                     no_plan_words());
}

/// Broken where there is no plan, or only a bound: nothing says what lies between that and its neighbours.
std::vector<std::size_t> WhatIfCurve::joined() const {
    const auto is_settled = [&](std::size_t i) { return answers_[i].has_plan() && answers_[i].is_whole; };
    std::vector<std::size_t> from;
    for (std::size_t i = 0; i + 1 < answers_.size(); ++i)
        if (is_settled(i) && is_settled(i + 1)) from.push_back(i);
    return from;
}

void WhatIfCurve::draw_line(QPainter& painter) const {
    painter.setPen(QPen(theme().accent, 2));
    for (const std::size_t i : joined()) painter.drawLine(place(i), place(i + 1));
}

/// The time is there or below.
void WhatIfCurve::draw_bound(QPainter& painter, QPointF at) const {
    constexpr double half = 5, tail = 11, head = 3;
    painter.setPen(QPen(theme().accent, 2));
    painter.drawLine(at - QPointF(half, 0), at + QPointF(half, 0));
    const QPointF end = at + QPointF(0, tail);
    painter.setPen(QPen(theme().accent, 1.5));
    painter.drawLine(at, end);
    painter.drawPolyline(QPolygonF({end + QPointF(-head, -head), end, end + QPointF(head, -head)}));
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
    if (!answer.is_whole) return draw_bound(painter, at);
    painter.setBrush(t.accent);
    painter.drawEllipse(at, point_radius, point_radius);
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
