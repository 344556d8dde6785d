// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/watch_page.h"

#include <algorithm>
#include <numeric>

#include <QAbstractItemView>
#include <QHeaderView>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "views/runs/resuming.h"
#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/span_table.h"

namespace skippipe {

namespace {

/// A run that calibrates may have gone over to other plans.
QString new_plan_words(const RunData& run) {
    return run.plan_changes.empty()
               ? QString{}
               : WatchPage::tr(", new plan since iteration %1").arg(run.plan_changes.back().iteration + 1);
}

QString new_plan_reasons(const RunData& run) {
    QStringList lines;
    for (const auto& change : run.plan_changes)
        lines +=
            WatchPage::tr("From iteration %1: %2").arg(change.iteration + 1).arg(QString::fromStdString(change.why));
    return lines.join('\n');
}

}  // namespace

WatchPage::WatchPage(RunFeed& feed, SelectionModel& selection, QWidget* parent)
    : QWidget(parent),
      feed_(feed),
      selection_(selection),
      network_(new TopologyView(network_document_, network_selection_, false)),
      curves_(new CurvePanel),
      idle_(new IdlePanel),
      failures_(new FailurePanel),
      loss_key_(new LossKey),
      timeline_(new TimelineView(zoom_)),
      spans_(new SpanTable(this)),
      span_view_(new QTableView),
      selected_(new QLabel),
      run_words_(new QLabel),
      log_(new RunLog(feed)),
      details_(new QTabWidget),
      follow_(new QCheckBox(tr("Follow"))),
      runs_(new QComboBox),
      colour_(new QComboBox),
      content_(new QWidget),
      empty_(new QWidget),
      resume_(new QPushButton(tr("Resume"))) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(content_);
    column->addWidget(empty_);

    auto* middle = new QVBoxLayout(empty_);
    auto* words =
        new QLabel(tr("A run's timeline, curves and idle times appear here while it trains\nNone was launched yet"));
    words->setAlignment(Qt::AlignCenter);
    words->setProperty("role", "secondary");
    auto* launch = new QPushButton(tr("Launch the experiment"));
    connect(launch, &QPushButton::clicked, this, &WatchPage::launch_requested);
    middle->addStretch();
    middle->addWidget(words);
    middle->addWidget(launch, 0, Qt::AlignHCenter);
    middle->addStretch();

    auto* top = new QSplitter(Qt::Horizontal);
    top->addWidget(network_);
    top->addWidget(curves_);
    top->addWidget(idle_);
    top->setSizes({330, 460, 420});
    auto* all = new QSplitter(Qt::Vertical);
    all->addWidget(top);
    all->addWidget(timeline_area());
    all->setSizes({280, 430});
    all->setStretchFactor(1, 1);
    top->setObjectName("watch_top");
    all->setObjectName("watch_rows");
    auto* content_column = new QVBoxLayout(content_);
    content_column->setContentsMargins(0, 0, 0, 0);
    content_column->addWidget(all);
    curves_->set_empty_text(tr("Loss appears with the first iteration"));

    connect(&feed, &RunFeed::run_grew, this, [this](qint64 id) {
        if (id == run_) refresh();
    });
    connect(&feed, &RunFeed::runs_changed, this, &WatchPage::refresh);
    connect(&feed, &RunFeed::loading_ended, this, &WatchPage::refresh);
    connect(&zoom_, &TimeZoom::changed, this, &WatchPage::want_what_is_in_sight);
    connect(&zoom_, &TimeZoom::changed, this, &WatchPage::show_down);
    connect(&network_document_, &Document::replacing, &network_selection_, &SelectionModel::clear);
    connect(timeline_, &TimelineView::selected_changed, this, [this] {
        if (timeline_->selected_lane() < 0 && !timeline_->area()) selection_.clear();
        show_selected();
        show_down();
    });
    connect(timeline_, &TimelineView::lane_activated, this, [this](int lane) {
        selection_.select({.nodes = {timeline_->data()->lanes()[static_cast<std::size_t>(lane)].name}});
    });
    connect(&selection_, &SelectionModel::changed, this, &WatchPage::follow_selection);
    connect(&network_selection_, &SelectionModel::changed, this, [this] {
        Selection s = selection_.now();
        s.nodes = network_selection_.now().nodes;
        s.links = network_selection_.now().links;
        selection_.select(s);
    });
    connect(network_, &TopologyView::menu_wanted, this, &WatchPage::fill_menu);
    connect(follow_, &QCheckBox::toggled, &zoom_, &TimeZoom::set_follows);
    connect(&zoom_, &TimeZoom::follow_changed, follow_, &QCheckBox::setChecked);
    connect(colour_, &QComboBox::currentIndexChanged, this,
            [this](int index) { timeline_->set_colour_by(static_cast<ColourBy>(index)); });
    connect(runs_, &QComboBox::activated, this, [this] { show_run(runs_->currentData().toLongLong()); });
    refresh();
}

