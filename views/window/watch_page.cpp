// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/watch_page.h"

#include <algorithm>
#include <map>

#include <QAbstractItemView>
#include <QActionGroup>
#include <QMenu>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/brief_combo.h"
#include "views/theme/elided_label.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/legend.h"
#include "views/timeline/painter.h"
#include "views/timeline/span_view.h"
#include "views/topology/traffic_key.h"

namespace skippipe {
namespace {

constexpr int usual_top = 320, least_top = 220;  ///< pixels of the upper row
constexpr double panel_share = 0.19;             ///< of the timeline's row, within so many pixels
constexpr int least_panel = 316, most_panel = 480;
constexpr int least_map = 260;      ///< nodes can be told apart, and the words below them are whole
constexpr int roomy_bar = 1000;     ///< in a narrower one the timeline's keys are short
constexpr int tell_ms = 120;        ///< while moments go by, tables and words follow so often
constexpr double top_share = 0.35;  ///< of a window that is not high enough for the usual ones

}  // namespace

WatchPage::WatchPage(RunFeed& feed, SelectionModel& selection, QWidget* parent)
    : QWidget(parent),
      feed_(feed),
      selection_(selection),
      network_(new TopologyView(network_document_, network_selection_, false)),
      replay_(new ReplayBar),
      curves_(new CurvePanel),
      idle_(new IdlePanel),
      by_stage_(new SplitTable(tr("Idle time by stage"), tr("Stage"), SplitTable::Order::as_given)),
      by_node_(new SplitTable(tr("Idle time by node"), tr("Node"), SplitTable::Order::most_idle_first)),
      devices_(new DevicePanel),
      scope_(new QToolButton),
      helps_(new HelpDesk(this)),
      differences_(new DifferenceTable),
      failures_(new FailurePanel),
      loss_key_(new LossKey),
      reduction_key_(new ReductionKey),
      timeline_(new TimelineView(zoom_)),
      find_(new FindBar(*timeline_)),
      spans_(new SpanTable(this)),
      span_view_(new SpanView(*spans_)),
      no_spans_(new EmptyNote(tr("A node's operations and waits stand here as a table, once one is selected"))),
      selected_(new QLabel),
      legend_(new QWidget),
      drawn_(new DrawnKey),
      lines_words_(words_label(
          tr("A line's transfers: hatched in its queue, full on the wire, pale below on their way"), "small")),
      hints_(
          words_label(tr("Click a span or a gap, or drag over an area for its sums. Keys: W S zoom, A D pan, [ ] along "
                         "the microbatch, Ctrl+F finds, ? all keys"),
                      "small")),
      run_words_(new ElidedLabel),
      log_(new RunLog(feed)),
      details_(new QTabWidget),
      follow_(new QCheckBox(tr("Follow"))),
      runs_(new BriefCombo),
      colour_(new QComboBox),
      rows_(new QSplitter(Qt::Vertical)),
      row_edge_(*rows_, 0),
      content_(new QWidget),
      empty_(new EmptyNote) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(content_);
    column->addWidget(empty_);

    connect(empty_, &EmptyNote::pressed, this,
            [this] { start_ ? Q_EMIT stop_requested() : Q_EMIT launch_requested(); });
    show_start({}, {});

    auto* top = new QSplitter(Qt::Horizontal);
    auto* network = new QWidget;
    network->setProperty("role", "surface");
    network->setAttribute(Qt::WA_StyledBackground);
    network->setMinimumWidth(least_map);
    auto* network_column = seamless_column(network);
    network_column->addWidget(network_, 1);
    network_column->addWidget(replay_);
    top->addWidget(network);
    top->addWidget(curves_);
    top->addWidget(idle_tabs());
    top->setSizes({420, 370, 420});
    rows_->addWidget(top);
    rows_->addWidget(timeline_area());
    rows_->setSizes({usual_top, 430});
    rows_->setStretchFactor(1, 1);
    top->setObjectName("watch_top");
    rows_->setObjectName("watch_rows");
    auto* content_column = new QVBoxLayout(content_);
    content_column->setContentsMargins(0, 0, 0, 0);
    content_column->addWidget(rows_);
    curves_->set_empty_text(tr("Loss appears with the first iteration"));

