// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPushButton>
#include <QTableWidget>
#include <QTabWidget>

#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"
#include "views/inspector/inspector.h"
#include "views/plan/plan_service.h"
#include "views/plan/why_panel.h"
#include "views/topology/view.h"
#include "views/window/plan_area.h"
#include "views/window/problem_list.h"

namespace skippipe {

/// The workspace where an experiment is drawn: canvas, properties, the plan it gives and its problems.
class DesignPage : public QWidget {
    Q_OBJECT
public:
    DesignPage(Document& document, SelectionModel& selection, PlanService& plans, QWidget* parent = nullptr);

    TopologyView& canvas() { return *canvas_; }
    TimelineView& plan_timeline() { return plan_->timeline(); }
    FailureEditor& failures() { return failures_; }
    FailureAxis& failure_axis() { return plan_->axis(); }
    Inspector& inspector() { return *inspector_; }
    QListWidget& problems() { return *problems_; }
    WhyPanel& why() { return *why_; }
    /// Plan, problems, why.
    QTabWidget& bottom() { return *bottom_; }
    const FigureLine& figures() const { return plan_->figures(); }
    QPushButton& measure_button() { return *measure_; }
    void set_measuring(bool measuring);

Q_SIGNALS:
    void template_requested(const QString& name);
    void measure_requested();

protected:
    void changeEvent(QEvent*) override;

private:
    QWidget* palette();
    void fill_bottom();
    void show_plan();
    void show_problems();
    void show_stages(const PlanOutcome& outcome);
    void show_matrix();
    void fill_menu(const Selection& subject, QMenu& menu);

    Document& document_;
    SelectionModel& selection_;
    PlanService& plans_;
    FailureEditor failures_;
    TopologyView* canvas_;
    Inspector* inspector_;
    QTableWidget *stages_, *matrix_;
    PlanArea* plan_;
    ProblemList* problems_;
    WhyPanel* why_;
    QTabWidget* bottom_;
    QPushButton* measure_ = nullptr;
};

}  // namespace skippipe
