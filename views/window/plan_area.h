// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include <QLabel>

#include "views/failures/failure_axis.h"
#include "views/plan/plan_service.h"
#include "views/theme/empty_note.h"
#include "views/timeline/timeline_view.h"
#include "views/window/figure_line.h"
#include "views/window/remedies.h"

namespace skippipe {

/// How good a plan is, to be said after its time: by how much it may be longer than the best one with the same stages,
/// or with any placement where that is as much. Empty where nothing bounds it, and until the stages' bound is known.
/// The bound of a plan that does not split the backward holds for such plans alone, which it says.
QString plan_verdict(const Score& score, std::optional<double> placed_gap, bool splits_backward);
/// What the verdict leaves open, for a tip: the same with any placement, and the bound that says so. Empty where
/// nothing is.
QString any_placement_words(const Score& score, std::optional<double> placed_gap, bool splits_backward);

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
    /// Of lanes whose names stand one below the other.
    int height_for_names() const;
    /// In the place of lanes and of the axis where there never was a plan.
    EmptyNote& note() { return *note_; }
    /// The newest of the document that is a plan; null: there was none.
    std::shared_ptr<const PlanOutcome> last_plan() const { return last_; }
    /// The plan as the service has it now; where there is none, the last one of the document, pale.
    void show_plan();
    /// The shortest plan of all planners that have planned the experiment as it is; empty: none is known.
    void show_shortest(const QString& planner, double iteration_s);
    /// What would mend the first fault, where there is no plan; null: nothing is wrong.
    void show_remedies(const Fault* fault);

Q_SIGNALS:
    void problem_wanted();  ///< why there is no plan is to be seen where it is mended

protected:
    bool event(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void show_figures(const PlanOutcome& outcome);
    void show_no_plan(const PlanOutcome* outcome);
    std::optional<double> placed_gap(const PlanOutcome& outcome) const;
    QString plan_note(const PlanOutcome& outcome, std::optional<double> gap) const;
    QString shorter_words(const PlanOutcome& outcome) const;
    void share_height();
    void follow_timeline();

    Document& document_;
    SelectionModel& selection_;
    FailureEditor& failures_;
    PlanService& plans_;
    TimeZoom zoom_;
    std::shared_ptr<const PlanOutcome> last_;  ///< the newest that is a plan
    QString shortest_planner_;
    double shortest_s_ = 0;
    FigureLine* figures_;
    QLabel* state_;
    RemedyBar* remedies_;
    TimelineView* timeline_;
    FailureAxis* axis_;
    EmptyNote* note_;
};

}  // namespace skippipe
