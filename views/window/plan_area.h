// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>

#include "views/failures/failure_axis.h"
#include "views/plan/plan_service.h"
#include "views/timeline/timeline_view.h"
#include "views/window/figure_line.h"

namespace skippipe {

/// The plan under the canvas: its figures, a miniature of its timeline, and the axis of failures. Where both cannot
/// have the height they would like, the axis scrolls and the lanes keep their names.
class PlanArea : public QWidget {
    Q_OBJECT
public:
    PlanArea(Document& document, SelectionModel& selection, FailureEditor& failures, PlanService& plans,
             QWidget* parent = nullptr);

    TimelineView& timeline() { return *timeline_; }
    FailureAxis& axis() { return *axis_; }
    const FigureLine& figures() const { return *figures_; }
    /// The plan as the service has it now.
    void show_plan();

protected:
    bool event(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void show_figures(const PlanOutcome& outcome);
    void share_height();
    void follow_timeline();

    SelectionModel& selection_;
    FailureEditor& failures_;
    PlanService& plans_;
    TimeZoom zoom_;
    FigureLine* figures_;
    QLabel* state_;
    TimelineView* timeline_;
    FailureAxis* axis_;
};

}  // namespace skippipe
