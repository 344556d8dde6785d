// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QElapsedTimer>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>

#include "views/curves/curve_panel.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/idle/device_panel.h"
#include "views/window/help_desk.h"
#include "views/idle/idle_panel.h"
#include "views/idle/split_table.h"
#include "views/runs/failure_panel.h"
#include "views/runs/run_feed.h"
#include "views/runs/run_bookmarks.h"
#include "views/runs/run_log.h"
#include "views/theme/empty_note.h"
#include "views/theme/fitted_edge.h"
#include "views/timeline/details.h"
#include "views/timeline/difference_table.h"
#include "views/timeline/find_bar.h"
#include "views/timeline/reduction_key.h"
#include "views/timeline/timeline_view.h"
#include "views/topology/view.h"
#include "views/window/replay_bar.h"

class QActionGroup;
class QMenu;

namespace skippipe {

class DrawnKey;
class SpanTable;
class SpanView;

/// The workspace where a run is watched: its network, curves, why nodes idle, and the timeline.
class WatchPage : public QWidget {
    Q_OBJECT
public:
    /// `selection` is what all workspaces share.
    WatchPage(RunFeed& feed, SelectionModel& selection, QWidget* parent = nullptr);

    /// Shows a run; 0: none.
    void show_run(RunId run);
    RunId run() const { return run_; }
    TimelineView& timeline() { return *timeline_; }
    TimeZoom& zoom() { return zoom_; }
    CurvePanel& curves() { return *curves_; }
    IdlePanel& idle() { return *idle_; }
    const HelpDesk& helps() const { return *helps_; }
    TopologyView& network() { return *network_; }
    /// The moment that the network shows, of what is in sight of the timeline.
    ReplayBar& replay() { return *replay_; }
    /// What lost nodes cost the run, and the button that leads there; both only where some were lost.
    FailurePanel& failures() { return *failures_; }
    LossKey& loss_key() { return *loss_key_; }
    /// Looks for spans and waits (Ctrl+F).
    FindBar& find_bar() { return *find_; }
    /// Instants that were marked, of each run that has some.
    const RunBookmarks& bookmarks() const { return bookmarks_; }
    void set_bookmarks(RunBookmarks bookmarks);
    /// Nothing moves by itself: a run that goes on is shown by each iteration's loads.
    void set_still(bool still);
    /// What the run said, and how it is shown.
    /// Property of panes that are as large as what they show, until somebody draws their edge.
    RunLog& log() { return *log_; }
    void show_log();
    /// What is selected, in front of the log and whatever else stands beside it.
    void show_selection() { details_->setCurrentIndex(0); }
    /// Selects the longest transfer of a reduction in sight; where there is none there, of the run.
    void show_longest_reduction();
    /// When nodes were lost, one loss after the other, and what happened.
    void show_next_loss();
    /// What a run that was asked for waits for.
    struct Start {
        QString words;
        double share = -1;  ///< that is done; below 0: nobody knows
        bool operator==(const Start&) const = default;
    };
    /// While no run is shown: what is awaited, or none and why none can be launched (empty: one can).
    void show_start(const std::optional<Start>& start, const QString& why_not_launch);
    /// Why no node of the run that is shown can be made to fail now; empty: it can.
    QString why_not_fail() const;
    /// Leaves the command in the record: the node fails as soon as the run takes it, and is back so many seconds of
    /// network time later; nothing: never.
    void fail_now(const std::string& node, std::optional<double> back_after_s);

Q_SIGNALS:
    void launch_requested();
    void stop_requested();           ///< of the run that is about to begin
    void run_changed();              ///< another run is shown
    void told(const QString& what);  ///< a run was told something
    void bookmarks_changed();        ///< of the run that is shown, by whoever looks

protected:
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    enum class Grouping { none, stage, region, rank };

    void fit_panes();
    QWidget* timeline_area();
    QWidget* timeline_bar();
    QWidget* details();
    QWidget* selection_pane();
    QToolButton* lanes_button();
    void colour_by(ColourBy by);
    void group_lanes_by(Grouping grouping);
    void show_groups();
    /// What lanes are grouped by: a name each.
    std::vector<std::string> names_of_groups() const;
    void fill_menu(const Selection& subject, QMenu& menu);

    // watch_page_run.cpp
    void list_runs();
    void refresh();
    void show_network(const RunData& run);
    void show_busiest_moment();
    void show_failures();
    void want_what_is_in_sight();
    void show_one_iteration();
    void show_lines();
    void show_bookmarks();
    void keep_bookmarks();

