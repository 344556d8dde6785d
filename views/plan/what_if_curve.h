// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include <QWidget>

#include "views/plan/what_if_answers.h"

namespace skippipe {

/// A time of a curve that goes up to `most_s`: in its axis' unit, where that is minutes in minutes and seconds.
QString iteration_words(double seconds, double most_s);

/// The iteration time over the values of one quantity: a line through what was searched for in full, the present value
/// and the chosen one marked; what only a short search found is a bound, from which the time goes down, and on no line.
/// A click, or Left and Right, choose a value.
class WhatIfCurve : public QWidget {
    Q_OBJECT
public:
    explicit WhatIfCurve(QWidget* parent = nullptr);
    /// Until one of its values has an answer, those that the same question had before are drawn pale.
    void show_curve(const WhatIfQuestion& question, const std::vector<WhatIfAnswer>& answers);
    bool is_pale() const { return is_pale_; }
    void choose(int index);
    /// The longest time that is drawn: beside it, all are said in one unit.
    double most_s() const { return most_s_; }
    int chosen() const { return chosen_; }
    /// Where the axis of times begins: at 0, unless all times lie close together far above it.
    double bottom_s() const;
    /// Where the point of a value stands.
    QPointF place(std::size_t value) const;
    /// Whether all times are as good as the same.
    bool is_level() const;
    /// Values that a line leads from to the next.
    std::vector<std::size_t> joined() const;
    /// What of the widget the axes enclose: all their words stand whole beside it.
    QRectF enclosed() const { return frame(); }
    QSize sizeHint() const override { return {320, 140}; }

Q_SIGNALS:
    void chosen_changed(int index);

protected:
    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    void measure();
    QRectF frame() const;
    double frame_high() const;
    QString no_plan_words() const;
    QString words_of_value(std::size_t value) const;
    double x_of(double value) const;
    double y_of(double seconds) const;
    double top_s() const;
    double range_s() const;
    double step_s() const;
    std::vector<double> ticks_s() const;
    QString tick_words(double seconds) const;
    void draw_times(QPainter& painter) const;
    void draw_values(QPainter& painter) const;
    int gaps_high() const;
    void draw_gaps(QPainter& painter) const;
    void draw_now(QPainter& painter) const;
    void draw_line(QPainter& painter) const;
    void draw_point(QPainter& painter, std::size_t i) const;
    void draw_bound(QPainter& painter, QPointF at) const;
    void draw_words(QPainter& painter) const;
    bool covers_times(const QRectF& box) const;
    bool covers_line(const QRectF& box) const;
    std::optional<QRectF> box_beside(QPointF point, double words_wide) const;
    void choose_at(double x);

    WhatIfQuestion question_;
    std::vector<WhatIfAnswer> answers_;
    double least_s_ = 0, most_s_ = 0;
    int left_ = 0, right_ = 0;  ///< pixels beside the frame
    int chosen_ = -1;
    bool is_pale_ = false;
};

}  // namespace skippipe
