// SPDX-License-Identifier: GPL-3.0-or-later
// The timelines of runs that are compared, beneath each other under one zoom.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QScopedValueRollback>
#include <QToolButton>

#include "views/compare/compare_page.h"
#include "views/compare/findings.h"
#include "views/compare/timeline_key.h"
#include "views/runs/parameters.h"
#include "views/runs/run_marks.h"
#include "views/runs/run_table.h"
#include "views/theme/below_delegate.h"
#include "views/theme/elided_label.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"
#include "views/timeline/lane_key.h"
#include "views/timeline/legend.h"
#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr int most_full_lanes = 24;  ///< of all timelines together; more are drawn low, so that all are seen
constexpr int most_title = 420;
constexpr int least_timeline = 220, least_low_timeline = 108;  ///< pixels

constexpr double one_and_a_bit = 1.02;  ///< of an iteration: its end is seen

QString selected_words(const QStringList& what) {
    return QObject::tr("%1 selected  ×").arg(what.join(QStringLiteral(", ")));
}

/// Whole figures, as many as have room.
class FigureWords : public ElidedLabel {
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        painter.setPen(palette().color(foregroundRole()));
        const QString words = lines_of_parts(text(), fontMetrics(), contentsRect().width(), 1).value(0);
        if (fontMetrics().horizontalAdvance(words) <= contentsRect().width())
            painter.drawText(contentsRect(), static_cast<int>(alignment()), words);
    }
};

/// Words in one line at the right.
ElidedLabel* figures_label() {
    auto* label = new FigureWords;
    label->setProperty("role", "secondary");
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    return label;
}

/// "Idle 70.7 %, 1.20 s an iteration, replica 16.3 %": the cause that takes most. What has no room is the last.
QString figures_of(const RunData& run) {
    if (did_nothing(run.info)) return QObject::tr("failed before its first iteration");
    QStringList words;
    const auto most = std::max_element(run.idle_share.begin(), run.idle_share.end());
    if (run.explained_iterations > 0)
        words << QObject::tr("idle %1").arg(
            percent(std::accumulate(run.idle_share.begin(), run.idle_share.end(), 0.0)));
    if (run.info.iteration_s) words << QObject::tr("%1 an iteration").arg(duration(*run.info.iteration_s));
    if (run.explained_iterations > 0 && *most > 0)
        words << short_cause_words(static_cast<IdleCause>(most - run.idle_share.begin())) + ' ' + percent(*most);
    return capitalised(words.join(QStringLiteral(", ")));
}

/// The run, what tells it from the others, and `figures`; `apart`: from the timeline above.
QWidget* timeline_title(const RunData& run, const QString& what, QLabel* figures, bool apart) {
    auto* title = new QWidget;
    auto* row = new QHBoxLayout(title);
    row->setContentsMargins(size::gap, apart ? size::gap : size::unit, size::gap, 1);
    row->setSpacing(size::gap);
    auto* chip = new QLabel;
    chip->setPixmap(run_chip(run.info.id));
    chip->setAccessibleName(QObject::tr("Run %1").arg(run.info.id));
    auto* name = new ElidedLabel(what);  // before the figures
    name->setProperty("role", "heading");
    name->ensurePolished();
    name->setMinimumWidth(std::min(name->sizeHint().width(), most_title));  // before figures, which all runs have
    row->addWidget(chip);
    row->addWidget(name, 1);
    row->addWidget(figures);
    return title;
}

}  // namespace

