// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include <QCheckBox>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

#include "views/compare/figure_table.h"
#include "views/compare/headline_cards.h"
#include "views/compare/run_plans_panel.h"
#include "views/compare/race_panel.h"
#include "views/compare/sweep_panel.h"
#include "views/compare/worth_panel.h"
#include "views/curves/curve_panel.h"
#include "views/curves/omission_panel.h"
#include "views/document/selection_model.h"
#include "views/runs/evaluator.h"
#include "views/runs/run_list.h"
#include "views/theme/beside_tabs.h"
#include "views/theme/empty_note.h"
#include "views/theme/flow_key.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {

/// Runs side by side: the list, and of those selected differences, curves, what each needs to a loss, perplexity by
/// stages kept, and timelines under one zoom.
class ComparePage : public QWidget {
    Q_OBJECT
public:
    /// `document` is what sweeps are made of, by `sweeper`, and whose network skipping is weighed on, by `planners`.
    /// `selection` is what all workspaces share: nodes and microbatches of the timelines.
    ComparePage(RunFeed& feed, SelectionModel& selection, const Document& document, const PlannerRegistry& planners,
                Sweeper& sweeper, QWidget* parent = nullptr);

    RunList& list() { return *list_; }
    QTabWidget& tabs() { return *tabs_; }
    const FigureTable& table() const { return *table_; }
    CurvePanel& curves() { return *curves_; }
    OmissionPanel& omissions() { return *omissions_; }
    RacePanel& race() { return *race_; }
    RunPlansPanel& plans() { return *plans_; }
    SweepPanel& sweep() { return *sweep_; }
    WorthPanel& worth() { return *worth_; }
    /// Where sweeps are made, with or without runs that are selected.
    void show_sweep();
    const std::vector<TimelineView*>& timelines() const { return timelines_; }
    TimeZoom& zoom() { return zoom_; }
    /// The stretch of time that is looked at elsewhere, of a run that is compared; nothing: none is, and a first look
    /// is an iteration.
    void set_time(std::optional<std::pair<double, double>> begin_end_s);

Q_SIGNALS:
    void time_moved();        ///< by whoever looks at the timelines
    void report_requested();  ///< of the runs selected

protected:
    void changeEvent(QEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void follow();
    void refresh();
    void show_parts();
    void show_differences(const std::vector<const RunData*>& runs);
    void fit_list();
    QWidget* report_corner();
    // compare_page_timelines.cpp
    QWidget* timelines_tab();
    void show_one_iteration();
    void press_one_iteration();
    void keep_place_of_selected();
    void show_timelines(const std::vector<const RunData*>& runs);
    void fit_timelines();
    void order_lanes();
    void show_timeline_key(bool low);
    void want_what_is_in_sight();
    void share_selection(const TimelineView& view);
    void follow_selection();

    RunFeed& feed_;
    SelectionModel& selection_;
    TimeZoom zoom_;
    RunList* list_;
    QSplitter* panes_;  ///< the list and the runs that are compared
    QTabWidget* tabs_;
    BesideTabs* parts_ = nullptr;  ///< the differences beside the other tabs where there is room
    EmptyNote* empty_;
    HeadlineCards* best_;
    FigureTable* table_;
    QCheckBox* only_differing_;
    QPushButton* report_;
    CurvePanel* curves_;
    Evaluator evaluator_;
    OmissionPanel* omissions_;
    RacePanel* race_;
    RunPlansPanel* plans_;
    SweepPanel* sweep_;
    WorthPanel* worth_;
    QLabel* idle_finding_;
    FlowKey* timeline_key_;
    QMenu* legend_ = nullptr;  ///< all that timelines draw
    QPushButton* selected_;    ///< what is marked in all timelines; pressed, nothing is
    QPushButton* one_;         ///< down while one iteration is in sight
    QScrollArea* stack_scroll_;
    QWidget* stack_;
    QVBoxLayout* stack_rows_;
    std::vector<TimelineView*> timelines_;
    std::vector<QLabel*> figures_;  ///< beside each timeline's title
    int usual_list_, usual_page_;   ///< pixels of the list that it was made to have, of those of the page
    bool first_look_ = true;        ///< the timelines were not zoomed yet
    bool settles_ = false;          ///< the time in sight changes by itself
    std::optional<std::pair<double, double>> time_;
    bool is_stale_ = false;  ///< something changed while nobody saw it
    std::vector<RunId> shown_;
    std::vector<std::shared_ptr<const RunData>> data_;  ///< of those shown, as far as they were read
};

}  // namespace skippipe
