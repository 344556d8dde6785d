// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_panel.h"

#include <algorithm>
#include <cmath>

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/plan/plan_service.h"
#include "views/theme/elided_label.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr std::int64_t what_if_steps = 1'000;
constexpr double hardly = 1.01;  ///< times as long: no more than searches differ by

/// 0: there is no plan, or none that may be.
double seconds_of(const PlanOutcome& outcome) {
    return outcome.has_plan && outcome.score.violations.empty() ? outcome.score.iteration_seconds : 0;
}
constexpr int left_room = 72, bottom_room = 42, top_room = 20;
constexpr double tick_room = 44;  ///< pixels between ticks, at least

/// In the unit of the axis on which it stands.
QString value_text(const WhatIfQuestion& question, double value) {
    const QString unit = QString::fromUtf8(question.unit);
    return unit == "s"     ? duration_beside(value, question.values.back())
           : unit == "B/s" ? quantity_beside(8 * value, 8 * question.values[question.values.size() / 2], "bit/s")
                           : QString::number(value, 'g', 4);
}

}  // namespace

WhatIfCurve::WhatIfCurve(QWidget* parent) : QWidget(parent) {
    setObjectName("what_if_curve");
    setAccessibleName(tr("Iteration time over the values of what is asked"));
    setFocusPolicy(Qt::StrongFocus);
    setMinimumHeight(80);
}

void WhatIfCurve::show_curve(const WhatIfQuestion& question, const std::vector<double>& seconds) {
    if (question.words != question_.words || question.values != question_.values) chosen_ = -1;
    question_ = question;
    seconds_ = seconds;
    most_s_ = 0;
    for (const double s : seconds_) most_s_ = std::max(most_s_, s);
    update();
}

void WhatIfCurve::choose(int index) {
    if (index < 0 || index >= static_cast<int>(seconds_.size()) || index == chosen_) return;
    chosen_ = index;
    update();
    Q_EMIT chosen_changed(index);
}