    connect(&feed, &RunFeed::run_grew, this, [this](qint64 id) {
        if (id == run_) refresh();
    });
    connect(&feed, &RunFeed::runs_changed, this, &WatchPage::refresh);
    connect(&feed, &RunFeed::loading_ended, this, &WatchPage::refresh);
    connect(&zoom_, &TimeZoom::changed, this, &WatchPage::want_what_is_in_sight);
    connect(&zoom_, &TimeZoom::changed, this, &WatchPage::show_moment);
    connect(replay_, &ReplayBar::moved, this, &WatchPage::follow_replay);
    connect(replay_, &ReplayBar::followed, this, [this] {
        replay_->go_to_end();  // more may have come meanwhile
        show_moment();
        follow_newest();
    });
    connect(&zoom_, &TimeZoom::follow_changed, this, [this](bool on) {
        if (!on) replay_->stop_following();
        if (!shown_ || shown_->info.id != run_) return;
        if (on && shown_->info.state == RunState::running) {
            replay_->play(false);
            replay_->go_to_end();
            played_ = {};
        }
        show_moment();
        if (on) follow_newest();
    });
    tell_later_.setSingleShot(true);
    tell_later_.setInterval(tell_ms);
    connect(&tell_later_, &QTimer::timeout, this, &WatchPage::tell_iteration);
    connect(&network_document_, &Document::replacing, &network_selection_, &SelectionModel::clear);
    connect(timeline_, &TimelineView::selected_changed, this, [this] {
        hold_selected();
        share_selection();
        show_selected();
        show_idle();
        show_differences();
        show_moment();
    });
    connect(timeline_, &TimelineView::area_dragged, this, [this] {
        show_selected();
        show_idle();
    });
    connect(timeline_, &TimelineView::moment_moved, this, [this](double seconds) {
        replay_->play(false);
        replay_->set_moment(seconds);
        follow_replay();
    });
    connect(timeline_, &TimelineView::bookmarks_changed, this, &WatchPage::keep_bookmarks);
    connect(timeline_, &TimelineView::stage_activated, this, [this](int stage) {
        Selection s = selection_.now();
        s.stage = s.stage == stage ? std::nullopt : std::optional{stage};
        selection_.select(s);
    });
    connect(timeline_, &TimelineView::lane_activated, this, [this](int lane) {
        selection_.select({.nodes = {timeline_->data()->lanes()[static_cast<std::size_t>(lane)].name}});
    });
    connect(timeline_, &TimelineView::line_activated, this, &WatchPage::select_line);
    connect(timeline_, &TimelineView::alike_wanted, this, [this](const QString& words) {
        find_->open();
        find_->look_for(words);
    });
    connect(timeline_, &TimelineView::menu_opens, this,
            [this](QMenu* menu) { menu->addMenu(tr("Group lanes"))->addActions(groupings_->actions()); });
    connect(&selection_, &SelectionModel::changed, this, &WatchPage::follow_selection);
    connect(&network_selection_, &SelectionModel::changed, this, [this] {
        // A click on empty canvas leaves nothing selected, in the timeline neither.
        const bool emptied = !selection_.now().nodes.empty() && network_selection_.now().nodes.empty() &&
                             network_selection_.now().links.empty() && !network_selection_.now().stage;
        if (emptied) {
            timeline_->select_row(-1);
            return selection_.clear();
        }
        Selection s = selection_.now();
        s.nodes = network_selection_.now().nodes;
        s.links = network_selection_.now().links;
        s.stage = network_selection_.now().stage;
        selection_.select(s);
    });
    connect(network_, &TopologyView::menu_wanted, this, &WatchPage::fill_menu);
    connect(follow_, &QCheckBox::toggled, &zoom_, &TimeZoom::set_follows);
    connect(&zoom_, &TimeZoom::follow_changed, follow_, &QCheckBox::setChecked);
    connect(colour_, &QComboBox::currentIndexChanged, this,
            [this](int index) { colour_by(static_cast<ColourBy>(index)); });
    connect(runs_, &QComboBox::activated, this, [this] { show_run(runs_->currentData().toLongLong()); });
    refresh();
}

/// The lanes and the keys beside them and in the menu.
void WatchPage::colour_by(ColourBy by) {
    timeline_->set_colour_by(by);
    drawn_->set_colour_by(by);
    colour_legend(*legend_menu_, by);
}