QWidget* WatchPage::timeline_area() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::gap);
    runs_->setAccessibleName(tr("Run"));
    runs_->setMinimumWidth(200);
    colour_->addItems(
        {tr("Colour by operation"), tr("Colour by stage"), tr("Colour by microbatch"), tr("Colour by cause")});
    colour_->setAccessibleName(tr("Colour by"));
    follow_->setChecked(true);
    follow_->setToolTip(tr("Keeps the newest spans in sight; zooming or panning switches it off"));
    run_words_->setProperty("role", "secondary");
    resume_->setObjectName("resume_run");
    connect(resume_, &QPushButton::clicked, this, [this] { Q_EMIT resume_requested(run_); });
    auto* whole = new QPushButton(tr("Fit"));
    whole->setToolTip(tr("The whole run in sight (Home)"));
    connect(whole, &QPushButton::clicked, &zoom_, &TimeZoom::show_all);
    auto* one = new QPushButton(tr("One iteration"));
    one->setToolTip(tr("The iteration of the selection in sight, else the last whole one"));
    connect(one, &QPushButton::clicked, this, [this] {
        const auto data = shown_;
        if (data == nullptr) return;
        const double length = data->info.iteration_s.value_or(data->info.predicted_iteration_s);
        if (length <= 0) return;
        // The iteration of what is selected, else the last whole one.
        const auto* span = timeline_->selected().span;
        const auto* gap = timeline_->selected_gap() ? &*timeline_->selected_gap() : nullptr;
        const double chosen = span != nullptr  ? std::floor(span->start_s / length + 1e-9)
                              : gap != nullptr ? std::floor(gap->start_s / length + 1e-9)
                                               : -1;
        const double last =
            (chosen >= 0 ? chosen : std::max(0.0, std::floor(zoom_.extent() / length + 1e-6) - 1)) * length;
        zoom_.set_follows(false);
        zoom_.show(last, last + length * 1.01);
    });
    row->addWidget(runs_);
    row->addWidget(run_words_, 1);
    row->addWidget(loss_key_);
    row->addWidget(resume_);
    row->addWidget(colour_);
    row->addWidget(one);
    row->addWidget(whole);
    row->addWidget(follow_);

    details_->setDocumentMode(true);
    selected_->setWordWrap(true);
    selected_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    selected_->setMargin(size::gap);
    selected_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    selected_->setMinimumWidth(200);
    selected_->setObjectName("selected_span");
    span_view_->setModel(spans_);
    make_plain(*span_view_, tr("Spans of the node"));
    span_view_->setSelectionBehavior(QAbstractItemView::SelectRows);
    connect(span_view_, &QTableView::clicked, this, [this](const QModelIndex& index) {
        if (const auto* span = spans_->span(index.row())) {
            timeline_->select_row(span->row);
            show_selected();
        }
    });
    details_->addTab(selected_, tr("Selection"));
    details_->addTab(span_view_, tr("Table"));
    details_->addTab(log_, tr("Log"));
    details_->addTab(failures_, tr("Failures"));
    details_->setUsesScrollButtons(false);  // all tabs in sight: the panel gets as wide as they are
    connect(loss_key_, &QAbstractButton::clicked, this, [this] { details_->setCurrentWidget(failures_); });

    auto* across = new QSplitter(Qt::Horizontal);
    across->addWidget(timeline_);
    across->addWidget(details_);
    across->setSizes({980, 236});
    across->setStretchFactor(0, 1);
    across->setObjectName("watch_timeline");
    auto* area = new QWidget;
    auto* column = new QVBoxLayout(area);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(bar);
    column->addWidget(across, 1);
    return area;
}