/// All timelines beneath each other, and above them what they draw and how much of it.
QWidget* ComparePage::timelines_tab() {
    auto* tab = new QWidget;
    auto* column = seamless_column(tab);
    auto* row = head_row();
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    auto* drawn = new QToolButton;
    drawn->setText(tr("Key"));
    drawn->setObjectName("timelines_drawn");
    drawn->setPopupMode(QToolButton::InstantPopup);
    legend_ = legend_menu(drawn);
    drawn->setMenu(legend_);
    drawn->setToolTip(tr("All that timelines draw, and what it means"));
    one_->setText(tr("One iteration"));
    one_->setObjectName("one_iteration");
    one_->setCheckable(true);
    one_->setToolTip(tr("The first iteration of the slowest run in sight, and as much time of the others"));
    connect(one_, &QPushButton::clicked, this, &ComparePage::show_one_iteration);
    connect(&zoom_, &TimeZoom::changed, this, &ComparePage::press_one_iteration);
    auto* fit = new QPushButton(tr("Fit"));
    fit->setObjectName("fit_timelines");
    fit->setToolTip(tr("All iterations of all runs in sight"));
    connect(fit, &QPushButton::clicked, &zoom_, &TimeZoom::show_all);
    timeline_key_->setObjectName("timeline_key");
    row->addWidget(timeline_key_, 1);
    selected_->setObjectName("clear_selected");
    selected_->setAccessibleName(tr("Select nothing"));
    selected_->setToolTip(tr("Selects nothing, here and in the other workspaces (Esc in a timeline)"));
    connect(selected_, &QPushButton::clicked, &selection_, &SelectionModel::clear);
    row->addWidget(drawn);
    row->addWidget(one_);
    row->addWidget(fit);
    column->addLayout(row);
    // What is selected has its place whether or not anything is: lanes stay under the mouse.
    auto* below = new QHBoxLayout;
    below->setContentsMargins(size::gap, 0, size::gap, size::unit);
    below->addWidget(idle_finding_, 1);
    below->addWidget(selected_, 0, Qt::AlignTop);
    auto keeps_place = selected_->sizePolicy();
    keeps_place.setRetainSizeWhenHidden(true);
    selected_->setSizePolicy(keeps_place);
    selected_->setProperty("role", "narrow");
    column->addLayout(below);
    idle_finding_->setObjectName("idle_finding");
    stack_scroll_->setWidgetResizable(true);
    stack_scroll_->setFrameShape(QFrame::NoFrame);
    stack_scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    stack_scroll_->setAccessibleName(tr("Timelines of the runs"));
    stack_scroll_->viewport()->installEventFilter(this);
    stack_rows_->setContentsMargins(0, 0, 0, 0);
    stack_rows_->setSpacing(0);
    stack_scroll_->setWidget(stack_);
    column->addWidget(stack_scroll_, 1);
    return tab;
}

bool ComparePage::eventFilter(QObject* watched, QEvent* event) {
    if (watched == stack_scroll_->viewport() && event->type() == QEvent::Resize) fit_timelines();
    return QWidget::eventFilter(watched, event);
}

/// Low timelines have lanes of one height: what is in sight, less the titles and the axis above the first, is shared.
void ComparePage::fit_timelines() {
    bool low = false;
    if (!timelines_.empty() && timelines_.front()->is_compact()) {
        const int count = static_cast<int>(timelines_.size()), axis = static_cast<int>(axis_height);
        int room = stack_scroll_->viewport()->height() - axis;
        for (const auto* label : figures_) room -= label->parentWidget()->sizeHint().height();
        const int lanes = std::max(least_low_timeline, room / count);
        for (auto* view : timelines_) {
            view->setFixedHeight(lanes + (view == timelines_.front() ? axis : 0));
            const auto in_view = view->data() != nullptr ? std::ssize(view->data()->lanes()) : 0;
            low = low || lanes < least_hatched_lane * static_cast<double>(in_view);
        }
    }
    show_timeline_key(low);
}

/// Low lanes stand stage by stage, as they are served in sight: so the pipeline's waves are seen, and runs that give a
/// node different stages can be compared.
void ComparePage::order_lanes() {
    for (auto* view : timelines_) {
        if (!view->is_compact() || view->data() == nullptr) continue;
        std::vector<int> stages(view->data()->lanes().size());
        for (std::size_t lane = 0; lane < stages.size(); ++lane)
            stages[lane] = view->data()->stage_at(static_cast<int>(lane), view->moment_in_sight());
        view->set_groups(bands_by_stage(stages));
    }
}

/// Swatches have hatches where the lanes have.
void ComparePage::show_timeline_key(bool low) {
    std::vector<const RunData*> runs;
    runs.reserve(data_.size());
    for (const auto& run : data_) runs.push_back(run.get());
    timeline_key_->set_entries(timeline_key(runs, low, devicePixelRatioF()));
    show_as_low_lanes(*legend_, low);
}

/// Of the slowest run: not all of them squeezed together.
void ComparePage::show_one_iteration() {
    double length = 0, extent = 0;
    for (const auto& run : data_) {
        length = std::max(length, run->info.iteration_s.value_or(0));
        extent = std::max(extent, run->lanes->extent_s());
    }
    if (length > 0 && length < extent) zoom_.show(0, length * one_and_a_bit);
    press_one_iteration();
}

/// The button is down as long as that is what is in sight.
void ComparePage::press_one_iteration() {
    double length = 0;
    for (const auto& run : data_) length = std::max(length, run->info.iteration_s.value_or(0));
    const double end = length * one_and_a_bit;
    one_->setChecked(length > 0 && zoom_.begin() == 0 && std::abs(zoom_.end() - end) <= 1e-6 * end);
}

/// As wide as the longest that may be selected.
void ComparePage::keep_place_of_selected() {
    int widest = 0;
    for (const auto& run : data_)
        for (const auto& lane : run->lanes->lanes())
            widest = std::max(widest, selected_->fontMetrics().horizontalAdvance(selected_words(
                                          {QString::fromStdString(lane.name), tr("microbatch %1").arg(888)})));
    constexpr int edges = 2 * size::gap + 6, most = 320;
    selected_->setFixedWidth(std::min(widest + edges, most));
}

