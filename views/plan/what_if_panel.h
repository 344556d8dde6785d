// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <stop_token>

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QThreadPool>
#include <QWidget>

#include "core/planner/planner.h"
#include "views/plan/what_if_questions.h"

namespace skippipe {

struct PlanOutcome;

class Document;
class SelectionModel;

/// The iteration time over the values of one quantity: a line through what was planned, the present value and the
/// chosen one marked. A click, or Left and Right, choose a value.
class WhatIfCurve : public QWidget {
    Q_OBJECT
public:
    explicit WhatIfCurve(QWidget* parent = nullptr);
    /// Iteration times in seconds, 0: there is no plan, negative: not planned yet.
    void show_curve(const WhatIfQuestion& question, const std::vector<double>& seconds);
    void choose(int index);
    int chosen() const { return chosen_; }
    QSize sizeHint() const override { return {320, 140}; }

Q_SIGNALS:
    void chosen_changed(int index);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    QRectF frame() const;
    double x_of(double value) const;
    double y_of(double seconds) const;
    double top_s() const;
    double step_s() const;
    void draw_times(QPainter& painter) const;
    void draw_values(QPainter& painter) const;
    void draw_now(QPainter& painter) const;
    void draw_line(QPainter& painter) const;
    void draw_point(QPainter& painter, std::size_t i) const;
    void draw_beside(QPainter& painter, QPointF middle, const QString& words) const;
    void choose_at(double x);

    WhatIfQuestion question_;
    std::vector<double> seconds_;
    double most_s_ = 0;
    int chosen_ = -1;
};

/// What the iteration would take if one thing were another: asked without an edit, planned in the background with a
/// short search for each value. An edit, or another question, ends what goes on; after an edit it is asked once the new
/// plan is there.
class WhatIfPanel : public QWidget {
    Q_OBJECT
public:
    WhatIfPanel(Document& document, SelectionModel& selection, const PlannerRegistry& planners,
                QWidget* parent = nullptr);
    ~WhatIfPanel() override;
    /// The plan that is shown from now on, from which each search starts, and what nodes hold in it; null: none.
    /// `is_current`: false while another one is searched for, until which nothing is asked.
    void show_plan(std::shared_ptr<const PlanOutcome> plan, HeldMicrobatches held, bool is_current = true);
    QComboBox& questions() { return *box_; }
    WhatIfCurve& curve() { return *curve_; }
    QPushButton& use_button() { return *use_; }
    const QLabel& words() const { return *words_; }
    const std::vector<double>& seconds() const { return seconds_; }
    bool is_busy() const { return busy_; }

protected:
    void showEvent(QShowEvent*) override;

private:
    void follow();
    void ask();
    void stop();
    void say();
    QString spread_words() const;

    Document& document_;
    SelectionModel& selection_;
    const PlannerRegistry& planners_;
    QComboBox* box_;
    QLabel* words_;
    QPushButton* use_;
    WhatIfCurve* curve_;
    QThreadPool pool_;
    std::stop_source stop_;
    std::vector<WhatIfQuestion> all_;
    HeldMicrobatches held_;
    std::shared_ptr<const PlanOutcome> plan_;
    std::vector<double> seconds_;
    int serial_ = 0;
    bool busy_ = false, awaits_ = false;
};

}  // namespace skippipe