QRectF WhatIfCurve::frame() const {
    return QRectF(rect()).adjusted(left_room, top_room, -size::wide_gap, -bottom_room);
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

/// Small words about a place, moved into the frame.
void WhatIfCurve::draw_beside(QPainter& painter, QPointF middle, const QString& words) const {
    painter.save();
    painter.setPen(theme().text);
    QRectF box(0, 0, painter.fontMetrics().horizontalAdvance(words) + 2, 14);
    box.moveCenter(middle);
    if (box.right() > width() - 2) box.moveRight(width() - 2);
    if (box.top() < frame().top() - 6) box.moveTop(middle.y() + 22);  // below what it is about
    painter.fillRect(box, theme().surface);                           // lines run below
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
    draw_now(painter);
    draw_line(painter);
    for (std::size_t i = 0; i < seconds_.size(); ++i) draw_point(painter, i);
    if (!hasFocus()) return;
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
    painter.drawText(QRectF(in.left(), in.bottom() + 22, in.width(), 16), Qt::AlignCenter, question_.words);
    std::vector<std::size_t> places{0, question_.values.size() - 1};
    for (std::size_t i = 1; i + 1 < question_.values.size(); ++i) places.push_back(i);
    std::vector<QRectF> taken;
    for (const std::size_t i : places) {
        const QString words = value_text(question_, question_.values[i]);
        const double half = painter.fontMetrics().horizontalAdvance(words) / 2.0;
        const double x = std::clamp(x_of(question_.values[i]), half, std::max(half, width() - half - 2));
        const QRectF box(x - half, in.bottom() + 4, 2 * half + 1, 18);
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

/// Broken where there is no plan.
void WhatIfCurve::draw_line(QPainter& painter) const {
    painter.setPen(QPen(theme().accent, 2));
    QPolygonF line;
    for (std::size_t i = 0; i <= seconds_.size(); ++i) {
        if (i < seconds_.size() && seconds_[i] > 0) {
            line << QPointF(x_of(question_.values[i]), y_of(seconds_[i]));
        } else {
            painter.drawPolyline(line);
            line.clear();
        }
    }
}

void WhatIfCurve::draw_point(QPainter& painter, std::size_t i) const {
    const Theme& t = theme();
    const QPointF at(x_of(question_.values[i]), y_of(std::max(0.0, seconds_[i])));
    painter.setPen(QPen(seconds_[i] == 0 ? t.bad : t.accent, 2));
    painter.setBrush(static_cast<int>(i) == chosen_ ? t.accent : t.surface);
    if (seconds_[i] == 0) {
        painter.drawLine(at - QPointF(4, 4), at + QPointF(4, 4));
        painter.drawLine(at - QPointF(4, -4), at + QPointF(4, -4));
        draw_beside(painter, at - QPointF(0, 14), tr("no plan"));
    } else if (seconds_[i] > 0) {
        const double radius = question_.values[i] == question_.now ? 6 : 4;
        painter.drawEllipse(at, radius, radius);
        draw_beside(painter, at - QPointF(0, 16), duration_beside(seconds_[i], most_s_));
    }
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
    choose(std::clamp(chosen_ + step, 0, std::max(0, static_cast<int>(seconds_.size()) - 1)));
}

WhatIfPanel::WhatIfPanel(Document& document, SelectionModel& selection, const PlannerRegistry& planners,
                         QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      planners_(planners),
      box_(new QComboBox),
      words_(new ElidedLabel),
      use_(new QPushButton(tr("Use"))),
      curve_(new WhatIfCurve) {
    pool_.setMaxThreadCount(1);
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    box_->setObjectName("what_if_questions");
    box_->setAccessibleName(tr("What would be another"));
    box_->setToolTip(tr("Of the experiment, and of the node, link or region that is selected"));
    box_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    words_->setProperty("role", "secondary");
    use_->setObjectName("what_if_use");
    use_->setToolTip(tr("Puts the chosen value into the experiment"));
    auto* row = head_row();
    row->addWidget(box_);
    row->addWidget(words_, 1);
    row->addWidget(use_);
    auto* column = seamless_column(this);
    column->addLayout(row);
    column->addWidget(curve_, 1);
    connect(&document, &Document::changed, this, &WhatIfPanel::follow);
    connect(&selection, &SelectionModel::changed, this, &WhatIfPanel::follow);
    connect(box_, &QComboBox::activated, this, &WhatIfPanel::ask);
    connect(curve_, &WhatIfCurve::chosen_changed, this, &WhatIfPanel::say);
    connect(use_, &QPushButton::clicked, this, [this] {
        const int at = curve_->chosen(), which = box_->currentIndex();
        if (at < 0 || which < 0 || which >= static_cast<int>(all_.size())) return;
        const WhatIfQuestion question = all_[static_cast<std::size_t>(which)];
        document_.edit(question.words,
                       [&](Experiment& e) { question.set(e, question.values[static_cast<std::size_t>(at)]); });
    });
    follow();
}

WhatIfPanel::~WhatIfPanel() {
    stop_.request_stop();
    pool_.waitForDone();
}

void WhatIfPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void WhatIfPanel::show_plan(std::shared_ptr<const PlanOutcome> plan, HeldMicrobatches held, bool is_current) {
    const bool is_new = plan_ != plan || awaits_ == is_current;
    awaits_ = !is_current;
    plan_ = std::move(plan);
    held_ = std::move(held);
    const auto asked = what_if_questions(document_.experiment(), selection_.now(), held_);
    const bool is_same = std::equal(
        asked.begin(), asked.end(), all_.begin(), all_.end(),
        [](const auto& a, const auto& b) { return a.words == b.words && a.now == b.now && a.values == b.values; });
    if (!is_same || is_new) follow();
}

/// Who looks elsewhere asks nothing.
void WhatIfPanel::follow() {
    stop();
    if (!isVisible()) return;
    const QString before = box_->currentText();
    all_ = what_if_questions(document_.experiment(), selection_.now(), held_);
    const QSignalBlocker quiet(box_);
    box_->clear();
    for (const auto& question : all_) box_->addItem(question.words);
    // What was asked about a thing is asked about the next that is selected.
    const int same = box_->findText(before);
    box_->setCurrentIndex(same >= 0 ? same : all_.size() > 1 ? 1 : 0);
    ask();
}

void WhatIfPanel::stop() {
    stop_.request_stop();
    ++serial_;
    busy_ = false;
}

void WhatIfPanel::ask() {
    stop();
    seconds_.clear();
    const int which = box_->currentIndex();
    const Experiment experiment = document_.experiment();
    const Planner* planner = planners_.find(experiment.pipeline.planner);
    if (awaits_ || which < 0 || planner == nullptr || has_errors(document_.faults())) {
        curve_->show_curve({}, {});
        return say();
    }
    const WhatIfQuestion question = all_[static_cast<std::size_t>(which)];
    seconds_.assign(question.values.size(), -1);
    curve_->show_curve(question, seconds_);
    busy_ = true;
    say();
    stop_ = std::stop_source{};
    pool_.start([this, experiment, planner, question, plan = plan_, serial = serial_, stop = stop_.get_token()] {
        for (std::size_t i = 0; i < question.values.size(); ++i) {
            Experiment other = experiment;
            question.set(other, question.values[i]);
            const auto kept = plan ? carry_over(other, *plan) : nullptr;
            double found = kept ? seconds_of(*kept) : 0;
            if (found == 0 || question.values[i] != question.now) {  // now it is the plan that is shown
                PlanRequest request = request_for(other);
                request.steps = what_if_steps;
                request.stop = stop;
                if (found > 0 && planner->goes_on()) request.warm_start = &kept->plan;
                const double searched = seconds_of(*make_plan(other, *planner, request, Bounding::left_out));
                if (searched > 0 && (found == 0 || searched < found)) found = searched;
            }
            if (stop.stop_requested()) return;
            QMetaObject::invokeMethod(
                this,
                [this, question, i, found, serial, last = i + 1 == question.values.size()] {
                    if (serial != serial_) return;
                    seconds_[i] = found;
                    busy_ = !last;
                    curve_->show_curve(question, seconds_);
                    say();
                },
                Qt::QueuedConnection);
        }
    });
}

/// What all values come to, where nobody has chosen one.
QString WhatIfPanel::spread_words() const {
    double least = 0, most = 0;
    for (const double s : seconds_)
        if (s > 0) least = least == 0 ? s : std::min(least, s), most = std::max(most, s);
    const QString how = tr("by a short search; choose a value");
    if (least == 0) return tr("No value has a plan");
    return (most <= least * hardly ? tr("Hardly matters: %1 to %2, %3") : tr("%1 to %2, %3"))
        .arg(duration(least), duration(most), how);
}

void WhatIfPanel::say() {
    const int which = box_->currentIndex(), at = curve_->chosen();
    const bool has = which >= 0 && at >= 0 && at < static_cast<int>(seconds_.size());
    use_->setEnabled(has);
    if (seconds_.empty())
        return words_->setText(awaits_ && plan_
                                   ? tr("Asked anew as soon as the new plan is there")
                                   : tr("The iteration time over a quantity appears here once there is a plan"));
    const auto planned = std::count_if(seconds_.begin(), seconds_.end(), [](double s) { return s >= 0; });
    if (!has)
        return words_->setText(busy_ ? tr("%1 of %2 values planned").arg(planned).arg(seconds_.size())
                                     : spread_words());
    const auto& question = all_[static_cast<std::size_t>(which)];
    const double s = seconds_[static_cast<std::size_t>(at)];
    const QString value = value_text(question, question.values[static_cast<std::size_t>(at)]);
    const auto now = std::find(question.values.begin(), question.values.end(), question.now);
    const double now_s =
        now == question.values.end() ? 0 : seconds_[static_cast<std::size_t>(now - question.values.begin())];
    words_->setText(s < 0    ? tr("%1: not planned yet").arg(value)
                    : s == 0 ? tr("%1: there is no plan").arg(value)
                    : now_s > 0 && now_s != s
                        ? tr("%1: %2, %3 against now").arg(value, duration(s), change(s / now_s - 1))
                        : tr("%1: %2").arg(value, duration(s)));
}

}  // namespace skippipe