void WatchPage::show_run(RunId run) {
    if (run == run_) return;
    run_ = run;
    first_look_ = true;
    zoom_.set_follows(true);
    if (run > 0) feed_.watch(run);
    timeline_->set_empty_text(tr("Spans appear with the first iteration"));
    log_->show_run(run);
    refresh();
    Q_EMIT run_changed();
}

void WatchPage::show_network(const RunData& run) {
    network_of_ = run.info.id;
    network_document_.start_new(run.experiment);
    network_->scene_model().show_plan(run.problem ? &run.plan : nullptr,
                                      run.problem ? run.problem->node_ids : PerNode<std::string>{});
    network_->fit();
}

/// Network seconds: where the selection begins, else the end of what is in sight.
double WatchPage::shown_time() const {
    if (const auto* span = timeline_->selected().span) return span->start_s;
    if (timeline_->selected_gap()) return timeline_->selected_gap()->start_s;
    const double end_s = std::min(zoom_.end(), shown_->lanes->extent_s());
    return end_s - 1e-9 * std::max(1.0, end_s);  // what ends there is still shown
}

void WatchPage::show_down() {
    if (!shown_ || network_of_ != run_) return;
    const TimelineData& lanes = *shown_->lanes;
    const double time_s = shown_time();
    std::map<std::string, QString> down;
    for (int lane = 0; lane < static_cast<int>(lanes.lanes().size()); ++lane)
        if (const auto outage = lanes.outage_at(lane, time_s))
            down[lanes.lanes()[static_cast<std::size_t>(lane)].name] = outage_words(*outage, lanes);
    network_->scene_model().show_down(std::move(down));
}

void WatchPage::show_failures() {
    const auto account = shown_ && !shown_->lanes->losses().empty()
                             ? account_losses(shown_->metrics, shown_->info.predicted_iteration_s)
                             : LossAccount{};
    failures_->show_account(account);
    loss_key_->show_losses(account.nodes);
    details_->setTabVisible(details_->indexOf(failures_), account.nodes > 0);
}

/// Of a long run the newest iterations are read; others when somebody looks there.
void WatchPage::want_what_is_in_sight() {
    if (!shown_ || first_look_) return;
    for (const auto& [begin, end] : shown_->unread)
        if (begin < zoom_.end() && end > zoom_.begin()) return feed_.want(run_, zoom_.begin(), zoom_.end());
}

void WatchPage::list_runs() {
    if (runs_->view()->isVisible()) return;  // someone is choosing
    const QSignalBlocker quiet(runs_);
    runs_->clear();
    for (const auto& run : feed_.runs())
        runs_->addItem(
            tr("Run %1, %2, %3").arg(run.id).arg(QString::fromStdString(run.planner), state_words(run).toLower()),
            static_cast<qlonglong>(run.id));
    runs_->setCurrentIndex(runs_->findData(static_cast<qlonglong>(run_)));
}

void WatchPage::set_hindrance(const QString& hindrance) {
    hindrance_ = hindrance;
    follow_resume();
}

void WatchPage::follow_resume() {
    const auto* run = feed_.run(run_);
    resume_->setVisible(run != nullptr && is_interrupted(*run));
    set_resume(*resume_, run, hindrance_);
}

void WatchPage::refresh() {
    list_runs();
    follow_resume();
    shown_ = feed_.data(run_);
    const RunData* data = shown_.get();
    content_->setVisible(run_ > 0);
    empty_->setVisible(run_ <= 0);
    log_->read();
    show_failures();
    if (data == nullptr) {
        timeline_->set_data(nullptr);
        run_words_->setText(run_ > 0 ? tr("Reading run %1…").arg(run_) : QString{});
        return;
    }
    if (network_of_ != run_) show_network(*data);
    QString words = tr("%1, iteration %2 of %3")
                        .arg(QString::fromStdString(data->info.name))
                        .arg(data->info.iterations_done)
                        .arg(data->info.iterations) +
                    new_plan_words(*data);
    if (feed_.is_loading())
        words += tr(", reading");
    else if (!data->unread.empty())
        words += tr(", earlier iterations are read when you look there");
    run_words_->setText(words);
    run_words_->setToolTip(new_plan_reasons(*data));
    curves_->show_runs({data});
    const double iteration = data->info.iteration_s.value_or(data->info.predicted_iteration_s);
    if (first_look_ && data->lanes->extent_s() > 0 && iteration > 0) {
        // Begin with two iterations rather than with all of them squeezed together.
        zoom_.set_extent(data->lanes->extent_s());
        if (zoom_.extent() > 2 * iteration) zoom_.show(zoom_.extent() - 2 * iteration, zoom_.extent());
        first_look_ = feed_.is_loading();
    }
    zoom_.set_extent(data->lanes->extent_s() > 0 ? data->lanes->extent_s() : std::max(iteration, 1e-3));
    timeline_->set_data(data->lanes);
    want_what_is_in_sight();
    show_idle();
    show_selected();
    show_down();
}