/// What the lanes do not need in a large window is the upper row's, up to half of all; the panel beside them grows with
/// the window.
void WatchPage::fit_panes() {
    if (panel_edge_->is_free())
        panel_edge_->put(std::clamp(static_cast<int>(panel_share * panel_edge_->all()), least_panel, most_panel));
    if (!row_edge_.is_free()) return;
    constexpr int bar = 44;
    const int all = row_edge_.all();
    const int least = std::clamp(static_cast<int>(top_share * all), least_top, usual_top);
    row_edge_.put(std::max(least, std::min(all - timeline_->height_for_all_lanes() - bar, all / 2)));
}

void WatchPage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    loss_key_->set_short(width() < roomy_bar);
    QMetaObject::invokeMethod(this, &WatchPage::fit_panes, Qt::QueuedConnection);  // when its rows have their sizes
}

void WatchPage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    QMetaObject::invokeMethod(this, &WatchPage::fit_panes, Qt::QueuedConnection);
    follow_newest();  // what came meanwhile
}

QWidget* WatchPage::timeline_bar() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::gap);
    runs_->setAccessibleName(tr("Run"));
    runs_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    runs_->setMinimumContentsLength(8);
    colour_->addItems({tr("By operation"), tr("By stage"), tr("By microbatch"), tr("By cause")});
    colour_->setToolTip(tr("What the colours of spans and waits tell apart"));
    colour_->setAccessibleName(tr("Colour by"));
    auto* colour_words = new ElidedLabel(tr("Colour"));
    colour_words->setProperty("role", "secondary");
    colour_words->setBuddy(colour_);
    colour_words->setToolTip(colour_->toolTip());
    zoom_.set_follows(true);
    follow_->setChecked(true);
    follow_->setToolTip(tr("Keeps the newest spans in sight; zooming or panning switches it off"));
    run_words_->setProperty("role", "secondary");
    run_words_->setMinimumWidth(40);
    auto* whole = new QPushButton(tr("Fit"));
    whole->setToolTip(tr("The whole run in sight (Home)"));
    connect(whole, &QPushButton::clicked, &zoom_, &TimeZoom::show_all);
    auto* one = new QPushButton(tr("One iteration"));
    one->setObjectName("one_iteration");
    one->setToolTip(tr("In sight: the iteration of the selection, else of the moment that the map shows"));
    connect(one, &QPushButton::clicked, this, &WatchPage::show_one_iteration);
    row->addWidget(runs_);
    row->addWidget(run_words_, 1);
    row->addWidget(reduction_key_);
    row->addWidget(loss_key_);
    row->addWidget(colour_words);
    row->addWidget(colour_);
    row->addWidget(lanes_button());
    row->addWidget(one);
    row->addWidget(whole);
    row->addWidget(follow_);
    return bar;
}