void ComparePage::show_timelines(const std::vector<const RunData*>& runs) {
    const bool same =
        timelines_.size() == runs.size() &&
        std::equal(runs.begin(), runs.end(), timelines_.begin(), [](const RunData* run, const TimelineView* view) {
            return view->data() != nullptr && view->data()->key() == run->info.id;
        });
    const QScopedValueRollback settles(settles_, true);
    double extent = 0;
    for (const auto* run : runs) extent = std::max(extent, run->lanes->extent_s());
    zoom_.set_follows(false);
    zoom_.set_extent(extent);
    if (!same) {
        timelines_.clear();
        figures_.clear();
        while (auto* item = stack_rows_->takeAt(0)) {
            delete item->widget();
            delete item;
        }
        qsizetype lanes = 0;
        for (const auto* run : runs) lanes += std::ssize(run->lanes->lanes());
        const bool low = runs.size() > 1 && lanes > most_full_lanes;
        const QStringList apart = told_apart(runs);
        for (const auto* run : runs) {
            auto* view = new TimelineView(zoom_, low);
            if (low) view->set_frame(stacked_frame(timelines_.empty()));
            figures_.push_back(figures_label());
            stack_rows_->addWidget(
                timeline_title(*run, apart[std::ssize(timelines_)], figures_.back(), low && !timelines_.empty()));
            stack_rows_->addWidget(view, low ? 0 : 1);
            timelines_.push_back(view);
            connect(view, &TimelineView::lanes_scrolled, this, [this, view](double pixels) {
                for (auto* other : timelines_)
                    if (other != view) other->scroll_lanes(pixels);
            });
            connect(view, &TimelineView::selected_changed, this, [this, view] { share_selection(*view); });
            connect(view, &TimelineView::lane_activated, this, [this, view](int lane) {
                selection_.select({.nodes = {view->data()->lanes()[static_cast<std::size_t>(lane)].name}});
            });
        }
        first_look_ = true;
    }
    if (first_look_ && extent > 0) {
        if (time_)
            zoom_.show(time_->first, time_->second);
        else
            show_one_iteration();
        first_look_ = false;
    }
    for (std::size_t i = 0; i < runs.size(); ++i) {
        timelines_[i]->set_data(runs[i]->lanes);
        figures_[i]->setText(figures_of(*runs[i]));
        if (!timelines_[i]->is_compact())
            timelines_[i]->setMinimumHeight(runs.size() == 1 ? timelines_[i]->height_for_all_lanes() : least_timeline);
    }
    order_lanes();
    fit_timelines();
    idle_finding_->setText(idle_finding(runs));
    keep_place_of_selected();
    press_one_iteration();
    follow_selection();
    want_what_is_in_sight();
}

void ComparePage::set_time(std::optional<std::pair<double, double>> begin_end_s) {
    time_ = begin_end_s;
    if (!time_ || first_look_) return;
    const QScopedValueRollback settles(settles_, true);
    zoom_.show(time_->first, time_->second);
}

/// The node and the microbatch of what is selected in one timeline are marked in all, and in the other workspaces.
void ComparePage::share_selection(const TimelineView& view) {
    if (view.selected_lane() < 0 || view.data() == nullptr) return view.area() ? void() : selection_.clear();
    Selection s = selection_.now();
    s.nodes = {view.data()->lanes()[static_cast<std::size_t>(view.selected_lane())].name};
    const auto* span = view.selected().span;
    s.microbatch = span != nullptr && span->microbatch >= 0 ? std::optional{span->microbatch} : std::nullopt;
    s.stage.reset();
    selection_.select(s);
}

void ComparePage::follow_selection() {
    const auto& now = selection_.now();
    for (auto* view : timelines_) view->set_marked(now);
    QStringList words;
    if (now.nodes.size() == 1) words << QString::fromStdString(*now.nodes.begin());
    if (now.nodes.size() > 1) words << tr("%1 nodes").arg(now.nodes.size());
    if (now.microbatch) words << tr("microbatch %1").arg(*now.microbatch);
    if (now.stage) words << tr("stage %1").arg(*now.stage);
    selected_->setVisible(!words.isEmpty());
    selected_->setText(selected_->fontMetrics().elidedText(selected_words(words), Qt::ElideMiddle,
                                                           selected_->width() - 2 * size::gap));
}

/// Of long runs the newest iterations are read; others when somebody looks there.
void ComparePage::want_what_is_in_sight() {
    if (first_look_) return;
    for (const auto& run : data_)
        for (const auto& [begin, end] : run->unread)
            if (begin < zoom_.end() && end > zoom_.begin()) {
                feed_.want(run->info.id, zoom_.begin(), zoom_.end());
                break;
            }
}

}  // namespace skippipe