void WatchPage::show_idle() {
    const RunData* data = shown_.get();
    if (data == nullptr || data->explained_iterations == 0) {
        idle_->show_nothing(tr("Causes appear after the first whole iteration"));
        return;
    }
    const auto& nodes = selection_.now().nodes;
    if (nodes.size() == 1 && data->problem)
        for (std::size_t node = 0; node < data->problem->node_ids.size(); ++node) {
            if (data->problem->node_ids[node] != *nodes.begin()) continue;
            auto shares = data->node_idle_s[node];
            const double idle = std::accumulate(shares.begin(), shares.end(), 0.0),
                         all = idle + data->node_busy_s[node];
            for (auto& share : shares) share = all > 0 ? share / all : 0;
            if (data->node_busy_s[node] == 0) {
                idle_->show_shares(tr("%1 executes nothing: the plan sends no microbatch through it")
                                       .arg(QString::fromStdString(*nodes.begin())),
                                   shares);
                return;
            }
            idle_->show_shares(tr("Why %1 idles %2 of the time")
                                   .arg(QString::fromStdString(*nodes.begin()), percent(all > 0 ? idle / all : 0)),
                               shares);
            return;
        }
    const double idle = std::accumulate(data->idle_share.begin(), data->idle_share.end(), 0.0);
    const QString title = data->unread.empty()
                              ? tr("Why all nodes idle %1 of the time").arg(percent(idle))
                              : tr("Why all nodes idle %1 of the time, in the %2 iterations that were read")
                                    .arg(percent(idle))
                                    .arg(data->explained_iterations);
    idle_->show_shares(title, data->idle_share);
}

void WatchPage::show_selected() {
    const auto* data = timeline_->data();
    QStringList lines;
    const auto place = timeline_->selected();
    if (data != nullptr && timeline_->area()) {
        lines = describe_area(*timeline_->area());
    } else if (data != nullptr && place.span != nullptr) {
        lines = describe_span(*place.span, place.lane, *data);
    } else if (data != nullptr && timeline_->selected_gap() && timeline_->selected_lane() >= 0) {
        lines = describe_gap(*timeline_->selected_gap(),
                             data->lanes()[static_cast<std::size_t>(timeline_->selected_lane())].name, *data);
    } else {
        lines << tr("Click a span or a gap, or drag over an area for its sums.")
              << tr("Keys: W S zoom, A D pan, [ ] along the microbatch");
    }
    selected_->setText(lines.join('\n'));
    if (data != nullptr && timeline_->selected_lane() >= 0) {
        spans_->show_lane(shown_ ? shown_->lanes : nullptr, timeline_->selected_lane());
        Selection s = selection_.now();
        s.nodes = {data->lanes()[static_cast<std::size_t>(timeline_->selected_lane())].name};
        s.microbatch =
            place.span != nullptr && place.span->microbatch >= 0 ? std::optional{place.span->microbatch} : std::nullopt;
        selection_.select(s);
    }
}

void WatchPage::show_log() { details_->setCurrentWidget(log_); }

void WatchPage::follow_selection() {
    Selection s;
    s.nodes = selection_.now().nodes;
    s.links = selection_.now().links;
    s.microbatch = selection_.now().microbatch;
    network_selection_.select(s);
    timeline_->set_marked(s.nodes, s.microbatch);
    show_idle();
}

}  // namespace skippipe