    // watch_page_selection.cpp
    double shown_time() const;
    bool has_selected_time() const;
    void show_down();
    void show_moment();
    void tell_iteration();
    void follow_newest();
    bool rests_at_newest() const;
    void show_plan_at(int iteration);
    int plan_since(int iteration) const;
    const Plan& plan_in_force(int iteration) const;
    std::vector<int> stages_in_sight() const;
    void follow_stages();
    void show_events(double at_s);
    void follow_replay();
    void hold_selected();
    void show_idle();
    void show_area_idle(const TimelineArea& area);
    void find_waits(IdleCause cause);
    void show_splits();
    void mark_splits();
    void show_drawn_causes();
    std::vector<IdleSplit> node_splits() const;
    bool is_of_sight() const;
    void want_help();
    void add_failure(Details& details) const;
    void add_help(Details& details, bool is_first) const;
    Details selection_details() const;
    const Link* selected_link() const;
    void select_line(int line);
    void follow_link(const QString& link);
    void show_devices();
    void show_differences();
    const IterationTime* chosen_iteration() const;
    QWidget* idle_tabs();
    void show_selected();
    void show_spans();
    void select_idlest();
    void scroll_spans();
    void follow_selection();
    void share_selection();

    RunFeed& feed_;
    SelectionModel& selection_;
    Document network_document_;
    SelectionModel network_selection_;
    TimeZoom zoom_;
    TopologyView* network_;
    ReplayBar* replay_;
    CurvePanel* curves_;
    IdlePanel* idle_;
    SplitTable *by_stage_, *by_node_;
    DevicePanel* devices_;
    QTabWidget* idle_tabs_ = nullptr;
    QToolButton* scope_;  ///< of the idle times
    bool of_sight_ = false;
    HelpDesk* helps_;
    DifferenceTable* differences_;
    FailurePanel* failures_;
    LossKey* loss_key_;
    ReductionKey* reduction_key_;
    TimelineView* timeline_;
    FindBar* find_;
    SpanTable* spans_;
    SpanView* span_view_;
    EmptyNote* no_spans_;
    QLabel* selected_;
    QWidget* legend_;
    DrawnKey* drawn_;                      ///< in the legend
    QLabel* lines_words_;                  ///< what lanes of lines draw; in the legend
    QLabel* hints_;                        ///< what mouse and keys do; below it
    std::vector<IdleCause> drawn_causes_;  ///< there; none: all
    bool drawn_down_ = true;               ///< that a node can be down is told there
    QLabel* run_words_;
    RunLog* log_;
    QTabWidget* details_;
    std::shared_ptr<const RunData> shown_;
    /// What the loads were summed up for.
    struct LoadsKey {
        std::shared_ptr<const TimelineData> lanes;
        double begin_s = 0, end_s = 0;
        bool operator==(const LoadsKey&) const = default;
    };
    std::pair<RunId, int> plan_since_{0, 0};  ///< of which run, from which iteration on, is the plan that is shown
    Traffic loads_;
    LoadsKey loads_of_;
    QCheckBox* follow_;
    QComboBox *runs_, *colour_;
    QActionGroup* groupings_ = nullptr;  ///< of the lanes
    QMenu* legend_menu_ = nullptr;       ///< all that is drawn, in the menu of the lanes
    /// What the box of runs says.
    struct ListedRun {
        RunId id = 0;
        RunState state = RunState::running;
        bool paused = false;
        std::string name = {};
    };
    std::vector<ListedRun> listed_;
    QSplitter* across_ = nullptr;  ///< the timeline, and what is selected there
    std::optional<FittedEdge> panel_edge_;
    QSplitter* rows_;  ///< network, curves and idle times above, the timeline below
    FittedEdge row_edge_;
    QWidget* content_;
    EmptyNote* empty_;
    std::optional<Start> start_;
    Grouping grouping_ = Grouping::none;
    std::vector<int> grouped_stages_;  ///< of each lane, where lanes are grouped by them
    bool shows_plan_ = false, shows_lines_ = false;
    std::pair<RunId, std::size_t> lines_of_{0, 0};  ///< whose lines are known, and of how many spans
    std::shared_ptr<const LineRows> lines_;
    RunBookmarks bookmarks_;
    std::optional<double> back_after_s_;  ///< what was entered last
    RunId run_ = 0, network_of_ = 0;      ///< network_of_: whose network is drawn
    bool first_look_ = true, opens_at_work_ = false;
    /// The newest iteration of a run that goes on: which one there is, which one the map played, and how long it was
    /// waited for.
    struct Newest {
        RunId run = 0;
        double end_s = 0;
        bool operator==(const Newest&) const = default;
    };
    Newest newest_, played_;
    QElapsedTimer since_newest_;
    double awaited_s_ = 0;
    bool is_still_ = false;
    int told_iteration_ = -1;  ///< that tables and words are of
    QTimer tell_later_;
    std::size_t next_loss_ = 0;  ///< that its key leads to
};

}  // namespace skippipe
