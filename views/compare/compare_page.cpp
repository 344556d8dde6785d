// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/compare_page.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <QHBoxLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QTabBar>

#include "views/compare/differences.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int least_list_width = 232, narrow_list = 292, narrow_page = 1100, first_list = 376, first_page = 1210,
              most_list = 520;
constexpr int both_parts = 1800;  ///< pixels: differences, and beside them what else there is
constexpr double differences_share = 0.44;

}  // namespace

ComparePage::ComparePage(RunFeed& feed, SelectionModel& selection, const Document& document,
                         const PlannerRegistry& planners, Sweeper& sweeper, QWidget* parent)
    : QWidget(parent),
      feed_(feed),
      selection_(selection),
      list_(new RunList(feed)),
      panes_(new QSplitter(Qt::Horizontal)),
      tabs_(new QTabWidget),
      empty_(new EmptyNote),
      best_(new HeadlineCards),
      table_(new FigureTable),
      only_differing_(new QCheckBox(tr("Only what differs"))),
      report_(new QPushButton(tr("Report…"))),
      curves_(new CurvePanel),
      evaluator_(feed.file()),
      omissions_(new OmissionPanel(evaluator_)),
      race_(new RacePanel),
      plans_(new RunPlansPanel),
      sweep_(new SweepPanel(document, feed, sweeper, planners)),
      worth_(new WorthPanel(document, planners)),
      idle_finding_(words_label({}, "heading")),
      timeline_key_(new FlowKey(small_font(), this)),
      selected_(new QPushButton),
      one_(new QPushButton),
      stack_scroll_(new QScrollArea),
      stack_(new QWidget),
      stack_rows_(new QVBoxLayout(stack_)),
      usual_list_(first_list),
      usual_page_(first_page) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(panes_);
    panes_->addWidget(list_);
    auto* right = new QWidget;
    right->setProperty("role", "surface");
    right->setAttribute(Qt::WA_StyledBackground);
    auto* right_column = new QVBoxLayout(right);
    right_column->setContentsMargins(0, 0, 0, 0);
    right_column->addWidget(empty_);
    panes_->addWidget(right);
    panes_->setSizes({first_list, first_page - first_list});
    list_->setMinimumWidth(least_list_width);
    panes_->setChildrenCollapsible(false);
    panes_->setObjectName("compare_columns");

    empty_->button().setObjectName("make_sweep");
    connect(empty_, &EmptyNote::pressed, this, &ComparePage::show_sweep);

    curves_->set_metrics({"loss", "bytes_sent"});
    auto* differences_tab = new QWidget;
    auto* rows = seamless_column(differences_tab);
    only_differing_->setChecked(true);
    only_differing_->setContentsMargins(size::gap, 0, 0, 0);
    only_differing_->setStyleSheet("QCheckBox{margin-left:8px;}");
    best_->setObjectName("best_run");
    rows->addWidget(best_);
    rows->addWidget(only_differing_);
    only_differing_->setMinimumHeight(size::row);
    rows->addWidget(table_);

    tabs_->addTab(differences_tab, tr("Differences"));
    tabs_->addTab(curves_, tr("Curves"));
    tabs_->addTab(race_, tr("To a loss"));
    tabs_->addTab(omissions_, tr("Stages kept"));
    tabs_->addTab(timelines_tab(), tr("Timelines"));
    tabs_->addTab(plans_, tr("Plans"));
    tabs_->addTab(worth_, tr("Worth"));
    tabs_->setTabToolTip(tabs_->indexOf(worth_),
                         tr("Is the skip worth it? Time and money to a loss at each skip ratio"));
    tabs_->tabBar()->setStyleSheet("QTabBar::tab{padding:5px 8px 4px 8px;}");  // all in sight at 1024 pixels
    tabs_->addTab(sweep_, tr("Sweep"));
    tabs_->setDocumentMode(true);
    tabs_->setCornerWidget(report_corner());
    parts_ = new BesideTabs(*tabs_, *differences_tab, BesideTabs::Side::left, both_parts, differences_share);
    right_column->insertWidget(0, parts_);

    connect(list_, &RunList::selection_changed, this, &ComparePage::follow);
    connect(tabs_, &QTabWidget::currentChanged, this, &ComparePage::show_parts);
    connect(sweep_, &SweepPanel::runs_chosen, list_, &RunList::select);
    connect(best_, &HeadlineCards::race_requested, this, [this] { tabs_->setCurrentWidget(race_); });
    connect(best_, &HeadlineCards::resume_requested, list_, &RunList::resume_requested);
    connect(best_, &HeadlineCards::watch_requested, list_, &RunList::watch_requested);
    connect(table_, &FigureTable::baseline_requested, list_, &RunList::pin);
    connect(worth_, &WorthPanel::sweep_requested, this, [this] {
        sweep_->form().vary_skip_ratio();
        show_sweep();
    });
    connect(&selection, &SelectionModel::changed, this, &ComparePage::follow_selection);
    connect(&zoom_, &TimeZoom::changed, this, &ComparePage::want_what_is_in_sight);
    connect(&zoom_, &TimeZoom::changed, this, &ComparePage::order_lanes);
    connect(&zoom_, &TimeZoom::changed, this, [this] {
        if (!settles_ && isVisible()) Q_EMIT time_moved();
    });
    connect(only_differing_, &QCheckBox::toggled, this, &ComparePage::refresh);
    connect(&feed, &RunFeed::error_changed, this, &ComparePage::show_parts);
    connect(&feed, &RunFeed::run_grew, this, [this](qint64 id) {
        if (std::find(shown_.begin(), shown_.end(), id) == shown_.end()) return;
        isVisible() ? refresh() : static_cast<void>(is_stale_ = true);
    });
    follow();
}