/// How lanes stand: in groups, how high, all of them or heads alone.
QToolButton* WatchPage::lanes_button() {
    auto* button = new QToolButton;
    button->setObjectName("lanes");
    button->setText(tr("Lanes"));
    button->setToolTip(tr("Groups lanes, changes their height, finds spans, says what is drawn"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    const auto choices = [&](const QString& title, const auto& entries, const auto& run, int checked) {
        add_heading(menu, title);
        auto* group = new QActionGroup(menu);
        for (const auto& [words, value] : entries) {
            auto* action = menu->addAction(words);
            action->setCheckable(true);
            action->setChecked(static_cast<int>(value) == checked);
            group->addAction(action);
            connect(action, &QAction::triggered, this, [run, v = value] { run(v); });
        }
        return group;
    };
    const std::pair<QString, Grouping> groupings[] = {{tr("In no groups"), Grouping::none},
                                                      {tr("By stage"), Grouping::stage},
                                                      {tr("By region"), Grouping::region},
                                                      {tr("By rank"), Grouping::rank}};
    groupings_ = choices(
        tr("Group"), groupings, [this](Grouping by) { group_lanes_by(by); }, static_cast<int>(grouping_));
    menu->addAction(tr("Collapse all groups"), this, [this] { timeline_->collapse_all(true); });
    menu->addAction(tr("Open all groups"), this, [this] { timeline_->collapse_all(false); });
    const std::pair<QString, double> heights[] = {{tr("Fit"), fit_lane_height},
                                                  {tr("Low"), low_lane_height},
                                                  {tr("Usual"), usual_lane_height},
                                                  {tr("Tall"), tall_lane_height}};
    choices(
        tr("Height"), heights, [this](double pixels) { timeline_->set_lane_height(pixels); },
        static_cast<int>(fit_lane_height));
    auto* alone = menu->addAction(tr("The timeline alone") + "\tT");
    alone->setObjectName("timeline_alone");
    alone->setCheckable(true);
    alone->setToolTip(tr("Without the network, the curves and the causes. T, with the keys in the timeline"));
    connect(alone, &QAction::toggled, this, [this](bool on) { rows_->widget(0)->setVisible(!on); });
    connect(timeline_, &TimelineView::alone_wanted, alone, &QAction::toggle);
    menu->addSeparator();
    menu->addMenu(legend_menu_ = legend_menu(menu));
    auto* counters = menu->addAction(tr("Counters"));
    counters->setObjectName("show_counters");
    counters->setCheckable(true);
    counters->setToolTip(tr("Microbatches in memory, bytes a second and busy share, of the selected node or of all"));
    connect(counters, &QAction::toggled, timeline_, &TimelineView::set_counters);
    auto* lines = menu->addAction(tr("Lines"));
    lines->setObjectName("show_lines");
    lines->setCheckable(true);
    lines->setToolTip(tr("A row a line below the nodes: transfers in its queue, on the wire, and on their way"));
    connect(lines, &QAction::toggled, this, [this](bool on) {
        shows_lines_ = on;
        lines_words_->setVisible(on);
        show_lines();
    });
    auto* plan = menu->addAction(tr("Planned under done"));
    plan->setObjectName("show_planned");
    plan->setCheckable(true);
    plan->setToolTip(tr("Under each lane's work, pale: when the plan has it"));
    connect(plan, &QAction::toggled, this, [this](bool on) {
        shows_plan_ = on;
        show_differences();
    });
    auto* find = menu->addAction(tr("Find…"), this, [this] { find_->open(); });
    find->setShortcut(QKeySequence::Find);
    find->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    find->setProperty("group", tr("Timeline"));
    addAction(find);
    stay_open(*menu);
    button->setMenu(menu);
    return button;
}

/// What is selected; while nothing is, what the timeline draws.
QWidget* WatchPage::selection_pane() {
    auto* column_widget = new QWidget;
    auto* column = seamless_column(column_widget);
    column->addWidget(selected_);
    auto* legend_column = seamless_column(legend_);
    auto* title = words_label(tr("What is drawn"), "heading");
    title->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    legend_column->addWidget(title);
    legend_column->addWidget(drawn_);
    lines_words_->setContentsMargins(size::gap, size::unit, size::gap, 0);
    lines_words_->setObjectName("lines_words");
    lines_words_->hide();
    legend_column->addWidget(lines_words_);
    auto* on_map = words_label(tr("On the map"), "heading");
    on_map->setContentsMargins(size::gap, size::gap, size::gap, size::unit);
    legend_column->addWidget(on_map);
    auto* map_key = seamless_column(new QWidget);
    map_key->setContentsMargins(size::gap, 0, size::gap, size::gap);
    map_key->addWidget(new TrafficKey);
    legend_column->addWidget(map_key->parentWidget());
    legend_->setObjectName("selection_legend");
    column->addWidget(legend_);
    hints_->setContentsMargins(size::gap, 0, size::gap, size::gap);
    hints_->setObjectName("selection_hints");
    column->addWidget(hints_);
    column->addStretch();
    auto* pane = new QScrollArea;
    pane->setWidgetResizable(true);
    pane->setFrameShape(QFrame::NoFrame);
    pane->setAccessibleName(tr("Selection"));
    pane->setWidget(column_widget);
    return pane;
}

QWidget* WatchPage::details() {
    details_->setDocumentMode(true);
    details_->setObjectName("watch_details");
    selected_->setWordWrap(true);
    selected_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    selected_->setMargin(size::gap);
    selected_->setTextFormat(Qt::RichText);
    selected_->setTextInteractionFlags(Qt::TextBrowserInteraction);
    selected_->setOpenExternalLinks(false);
    connect(selected_, &QLabel::linkActivated, this, &WatchPage::follow_link);
    selected_->setMinimumWidth(200);
    selected_->setObjectName("selected_span");
    connect(span_view_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (const auto* span = spans_->span(index.row())) {
            timeline_->select_row(span->row);
            hold_selected();
            show_selected();
        } else if (const auto* wait = spans_->gap(index.row())) {
            timeline_->go(Found{.lane = spans_->lane(), .start_s = wait->start_s, .end_s = wait->end_s});
        }
    });
    connect(reduction_key_, &QAbstractButton::clicked, this, &WatchPage::show_longest_reduction);
    details_->addTab(selection_pane(), tr("Selection"));
    auto* table = new QWidget;
    auto* table_column = seamless_column(table);
    no_spans_->show_button(tr("Select who idles most"));
    connect(no_spans_, &EmptyNote::pressed, this, &WatchPage::select_idlest);
    table_column->addWidget(no_spans_, 1);
    table_column->addWidget(span_view_, 1);
    span_view_->setObjectName("node_spans");
    details_->addTab(table, tr("Table"));
    connect(details_, &QTabWidget::currentChanged, this, &WatchPage::scroll_spans);
    details_->addTab(differences_, tr("Plan"));
    details_->setTabToolTip(details_->indexOf(differences_), tr("Where an iteration parts from its plan, and why"));
    connect(differences_, &DifferenceTable::chosen, this,
            [this](qint64 row) { timeline_->go(shown_ ? timeline_->data()->find(row) : TimelineData::Place{}); });
    details_->addTab(log_, tr("Log"));
    details_->addTab(failures_, tr("Events"));
    connect(failures_, &FailurePanel::chosen, this, [this](double network_s) {
        timeline_->show_time(network_s);
        replay_->play(false);
        replay_->set_moment(network_s);
        follow_replay();
    });
    details_->setUsesScrollButtons(false);  // all tabs in sight: the panel gets as wide as they are
    connect(loss_key_, &QAbstractButton::clicked, this, &WatchPage::show_next_loss);
    return details_;
}

QWidget* WatchPage::timeline_area() {
    timeline_->set_overview(true);
    timeline_->set_lane_height(fit_lane_height);
    across_ = new QSplitter(Qt::Horizontal);
    across_->addWidget(timeline_);
    across_->addWidget(details());
    across_->setStretchFactor(0, 1);
    across_->setObjectName("watch_timeline");
    panel_edge_.emplace(*across_, 1);
    auto* area = new QWidget;
    auto* column = seamless_column(area);
    column->addWidget(timeline_bar());
    column->addWidget(find_);
    column->addWidget(across_, 1);
    return area;
}

void WatchPage::group_lanes_by(Grouping grouping) {
    grouping_ = grouping;
    show_groups();
}

void WatchPage::show_groups() {
    if (!shown_ || grouping_ == Grouping::none) return timeline_->set_groups({});
    if (grouping_ == Grouping::stage) {
        grouped_stages_ = stages_in_sight();
        return timeline_->set_groups(group_by_stage(grouped_stages_));
    }
    timeline_->set_groups(group_lanes(names_of_groups()));
}

/// Of each lane, as the lanes say them.
std::vector<int> WatchPage::stages_in_sight() const {
    std::vector<int> stages(shown_->lanes->lanes().size());
    for (std::size_t lane = 0; lane < stages.size(); ++lane)
        stages[lane] = shown_->lanes->stage_at(static_cast<int>(lane), timeline_->moment_in_sight());
    return stages;
}

/// Where another plan comes into sight, nodes stand with the stages that they serve there.
void WatchPage::follow_stages() {
    if (shown_ && grouping_ == Grouping::stage && stages_in_sight() != grouped_stages_) show_groups();
}

/// A node without a rank of its own is of rank 0: runs of several have dealt them all out.
std::vector<std::string> WatchPage::names_of_groups() const {
    std::map<std::string, std::string> name_of;
    for (const auto& node : shown_->experiment.topology.nodes)
        name_of[node.id] =
            grouping_ == Grouping::region ? node.region : tr("Rank %1").arg(node.rank.value_or(0)).toStdString();
    std::vector<std::string> names;
    for (const auto& lane : shown_->lanes->lanes()) names.push_back(name_of[lane.name]);
    return names;
}

void WatchPage::show_log() { details_->setCurrentWidget(log_); }

}  // namespace skippipe
