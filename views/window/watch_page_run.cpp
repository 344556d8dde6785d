// SPDX-License-Identifier: GPL-3.0-or-later
// The run that is shown: read as it grows, with its network, words and losses.
#include <algorithm>
#include <numeric>
#include <utility>

#include <QAbstractItemView>
#include <QSignalBlocker>

#include "views/runs/clock_words.h"
#include "views/runs/run_table.h"
#include "views/window/watch_page.h"

namespace skippipe {

namespace {

/// A run that calibrates may have gone over to other plans.
QString new_plan_words(const RunData& run) {
    return run.plan_changes.empty() ? QString{}
                                    : WatchPage::tr(", new plan since %1").arg(run.plan_changes.back().iteration + 1);
}

/// How far a run is; of one that is over how far it came: whichever iteration is in sight, it is no part of that.
QString iterations_words(const RunInfo& run) {
    if (run.state == RunState::running)
        return WatchPage::tr("Iteration %1 of %2").arg(run.iterations_done).arg(run.iterations);
    return run.iterations_done == run.iterations
               ? WatchPage::tr("%1 iterations").arg(run.iterations)
               : WatchPage::tr("%1 of %2 iterations").arg(run.iterations_done).arg(run.iterations);
}

constexpr int roomy_timeline = 1300;  ///< pixels; in a narrower one spans of two iterations have no room for numbers
constexpr int most_whole_iterations = 8;  ///< of a run that is over, that are seen at first

QString new_plan_reasons(const RunData& run) {
    QStringList lines;
    for (const auto& change : run.plan_changes)
        lines +=
            WatchPage::tr("From iteration %1: %2").arg(change.iteration + 1).arg(QString::fromStdString(change.why));
    return lines.join('\n');
}

}  // namespace

void WatchPage::show_run(RunId run) {
    if (run == run_) return;
    if (run_ > 0) feed_.unwatch(run_);
    run_ = run;
    first_look_ = true;
    next_loss_ = 0;
    zoom_.set_follows(true);
    replay_->play(false);
    replay_->keep_event_room(false);
    replay_->go_to_end();
    by_node_->go_to_top();
    by_stage_->go_to_top();
    if (run > 0) feed_.watch(run);
    timeline_->set_empty_text(tr("Spans appear with the first iteration"));
    log_->show_run(run);
    refresh();
    Q_EMIT run_changed();
}

void WatchPage::list_runs() {
    if (runs_->view()->isVisible()) return;  // someone is choosing
    const QSignalBlocker quiet(runs_);
    const auto same = [](const RunInfo& now, const ListedRun& then) {
        return now.id == then.id && now.state == then.state && now.paused == then.paused && now.name == then.name;
    };
    const auto& runs = feed_.runs();
    if (std::equal(runs.begin(), runs.end(), listed_.begin(), listed_.end(), same))
        return runs_->setCurrentIndex(runs_->findData(static_cast<qlonglong>(run_)));
    listed_.clear();
    for (const auto& run : runs) listed_.push_back({run.id, run.state, run.paused, run.name});
    runs_->clear();
    for (const auto& run : runs) runs_->addItem(run_title(run), static_cast<qlonglong>(run.id));
    runs_->setCurrentIndex(runs_->findData(static_cast<qlonglong>(run_)));
}

void WatchPage::refresh() {
    list_runs();
    shown_ = feed_.data(run_);
    const RunData* data = shown_.get();
    content_->setVisible(run_ > 0);
    empty_->setVisible(run_ <= 0);
    log_->read();
    show_failures();
    reduction_key_->setVisible(data != nullptr && data->lanes->reductions() != nullptr);
    if (data == nullptr) {
        timeline_->set_data(nullptr);
        run_words_->setText(run_ > 0 ? tr("Reading run %1…").arg(run_) : QString{});
        return;
    }
    if (network_of_ != run_) show_network(*data);
    QString words = iterations_words(data->info) + new_plan_words(*data);
    if (data->kept_iterations < data->info.iterations_done)
        words += tr(", spans of %1 of them kept").arg(data->kept_iterations);
    if (feed_.is_loading())
        words += tr(", reading");
    else if (!data->unread.empty())
        words += tr(", earlier iterations are read when you look there");
    run_words_->setText(words);
    const QString reasons = new_plan_reasons(*data);
    run_words_->setToolTip(reasons.isEmpty() ? words : words + '\n' + reasons);
    const bool simulated = is_simulation(*data);
    curves_->set_empty_text(did_nothing(data->info) ? did_nothing_words(data->info)
                            : simulated             ? tr("A simulation computes nothing, so it has no loss")
                                                    : tr("Loss appears with the first iteration"),
                            simulated ? std::vector<std::string>{"iteration_s"} : std::vector<std::string>{});
    curves_->show_runs({shown_});
    const double iteration = data->info.iteration_s.value_or(data->info.predicted_iteration_s);
    if (first_look_ && data->lanes->extent_s() > 0 && iteration > 0) {
        // Begin with an iteration or two rather than with many of them squeezed together: in a narrow window with one,
        // so that spans say their microbatches. Of a run that is over there is nothing to follow.
        const double seen_s = (timeline_->width() < roomy_timeline ? 1 : 2) * iteration;
        const bool goes_on = data->info.state == RunState::running;
        zoom_.set_follows(goes_on);
        zoom_.set_extent(data->lanes->extent_s());
        const bool is_long = goes_on || data->info.iterations_done > most_whole_iterations;
        if (is_long && zoom_.extent() > seen_s)
            zoom_.show(zoom_.extent() - seen_s, zoom_.extent());
        else
            zoom_.show_all();
        zoom_.follow_within(goes_on ? seen_s : 0);
        first_look_ = feed_.is_loading();
        opens_at_work_ = !goes_on && !first_look_;
    }
    zoom_.set_extent(data->lanes->extent_s() > 0 ? data->lanes->extent_s() : std::max(iteration, 1e-3));
    timeline_->set_data(data->lanes);
    fit_panes();
    show_bookmarks();
    show_lines();
    show_groups();
    want_what_is_in_sight();
    show_idle();
    show_splits();
    show_drawn_causes();
    show_devices();
    show_differences();
    show_selected();
    // Where something is to be lost its line has its room before, and keeps it while the run is in sight.
    if (!data->lanes->losses().empty() || !data->experiment.failures.empty()) replay_->keep_event_room(true);
    show_moment();
    if (std::exchange(opens_at_work_, false)) show_busiest_moment();
    follow_newest();
}

namespace {

constexpr double least_played_s = 1, usual_played_s = 4, most_played_s = 300;  ///< an iteration on the map

/// Of the machine, from the last iteration but one to the last: as long as the next one may take.
double seconds_between_iterations(const std::vector<Metric>& metrics) {
    std::optional<double> last_s;
    for (auto one = metrics.rbegin(); one != metrics.rend(); ++one) {
        if (one->name != "iteration_s") continue;
        if (last_s) return *last_s - one->machine_s;
        last_s = one->machine_s;
    }
    return last_s.value_or(usual_played_s);
}

}  // namespace

/// The map moves while a run goes on: its newest iteration is played over the seconds in which the next one is awaited.
void WatchPage::follow_newest() {
    if (!shown_ || shown_->info.id != run_ || first_look_ || shown_->lanes->iterations().empty()) return;
    const IterationTime& newest = shown_->lanes->iterations().back();
    const bool goes_on = shown_->info.state == RunState::running && !shown_->info.paused;
    if (const Newest now{run_, newest.end_s}; now != newest_) {
        const bool seen_before = newest_.run == run_ && since_newest_.isValid();
        awaited_s_ = seen_before ? static_cast<double>(since_newest_.elapsed()) / 1000
                                 : seconds_between_iterations(shown_->metrics);
        since_newest_.start();
        newest_ = now;
    }
    if (!goes_on) return since_newest_.invalidate();
    if (played_ == newest_ || !isVisible() || !zoom_.follows() || has_selected_time()) return;
    if (!replay_->is_following() && !replay_->is_at_end()) return;  // somebody looks at another moment
    // Of iterations that come many a second, each that is begun is seen to its end.
    if (replay_->is_following() && awaited_s_ < least_played_s) return;
    played_ = newest_;
    if (!is_still_)
        replay_->follow(newest.begin_s(), newest.end_s, std::clamp(awaited_s_, least_played_s, most_played_s));
    show_moment();
}

void WatchPage::set_still(bool still) {
    is_still_ = still;
    if (still && replay_->is_following()) {
        replay_->stop_following();
        replay_->go_to_end();
    }
    show_moment();
}

/// At its end nothing moves any more: a run that is over opens where most nodes of its last iteration work.
void WatchPage::show_busiest_moment() {
    constexpr std::size_t stretches = 64;
    const auto& iterations = shown_->lanes->iterations();
    if (iterations.empty() || has_selected_time()) return;
    const auto& last = iterations.back();
    std::vector<int> lanes(shown_->lanes->lanes().size());
    std::iota(lanes.begin(), lanes.end(), 0);
    const auto busy = shown_->lanes->busy_profile(lanes, last.begin_s(), last.end_s, stretches);
    const auto most = std::max_element(busy.begin(), busy.end()) - busy.begin();
    replay_->set_moment(last.begin_s() + (static_cast<double>(most) + 0.5) * last.length_s / stretches);
    show_moment();
}

void WatchPage::show_network(const RunData& run) {
    network_of_ = run.info.id;
    plan_since_ = {run.info.id, 0};
    network_document_.start_new(run.experiment);
    network_->scene_model().show_plan(run.problem ? &run.plan : nullptr,
                                      run.problem ? run.problem->node_ids : PerNode<std::string>{});
    network_->scene_model().show_reductions(run.problem ? reductions_of(*run.problem, run.plan)
                                                        : std::vector<StageReduction>{});
    network_->fit();
}

namespace {

/// The nodes that were down at some time; where the lanes know of fewer losses than there were, of none.
QStringList nodes_down(const TimelineData& data, int losses) {
    QStringList names;
    int outages = 0;
    for (std::size_t lane = 0; lane < data.lanes().size(); ++lane) {
        bool was = false;
        data.visit_outages(static_cast<int>(lane), 0, data.extent_s(), [&](const Outage&) {
            was = true;
            ++outages;
        });
        if (was) names << QString::fromStdString(data.lanes()[lane].name);
    }
    return outages < losses ? QStringList{} : names;
}

/// What losses cost is no part of an iteration's plan: "Iteration 3 took 32.3 s longer than usual: n6 was lost".
QString disturbance_words(const LossAccount& account, const QString& name, const TimelineData& data) {
    if (account.iterations == 0 || !account.cost_time()) return {};
    const QString cost = duration(account.lost_s);
    const QString who = name.isEmpty() ? QObject::tr("nodes were lost") : QObject::tr("%1 was lost").arg(name);
    if (account.iterations > 1)
        return QObject::tr("%1 iterations in which %2 took %3 longer than usual, together")
            .arg(QString::number(account.iterations), who, cost);
    const QString words =
        QObject::tr("Iteration %1 took %2 longer than usual: ").arg(data.losses().front().iteration + 1).arg(cost);
    return words + who;
}

}  // namespace

void WatchPage::show_failures() {
    const auto account = shown_ && !shown_->lanes->losses().empty()
                             ? account_losses(shown_->metrics, shown_->info.predicted_iteration_s)
                             : LossAccount{};
    failures_->show_events(run_, shown_ ? shown_->events : std::vector<RunEvent>{});
    const auto nodes = account.nodes > 0 ? nodes_down(*shown_->lanes, account.nodes) : QStringList{};
    failures_->show_account(account, nodes, shown_ ? clock_of({shown_.get()}) : RunClock::network);
    const QString name = nodes.size() == 1 ? nodes.front() : QString();
    differences_->set_disturbances(shown_ ? disturbance_words(account, name, *shown_->lanes) : QString());
    loss_key_->show_losses(account, nodes);
    details_->setTabVisible(details_->indexOf(failures_), account.nodes > 0 || (shown_ && !shown_->events.empty()));
}

/// Of a long run the newest iterations are read; others when somebody looks there.
void WatchPage::want_what_is_in_sight() {
    if (!shown_ || first_look_) return;
    for (const auto& [begin, end] : shown_->unread)
        if (begin < zoom_.end() && end > zoom_.begin()) return feed_.want(run_, zoom_.begin(), zoom_.end());
}

/// Those that the plan uses, and where it has no timeline of its own, the run.
void WatchPage::show_lines() {
    if (!shows_lines_ || !shown_ || !shown_->problem) return timeline_->set_lines(nullptr);
    const auto* planned = planned_at(shown_->planned, 0);
    const auto& data = planned != nullptr ? *planned : *shown_->lanes;
    if (const std::pair now{run_, data.span_count()}; lines_of_ != now) {
        lines_of_ = now;
        lines_ = std::make_shared<const LineRows>(line_rows(data, *shown_->problem));
    }
    timeline_->set_lines(lines_);
}

void WatchPage::show_bookmarks() {
    const QSignalBlocker quiet(timeline_);
    timeline_->set_bookmarks(bookmarks_.of({shown_->info.id, shown_->info.started_utc}));
}

void WatchPage::keep_bookmarks() {
    if (!shown_ || shown_->info.id != run_) return;
    bookmarks_.set({run_, shown_->info.started_utc}, timeline_->bookmarks());
    Q_EMIT bookmarks_changed();
}

void WatchPage::set_bookmarks(RunBookmarks bookmarks) {
    bookmarks_ = std::move(bookmarks);
    if (shown_) show_bookmarks();
}

void WatchPage::show_start(const std::optional<Start>& start, const QString& why_not_launch) {
    start_ = start;
    empty_->show_words(start ? tr("%1\nThe run's timeline appears here with its first iteration").arg(start->words)
                             : tr("A run's timeline, curves and idle times appear here while it trains\nNone was "
                                  "launched yet"));
    start ? empty_->show_bar(start->share) : empty_->hide_bar();
    empty_->show_button(start ? tr("Stop") : tr("Launch the experiment"));
    empty_->button().setEnabled(start || why_not_launch.isEmpty());
    empty_->button().setToolTip(start ? tr("No run begins then") : why_not_launch);
}

/// The iteration of what is selected, else the last whole one; before the first one has ended as long as one is planned
/// to be.
void WatchPage::show_one_iteration() {
    if (!shown_) return;
    const bool chosen = has_selected_time();
    double begin_s = 0, length_s = shown_->info.predicted_iteration_s;
    if (const auto* one = chosen_iteration()) {
        begin_s = one->begin_s();
        length_s = one->length_s;
        if (chosen && shown_time() >= one->end_s) begin_s = one->end_s;  // the one under way, which has not ended
    }
    if (length_s <= 0) return;
    zoom_.set_follows(false);
    zoom_.show(begin_s - 0.005 * length_s, begin_s + 1.005 * length_s);
}

}  // namespace skippipe