/// Beside the tabs, whichever of them is in sight.
QWidget* ComparePage::report_corner() {
    auto* corner = new QWidget;
    corner->setProperty("role", "surface");  // Fusion draws a line beside tabs
    corner->setAttribute(Qt::WA_StyledBackground);
    auto* row = new QHBoxLayout(corner);
    row->setContentsMargins(0, 0, size::gap, size::unit);  // as low as the words of tabs
    report_->setObjectName("make_report");
    report_->setProperty("role", "beside_tabs");
    connect(report_, &QPushButton::clicked, this, &ComparePage::report_requested);
    row->addWidget(report_);
    return corner;
}

void ComparePage::follow() {
    const auto runs = list_->selected();
    if (runs == shown_ && !isVisible()) {  // something of the list: nobody sees it now
        is_stale_ = true;
        return;
    }
    if (runs != shown_) {
        for (const RunId id : runs) feed_.watch(id);
        for (const RunId id : shown_) feed_.unwatch(id);  // after that: those that stay are kept
        shown_ = runs;
    }
    refresh();
}

void ComparePage::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    fit_list();
    if (std::exchange(is_stale_, false)) refresh();
}

void ComparePage::refresh() {
    data_.clear();
    std::vector<const RunData*> runs;
    for (const RunId id : shown_)
        if (auto data = feed_.data(id)) {
            runs.push_back(data.get());
            data_.push_back(std::move(data));
        }
    show_parts();
    show_differences(runs);
    auto drawn = runs;
    std::erase_if(drawn, [this](const RunData* run) { return list_->marks().hides(run->info.id); });
    auto seen = data_;
    std::erase_if(seen, [this](const auto& run) { return list_->marks().hides(run->info.id); });
    curves_->show_runs(seen, runs.empty() ? 0 : runs.front()->info.id);
    curves_->set_empty_text(drawn.empty() && !runs.empty()
                                ? tr("All selected runs are hidden; a click on a run's colour in the list shows it")
                                : tr("The selected runs have no values of this kind"));
    race_->show_runs(data_);
    worth_->show_runs(runs);
    plans_->show_runs(runs);
    omissions_->show_runs(drawn, feed_.file() == default_record_path() ? std::filesystem::path{} : feed_.file());
    show_timelines(runs);
}

void ComparePage::show_sweep() {
    tabs_->setCurrentWidget(sweep_);
    show_parts();
}

/// A sweep needs no runs that are selected; all else does.
void ComparePage::show_parts() {
    const bool any = !data_.empty() || tabs_->currentWidget() == sweep_;
    parts_->setVisible(any);
    parts_->allow_beside(!data_.empty());
    empty_->setVisible(!any);
    report_->setEnabled(!data_.empty());
    report_->setToolTip(data_.empty() ? tr("Select runs in the list to report on them")
                                      : tr("Writes the runs that are selected as one page: HTML or PDF"));
    if (any) return;
    const bool reads = !shown_.empty() && feed_.error().isEmpty();
    empty_->show_words(
        !feed_.error().isEmpty() ? feed_.error()
        : shown_.empty()
            ? tr("Select two or more runs in the list to see their differences, curves and timelines side by side")
        : shown_.size() == 1 ? tr("Reading run %1…").arg(shown_.front())
                             : tr("Reading %1 runs…").arg(shown_.size()));
    empty_->show_button(reads ? QString{} : tr("Sweep the open experiment…"));
}

void ComparePage::show_differences(const std::vector<const RunData*>& runs) {
    best_->show_headlines(headlines(runs));
    const bool all = runs.size() < 2 || !only_differing_->isChecked();
    auto rows = differences(runs);
    std::erase_if(rows, [&](const DifferenceRow& row) { return !all && !row.differs; });
    only_differing_->setVisible(runs.size() > 1);
    table_->show_rows(rows, runs);
}

/// In a small window the list leaves its room to the runs that are compared, unless somebody drew its edge: then it is
/// not as wide as it was made, in the page's proportion.
void ComparePage::fit_list() {
    if (!isVisible()) return;  // nothing has its size yet
    constexpr int rounding = 3;
    const int list = panes_->sizes().front(), all = list + panes_->sizes().back();
    if (std::abs(list - usual_list_ * all / usual_page_) > rounding) return;
    usual_page_ = width();
    usual_list_ = width() < narrow_page ? narrow_list : std::min(width() * first_list / first_page, most_list);
    panes_->setSizes({usual_list_, usual_page_ - usual_list_});
}

void ComparePage::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_list();
}

void ComparePage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) refresh();
}

}  // namespace skippipe
