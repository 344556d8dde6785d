// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/plan_area.h"

#include <algorithm>
#include <cmath>

#include <QEvent>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include "core/analysis/price.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/timeline/painter.h"
#include "views/window/problem_list.h"

namespace skippipe {
namespace {

QString figure(const QString& name, const QString& value) {
    const QString words = QStringLiteral("<span style='color:%1'>%2</span>").arg(theme().text_2.name(), name);
    return value.isEmpty() ? words : words + "&nbsp;" + value;
}

constexpr double no_gap = 1e-9;      ///< what rounding leaves over
constexpr double least_lane_px = 8;  ///< where there is little room: names stand by turns in two columns then

bool is_bounded(const Score& score) { return score.lower_bound_seconds > 0 && std::isfinite(score.gap); }

}  // namespace

QString plan_verdict(const Score& score, std::optional<double> placed_gap, bool splits_backward) {
    if (!is_bounded(score)) return {};
    if (score.gap <= no_gap)
        return splits_backward ? QObject::tr("no plan is shorter") : QObject::tr("no unsplit plan is shorter");
    if (!placed_gap) return {};
    const QString best = splits_backward ? QObject::tr("the best") : QObject::tr("the best unsplit plan");
    if (*placed_gap <= no_gap) return QObject::tr("%1 with these stages").arg(best);
    return (at_most_percent(*placed_gap) == at_most_percent(score.gap)
                ? QObject::tr("at most %1 above %2 with any placement")
                : QObject::tr("at most %1 above %2 with these stages"))
        .arg(at_most_percent(*placed_gap), best);
}

QString any_placement_words(const Score& score, std::optional<double> placed_gap, bool splits_backward) {
    if (!is_bounded(score) || score.gap <= no_gap) return {};
    const QString bound = duration(score.lower_bound_seconds);
    if (placed_gap && at_most_percent(*placed_gap) == at_most_percent(score.gap))
        return QObject::tr("Bound with any placement: %1").arg(bound);
    return (splits_backward ? QObject::tr("With any placement at most %1 above the best (bound %2)")
                            : QObject::tr("With any placement at most %1 above the best unsplit plan (bound %2)"))
        .arg(at_most_percent(score.gap), bound);
}

PlanArea::PlanArea(Document& document, SelectionModel& selection, FailureEditor& failures, PlanService& plans,
                   QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      failures_(failures),
      plans_(plans),
      figures_(new FigureLine),
      state_(new QLabel),
      remedies_(new RemedyBar(document, true)),
      timeline_(new TimelineView(zoom_, true)),
      axis_(new FailureAxis(document, selection, failures)),
      note_(new EmptyNote) {
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    auto* column = seamless_column(this);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(size::wide_gap, size::unit, size::wide_gap, 0);  // the ruler has an edge of its own
    figures_->setObjectName("plan_figures");
    state_->setProperty("role", "secondary");
    row->addWidget(figures_, 1);
    row->addWidget(state_);
    column->addLayout(row);
    column->addWidget(remedies_);
    column->addWidget(timeline_, 1);
    column->addWidget(axis_);
    column->addWidget(note_, 1);
    // Prices change no plan.
    connect(&document, &Document::changed, this, [this] {
        if (const auto outcome = plans_.outcome(); outcome && outcome->has_plan) show_figures(*outcome);
    });
    connect(&plans, &PlanService::explained, this, [this] {
        if (const auto outcome = plans_.outcome(); outcome && outcome->has_plan) show_figures(*outcome);
    });
    connect(&document, &Document::replaced, this, [this] { last_ = nullptr; });
    connect(&selection, &SelectionModel::changed, this, [this] { timeline_->set_marked(selection_.now()); });
    connect(figures_, &QLabel::linkActivated, this, &PlanArea::problem_wanted);
    connect(timeline_, &TimelineView::selected_changed, this, &PlanArea::follow_timeline);
}

void PlanArea::follow_timeline() {
    Selection s = selection_.now();
    const auto place = timeline_->selected();
    s.microbatch =
        place.span != nullptr && place.span->microbatch >= 0 ? std::optional{place.span->microbatch} : std::nullopt;
    selection_.select(s);
}

int PlanArea::height_for_names() const {
    if (timeline_->data() == nullptr) return timeline_->height_for_least_lanes();
    const auto lanes = static_cast<double>(timeline_->data()->lanes().size());
    return timeline_->height_for_least_lanes() +
           static_cast<int>(std::ceil(lanes * (least_named_lane - least_lane_px)));
}

/// The axis has what it would like where lanes can be named all the same; else less, and no less than the lanes want
/// where not even that would name them.
void PlanArea::share_height() {
    timeline_->set_frame({.names_px = axis_->names_width(), .least_lane_px = least_lane_px});
    const int both = timeline_->height() + axis_->height();
    const int most = axis_->sizeHint().height(), least = std::min(most, axis_->minimumSizeHint().height());
    const int beside_names = both - height_for_names();
    axis_->setFixedHeight(std::clamp(std::max(beside_names, beside_names < least ? both / 3 : 0), least, most));
}

bool PlanArea::event(QEvent* event) {
    const bool done = QWidget::event(event);
    if (event->type() == QEvent::LayoutRequest) share_height();
    return done;
}

void PlanArea::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    share_height();
}

void PlanArea::show_plan() {
    const auto outcome = plans_.outcome();
    const bool busy = plans_.is_busy();
    const double iteration_s = outcome && outcome->has_plan ? outcome->score.iteration_seconds : 0;
    if (iteration_s != failures_.iteration_s()) {
        failures_.set_iteration_s(std::isfinite(iteration_s) ? iteration_s : 0);
        axis_->follow_plan();
    }
    state_->setText(!busy                   ? QString{}
                    : plans_.progress() > 0 ? tr("Searching, %1").arg(whole_percent(plans_.progress()))
                                            : tr("Searching…"));
    if (!outcome || !outcome->has_plan) return show_no_plan(outcome.get());
    last_ = outcome;
    note_->hide();
    for (auto* part : {static_cast<QWidget*>(figures_), static_cast<QWidget*>(timeline_), static_cast<QWidget*>(axis_)})
        part->show();
    show_figures(*outcome);
    timeline_->setEnabled(!plans_.is_outdated());
    if (timeline_->data() != outcome->lanes.get()) {
        zoom_.set_extent(outcome->lanes->extent_s());
        zoom_.show_all();
        timeline_->set_data(outcome->lanes);
    }
    share_height();
}

/// The plan before, pale; else what is missing, which an empty canvas says itself.
void PlanArea::show_no_plan(const PlanOutcome* outcome) {
    const bool busy = plans_.is_busy(), fails = outcome != nullptr && !outcome->faults.empty() && !busy;
    const QString why = fails ? tr("No plan. %1").arg(fault_words(outcome->faults.front(), document_)) : QString{};
    figures_->show_words(why, fails && last_ ? tr("Show the problem") : QString{},
                         fails && last_ ? tr("Below, pale, the plan before") : QString{});
    figures_->setVisible(last_ || (fails && !document_.experiment().topology.nodes.empty()));
    timeline_->setEnabled(last_ == nullptr);
    note_->show_words(busy ? tr("Planning…") : tr("A lane for each node appears here once there is a plan"));
    note_->setVisible(last_ == nullptr);
    for (auto* part : {static_cast<QWidget*>(timeline_), static_cast<QWidget*>(axis_)})
        part->setVisible(last_ != nullptr);
    if (!last_) timeline_->set_data(nullptr);
}

void PlanArea::show_remedies(const Fault* fault) {
    const auto outcome = plans_.outcome();
    const bool fails = outcome && !outcome->has_plan && !plans_.is_busy();
    remedies_->show_for(fails ? fault : nullptr);
}

std::optional<double> PlanArea::placed_gap(const PlanOutcome& outcome) const {
    const auto why = outcome.refined ? plans_.explanation() : nullptr;
    return why && why->placed.seconds > 0 ? std::optional(why->placed_gap()) : std::nullopt;
}

void PlanArea::show_shortest(const QString& planner, double iteration_s) {
    if (planner == shortest_planner_ && iteration_s == shortest_s_) return;
    shortest_planner_ = planner;
    shortest_s_ = iteration_s;
    if (const auto outcome = plans_.outcome(); outcome && outcome->has_plan) show_figures(*outcome);
}

/// "zero-bubble is 15 % shorter": another planner's plan, where that is known and tells.
QString PlanArea::shorter_words(const PlanOutcome& outcome) const {
    constexpr double hardly = 0.005;
    const double share = 1 - shortest_s_ / outcome.score.iteration_seconds;
    if (shortest_planner_.isEmpty() || shortest_planner_.toStdString() == outcome.plan.planner || !(share >= hardly))
        return {};
    return tr("%1 is %2 shorter").arg(shortest_planner_, whole_percent(share));
}

void PlanArea::show_figures(const PlanOutcome& outcome) {
    const Score& s = outcome.score;
    const bool old = plans_.is_outdated();
    std::vector<FigureLine::Figure> figures;
    // Figures of the plan before the edit stay readable, but pale, until the next one is there.
    const auto paled = [old](const QString& html) {
        return old && !html.isEmpty()
                   ? QStringLiteral("<span style='color:%1'>%2</span>").arg(theme().text_2.name(), html)
                   : html;
    };
    const auto show = [&](const QString& html, int rank, const QString& brief = {}) {
        figures.push_back({paled(html), rank, paled(brief)});
    };
    if (!s.violations.empty())
        show(QStringLiteral("<span style='color:%1'>%2</span>")
                 .arg(theme().bad.name(), QString::fromStdString(s.violations.front()).toHtmlEscaped()),
             0);
    // A first guess is no match for a plan that was searched for to its end.
    if (plans_.previous_iteration_s() > 0 && !old && outcome.refined)
        show(figure(tr("Since last edit"), told_change(s.iteration_seconds / plans_.previous_iteration_s() - 1)), 1);
    show(figure(tr("Idle"), percent(s.idle_fraction).toHtmlEscaped()), 3);
    show(figure(tr("Sent"), quantity(s.bytes, "B")), 5);
    const Experiment& e = document_.experiment();
    const bool has_prices = skippipe::has_prices(e);
    const auto price = price_of(e, outcome.problem, outcome.plan, outcome.timeline);
    if (has_prices) show(figure(tr("Price of an iteration"), three_digits(price.total())), 3);
    if (const auto budget = budget_of(e, s.iteration_seconds, price); budget.iterations > 0)
        show(figure(tr("All tokens"), duration(budget.seconds) +
                                          (has_prices ? tr(", price %1").arg(three_digits(budget.price)) : QString{})),
             4);
    if (const QString shorter = shorter_words(outcome); !old && !shorter.isEmpty()) show(figure(shorter, {}), 1);
    const auto gap = placed_gap(outcome);
    const bool splits = outcome.plan.split_backward;
    const QString verdict = old ? QString{} : plan_verdict(s, gap, splits);
    const QString brief = QString(verdict)
                              .replace(tr("at most"), QStringLiteral("≤"))
                              .replace(tr("the best with these stages"), tr("these stages' best"))
                              .replace(tr("the best unsplit plan with these stages"), tr("these stages' best unsplit"))
                              .replace(tr("the best unsplit plan with any placement"), tr("the best unsplit plan"));
    const QString iteration = paled(QStringLiteral("<span style='font-size:%1px'><b>%2</b></span> %3")
                                        .arg(size::title_text)
                                        .arg(duration(s.iteration_seconds), tr("an iteration")));
    const auto first = [&](const QString& how) { return how.isEmpty() ? iteration : tr("%1, %2").arg(iteration, how); };
    figures_->show_figures({first(verdict), 0, first(brief)}, std::move(figures),
                           old ? tr("Of the experiment before the last edit") : plan_note(outcome, gap));
}

/// What the figures leave to their tip: one bound beside them is enough, and the other one is asked for.
QString PlanArea::plan_note(const PlanOutcome& outcome, std::optional<double> gap) const {
    const Score& s = outcome.score;
    const bool splits = outcome.plan.split_backward;
    const QString any = any_placement_words(s, gap, splits);
    QStringList lines{tr("Planned by %1").arg(QString::fromStdString(outcome.plan.planner))};
    const bool is_another = gap && at_most_percent(*gap) != at_most_percent(s.gap);
    if (is_another && !any.isEmpty()) lines << any;
    if (is_bounded(s))
        lines << tr("Bound with any placement: %1, by %2")
                     .arg(duration(s.lower_bound_seconds), QString::fromStdString(s.bound));
    if (gap) lines << tr("These stages: every node stays in the stage that it has in this plan");
    if (is_another) lines << tr("With them another bound holds, which Why says");
    if (!splits) lines << tr("Unsplit plans do every backward in one piece: a planner that splits it may be shorter");
    if (!s.note.empty()) lines << QString::fromStdString(s.note);
    return lines.join('\n');
}

}  // namespace skippipe
