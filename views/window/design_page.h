// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>

#include <QPushButton>
#include <QTabWidget>

#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"
#include "views/inspector/inspector.h"
#include "views/matrix/matrix_panel.h"
#include "views/devices/device_lanes.h"
#include "views/plan/plan_service.h"
#include "views/plan/planner_table.h"
#include "views/plan/stage_lanes.h"
#include "views/plan/what_if_panel.h"
#include "views/plan/why_panel.h"
#include "views/timeline/lane_key.h"
#include "views/topology/canvas_key.h"
#include "views/topology/view.h"
#include "views/window/palette.h"
#include "views/window/plan_area.h"
#include "views/window/problem_list.h"
#include "views/window/remedies.h"

class QSplitter;

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
    MatrixPanel& matrix() { return *matrix_; }
    StageLanes& stages() { return *stages_; }
    DeviceLanes& devices() { return *devices_; }
    Inspector& inspector() { return *inspector_; }
    QListWidget& problems() { return *problems_; }
    WhyPanel& why() { return *why_; }
    PlannerTable& planners() { return *planners_; }
    WhatIfPanel& what_if() { return *what_if_; }
    /// Plan, problems, why, planners, what if.
    QTabWidget& bottom() { return *bottom_; }
    const FigureLine& figures() const { return plan_->figures(); }
    QPushButton& measure_button() { return palette_->measure_button(); }
    Palette& tools() { return *palette_; }
    void set_measuring(bool measuring);
    /// The field of the experiment that has this JSON pointer, in its form.
    void show_setting(const QString& pointer);

Q_SIGNALS:
    void template_requested(const QString& name);
    void shape_requested(Shape shape, int nodes, quint64 seed);
    void measure_requested();
    void launch_requested();
    void open_again_wanted();        ///< the document's file
    void told(const QString& what);  ///< what a gesture did, or why it did nothing

protected:
    void changeEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void showEvent(QShowEvent*) override;

private:
    void fit_rows();
    void fit_columns();
    bool is_beginning() const;
    void fill_bottom();
    void show_plan();
    void show_critical();
    void show_links();
    void show_iteration(const PlanOutcome& shown, bool is_pale);
    void show_idle(const PlanOutcome* outcome);
    void show_problems();
    void show_faults(const Faults& faults);
    void show_remedies();
    std::array<EmptyNote*, 4> notes();
    void show_ways_on();
    void go_on();
    void show_problem();
    void add_places(const std::string& id, QMenu& menu);
    void add_links(const Selection& subject, QMenu& menu);
    void fill_menu(const Selection& subject, QMenu& menu);

    Document& document_;
    SelectionModel& selection_;
    PlanService& plans_;
    FailureEditor failures_;
    TopologyView* canvas_;
    Inspector* inspector_;
    StageLanes* stages_;
    DeviceLanes* devices_;
    MatrixPanel* matrix_;
    PlanArea* plan_;
    ProblemList* problems_;
    RemedyBar* remedies_;
    Faults shown_faults_;
    WhyPanel* why_;
    PlannerTable* planners_;
    WhatIfPanel* what_if_;
    QTabWidget* bottom_;
    QSplitter* rows_;     ///< the canvas and what is below it
    QSplitter* columns_;  ///< the palette, these, and the inspector
    int fitted_all_ = 0, fitted_bottom_ = 0, fitted_columns_ = 0, fitted_inspector_ = 0;
    CanvasKey* canvas_key_ = nullptr;
    LaneKey* lane_key_ = nullptr;
    Palette* palette_;
};

}  // namespace skippipe
