// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected or in sight of the run that is shown, in words, causes and on the network.
#include <algorithm>
#include <set>

#include <QEvent>

#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/timeline/span_view.h"
#include "views/topology/link_words.h"
#include "views/window/link_details.h"
#include "views/window/network_moment.h"
#include "views/window/watch_page.h"

namespace skippipe {
namespace {

constexpr qsizetype most_nodes_named = 8;

}  // namespace

/// Network seconds: where the selection begins, else where the slider below the network stands.
double WatchPage::shown_time() const {
    if (const auto* span = timeline_->selected().span) return span->start_s;
    if (timeline_->selected_gap()) return timeline_->selected_gap()->start_s;
    if (timeline_->selected_lost()) return timeline_->selected_lost()->begin_s;
    const double at_s = replay_->moment_s();
    return at_s - 1e-9 * std::max(1.0, at_s);  // what ends there is still shown
}

bool WatchPage::has_selected_time() const {
    return timeline_->selected().span != nullptr || timeline_->selected_gap() || timeline_->selected_lost();
}

/// The iteration of what is selected, else of the moment that the map shows; null: none has ended.
const IterationTime* WatchPage::chosen_iteration() const {
    if (!shown_) return nullptr;
    const auto& iterations = shown_->lanes->iterations();
    if (iterations.empty()) return nullptr;
    return iteration_at(iterations, shown_time());
}

void WatchPage::show_differences() {
    const auto* one = chosen_iteration();
    timeline_->set_planned(shown_ && shows_plan_ ? shown_->planned : PlannedIterations{});
    const auto* planned = one != nullptr ? planned_at(shown_->planned, one->iteration) : nullptr;
    if (planned == nullptr)
        return differences_->show_nothing(tr("Where an iteration parts from its plan, and why: after the first one"));
    differences_->show_iteration(*planned, *shown_->lanes, *one);
}

/// Whoever moves the slider wants that moment, not the one of what was selected: with a part of a reduction goes the
/// stage that the map drew for it.
void WatchPage::follow_replay() {
    if (has_selected_time()) {
        timeline_->select_row(-1);
        Selection left = selection_.now();
        left.stage.reset();
        selection_.select(left);
        show_selected();
    }
    show_moment();
}

/// What was chosen stays chosen: nothing moves on by itself, and the panel that tells of it is in front.
void WatchPage::hold_selected() {
    if (!has_selected_time() && !timeline_->area()) return;
    replay_->play(false);
    if (const auto* tab = details_->currentWidget(); tab == log_ || tab == failures_) show_selection();
}

/// The network as it was at the moment shown: who was lost, who worked, what was under way; loads are those of the
/// iteration then.
void WatchPage::show_moment() {
    if (!shown_) return;
    const TimelineData& lanes = *shown_->lanes;
    replay_->setVisible(lanes.span_count() > 0);
    replay_->set_range(std::max(zoom_.begin(), 0.0), std::min(zoom_.end(), lanes.extent_s()));
    if (has_selected_time()) replay_->set_moment(shown_time());
    // Neither the slider nor the axis stand at a moment that is not the one that is shown.
    const bool out_of_sight = has_selected_time() && (shown_time() < zoom_.begin() || shown_time() > zoom_.end());
    replay_->set_out_of_sight(out_of_sight);
    timeline_->set_moment(lanes.span_count() == 0 ? std::nullopt
                          : out_of_sight          ? std::optional(shown_time())
                                                  : std::optional(replay_->moment_s()));
    show_down();
    const double at_s = shown_time();
    const auto* one = iteration_at(lanes.iterations(), at_s);
    const double usual_s = shown_->info.iteration_s.value_or(shown_->info.predicted_iteration_s);
    const bool inside = one != nullptr && one->begin_s() <= at_s && at_s <= one->end_s;
    const double begin_s = inside ? one->begin_s() : std::max(0.0, at_s - usual_s);
    const double end_s = inside ? one->end_s : at_s;
    if (loads_of_ != LoadsKey{shown_->lanes, begin_s, end_s}) {
        loads_ = traffic_loads(lanes, begin_s, end_s);
        loads_of_ = {shown_->lanes, begin_s, end_s};
    }
    const bool rests = rests_at_newest() && inside;
    if (network_of_ == run_)
        network_->scene_model().show_traffic(rests ? mean_until(lanes, at_s, loads_) : at_moment(lanes, at_s, loads_));
    show_plan_at(one != nullptr ? (inside ? one->iteration : one->iteration + 1) : 0);
    show_events(at_s);
    follow_stages();
    // As finely as the timeline shows it.
    const double seen_s = zoom_.end() - zoom_.begin();
    const QString moment = rests ? tr("Iteration %1").arg(one->iteration + 1)
                                 : tick(at_s, std::min(1.0, nice_step(std::max(seen_s, 1e-6) / 200)));
    const auto told = [&](TrafficWords how) {
        return (out_of_sight ? tr("%1, out of sight: %2") : tr("%1: %2"))
            .arg(moment, traffic_words(network_->scene_model().traffic(), how));
    };
    replay_->set_words(told(TrafficWords::whole), told(TrafficWords::brief));
    if (const auto* told = chosen_iteration(); told != nullptr && told->iteration != told_iteration_) {
        if (!replay_->is_playing())
            tell_iteration();
        else if (!tell_later_.isActive())
            tell_later_.start();
    }
}

/// At the very end of the newest iteration nothing works any more: while nothing moves its loads say more.
bool WatchPage::rests_at_newest() const { return zoom_.follows() && replay_->is_at_end() && !has_selected_time(); }

/// Tables and words of the iteration that the map shows.
void WatchPage::tell_iteration() {
    const auto* one = chosen_iteration();
    told_iteration_ = one != nullptr ? one->iteration : -1;
    show_differences();
    show_selected();
}

/// The first iteration of the plan that was in force then.
int WatchPage::plan_since(int iteration) const {
    const auto after = shown_->later_plans.upper_bound(iteration);
    return after == shown_->later_plans.begin() ? 0 : std::prev(after)->first;
}

const Plan& WatchPage::plan_in_force(int iteration) const {
    const int since = plan_since(iteration);
    return since == 0 ? shown_->plan : shown_->later_plans.at(since);
}

/// Nodes serve the stages that they had then.
void WatchPage::show_plan_at(int iteration) {
    if (network_of_ != run_ || !shown_->problem) return;
    const int since = plan_since(iteration);
    if (plan_since_ == std::pair{run_, since}) return;
    plan_since_ = {run_, since};
    const Plan& plan = plan_in_force(iteration);
    network_->scene_model().show_plan(&plan, shown_->problem->node_ids);
    network_->scene_model().show_reductions(reductions_of(*shown_->problem, plan));
}

/// Losses and cuts of that moment: on the network and in a line below it.
void WatchPage::show_events(double at_s) {
    QStringList lines;
    for (const auto& loss : losses_at(*shown_->lanes, at_s)) lines << loss_in_short(loss, *shown_->lanes);
    if (const auto* lost = shown_->lanes->lost_at(at_s)) lines << describe_lost_time(*lost).front();
    const auto cut = cut_links(shown_->experiment.failures, at_s);
    for (const auto& link : cut)
        lines << tr("%1->%2 is cut").arg(QString::fromStdString(link.from), QString::fromStdString(link.to));
    if (network_of_ == run_) network_->scene_model().show_cut(cut);
    replay_->set_event(lines.join("; "));
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

/// What would help is asked of one node or link, else of the run, also where a stage is selected.
void WatchPage::want_help() {
    const auto& now = selection_.now();
    const bool other = timeline_->area() || timeline_->selected().span != nullptr || timeline_->selected_lost();
    if (!shown_ || !shown_->problem || did_nothing(shown_->info) || other || now.nodes.size() + now.links.size() > 1 ||
        now.microbatch)
        return helps_->want_nothing();
    const auto* one = chosen_iteration();
    const int iteration = one != nullptr ? one->iteration : 0;
    std::string thing;
    if (!now.nodes.empty()) thing = *now.nodes.begin();
    if (!now.links.empty()) thing = now.links.begin()->from + "->" + now.links.begin()->to;
    helps_->want({shown_->info.id, thing, plan_since(iteration)}, shown_, plan_in_force(iteration));
}

/// Why the run ended before its time: the first thing that is asked of it.
void WatchPage::add_failure(Details& details) const {
    if (!shown_ || shown_->info.state != RunState::failed || shown_->info.error.empty()) return;
    const auto& info = shown_->info;
    details.title = did_nothing(info) ? did_nothing_words(info) : tr("Run %1 failed").arg(info.id);
    details.rows.push_back({{}, error_words(info)});
}

/// What would help is asked first of what is named; what was tried besides comes last.
void WatchPage::add_help(Details& details, bool is_first) const {
    auto answers = helps_->answers(), remarks = helps_->remarks();
    details.rows.insert(is_first ? details.rows.begin() : details.rows.end(), std::make_move_iterator(answers.begin()),
                        std::make_move_iterator(answers.end()));
    details.rows.insert(details.rows.end(), std::make_move_iterator(remarks.begin()),
                        std::make_move_iterator(remarks.end()));
}

/// The link that is selected alone; null: there is none.
const Link* WatchPage::selected_link() const {
    const auto& now = selection_.now();
    if (!shown_ || now.links.size() != 1 || !now.nodes.empty()) return nullptr;
    for (const auto& link : shown_->experiment.topology.links)
        if (LinkKey{link.from, link.to} == *now.links.begin()) return &link;
    return nullptr;
}

/// What is selected elsewhere, or by name, else what can be; from the timeline, what it says.
Details WatchPage::selection_details() const {
    const auto* data = timeline_->data();
    Details details;
    const auto take = [&](const QStringList& lines) {
        details.title = lines.value(0);
        for (const auto& line : lines.mid(1)) details.rows.push_back({{}, line});
    };
    const auto place = timeline_->selected();
    if (data != nullptr && timeline_->area()) {
        details = area_details(*timeline_->area());
    } else if (data != nullptr && place.span != nullptr) {
        details = span_details(*place.span, place.lane, *data);
    } else if (data != nullptr && timeline_->selected_gap() && timeline_->selected_lane() >= 0) {
        details = gap_details(*timeline_->selected_gap(),
                              data->lanes()[static_cast<std::size_t>(timeline_->selected_lane())].name, *data);
        add_help(details, false);
    } else if (data != nullptr && timeline_->selected_lost()) {
        take(describe_lost_time(*timeline_->selected_lost(), *data));
    } else {
        const auto& now = selection_.now();
        QStringList nodes;
        for (const auto& node : now.nodes) nodes << QString::fromStdString(node);
        if (nodes.size() > most_nodes_named) nodes = nodes.mid(0, most_nodes_named) << QString(QChar(0x2026));
        const int lane = data != nullptr && now.nodes.size() == 1 ? lane_named(*now.nodes.begin(), *data) : -1;
        const auto* one = data != nullptr ? chosen_iteration() : nullptr;
        if (one != nullptr && now.microbatch)
            details = microbatch_details(*now.microbatch, *one, *data);
        else if (one != nullptr && now.stage && lane < 0)
            details = stage_details(*now.stage, *one, *data);
        else if (one != nullptr && lane >= 0)
            details = node_details(lane, *one, *data);
        else if (const auto* link = selected_link(); link != nullptr && one != nullptr && shown_->problem)
            details = link_details(*link, *shown_->problem, *one, *data);
        else if (!nodes.isEmpty())
            details.rows.push_back({tr("Selected"), nodes.join(", "), DetailLink::node});
        const bool is_named = now != Selection{};
        if (!is_named) add_failure(details);
        add_help(details, is_named);
        if (now.microbatch) details.rows.push_back({{}, tr("[ and ] follow it from node to node.")});
    }
    const auto cause = timeline_->cause();
    if (data != nullptr && cause.span != nullptr)
        details.rows.push_back(
            {tr("Waited for"), span_details(*cause.span, cause.lane, *data).title, DetailLink::cause});
    return details;
}

void WatchPage::show_selected() {
    want_help();
    const auto* data = timeline_->data();
    static const TimelineData none;
    QStringList links;
    if (shown_)
        for (const auto& link : shown_->experiment.topology.links) links << link_name(link);
    if (const auto* link = selected_link(); link != nullptr) links.removeAll(link_name(*link));  // it is told here
    selected_->setText(in_rows(selection_details(), data != nullptr ? *data : none, links));
    legend_->setVisible(timeline_->selected().span == nullptr && !timeline_->area() && !timeline_->selected_gap() &&
                        !timeline_->selected_lost());
    hints_->setVisible(!legend_->isHidden() && selection_.now() == Selection{});
    show_spans();
}

/// Its colours stand in its words.
void WatchPage::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) show_selected();
}

/// A name in the selection's properties was clicked.
void WatchPage::follow_link(const QString& link) {
    if (!shown_) return;
    const QString kind = link.section(':', 0, 0), of = link.section(':', 1);
    if (kind == QStringLiteral("cause")) return timeline_->follow_cause();
    if (kind == QStringLiteral("helps")) return helps_->ask();
    if (kind == QStringLiteral("iteration")) {
        for (const auto& one : shown_->lanes->iterations())
            if (one.iteration == of.toInt() - 1) timeline_->show_iteration(one);
        return;
    }
    if (kind == QStringLiteral("loss")) {
        details_->setCurrentWidget(failures_);
        return failures_->choose_event(of.toDouble());
    }
    timeline_->select_row(-1);
    Selection wanted;
    for (const auto& one : shown_->experiment.topology.links)
        if (kind == QStringLiteral("link") && link_name(one) == of) wanted.links = {{one.from, one.to}};
    if (kind == QStringLiteral("node")) wanted.nodes = {of.toStdString()};
    if (kind == QStringLiteral("microbatch")) wanted.microbatch = of.toInt();
    if (kind == QStringLiteral("stage")) wanted.stage = of.toInt();
    selection_.select(wanted);
    show_selected();  // also where it was selected already, on the way through what is no longer
    show_moment();
}

/// The link that a lane's line is a direction of.
void WatchPage::select_line(int line) {
    const LinkKey ends = timeline_->lines()->ends[static_cast<std::size_t>(line)], back{ends.to, ends.from};
    for (const auto& link : shown_->experiment.topology.links)
        if (const LinkKey key{link.from, link.to}; key == ends || (link.both_ways && key == back))
            return selection_.select({.links = {key}});
}

/// Of the lane that was chosen in the timeline, else of the one node that is selected wherever.
void WatchPage::show_spans() {
    const auto& nodes = selection_.now().nodes;
    int lane = timeline_->selected_lane();
    if (lane < 0 && shown_ && nodes.size() == 1)
        for (std::size_t i = 0; i < shown_->lanes->lanes().size(); ++i)
            if (shown_->lanes->lanes()[i].name == *nodes.begin()) lane = static_cast<int>(i);
    const bool any = shown_ != nullptr && lane >= 0;
    const bool other = any && spans_->show_lane(shown_->lanes, lane);
    span_view_->setVisible(any);
    no_spans_->setVisible(!any);
    if (other) scroll_spans();
}

/// The table begins where the timeline does, with the iteration that the selection tells of where that is in sight.
void WatchPage::scroll_spans() {
    if (!span_view_->isVisible() || spans_->rowCount() == 0) return;
    const auto* one = chosen_iteration();
    const bool begins_later = one != nullptr && one->begin_s() > zoom_.begin() && one->begin_s() < zoom_.end();
    const double begin_s = begins_later ? one->begin_s() : zoom_.begin();
    span_view_->scrollTo(spans_->index(spans_->row_at(begin_s), 0), QAbstractItemView::PositionAtTop);
}

/// What is selected in the timeline is selected everywhere: its node, its microbatch, or the stage that it reduces.
void WatchPage::share_selection() {
    const auto* data = timeline_->data();
    if (timeline_->selected_lane() < 0 && !timeline_->area()) selection_.clear();
    if (data == nullptr || timeline_->selected_lane() < 0) return;
    const Lane& lane = data->lanes()[static_cast<std::size_t>(timeline_->selected_lane())];
    const auto* span = timeline_->selected().span;
    const auto& gap = timeline_->selected_gap();
    Selection s = selection_.now();
    s.nodes = {lane.name};
    s.links.clear();
    s.microbatch = span != nullptr && span->microbatch >= 0 ? std::optional{span->microbatch} : std::nullopt;
    const bool reduces = span != nullptr
                             ? span->kind == SpanKind::transfer_reduction
                             : gap && (gap->cause == IdleCause::all_reduce || gap->cause == IdleCause::replica);
    s.stage = reduces && lane.stage >= 0 ? std::optional{lane.stage} : std::nullopt;
    selection_.select(s);
}

void WatchPage::show_longest_reduction() {
    const auto* data = timeline_->data();
    if (data == nullptr) return;
    auto place = data->longest_reduction(zoom_.begin(), zoom_.end());
    if (place.span == nullptr) place = data->longest_reduction(0, data->extent_s());
    if (place.span != nullptr) timeline_->go(place);
}

void WatchPage::show_next_loss() {
    details_->setCurrentWidget(failures_);
    const auto* data = timeline_->data();
    if (data == nullptr || data->losses().empty()) return;
    const Loss& loss = data->losses()[next_loss_++ % data->losses().size()];
    double begin_s = loss.begin_s, end_s = loss.end_s;
    if (const auto* one = iteration_at(data->iterations(), loss.begin_s); one != nullptr && begin_s <= one->end_s) {
        begin_s = std::min(begin_s, one->begin_s());
        end_s = std::max(end_s, one->end_s);
    }
    const double edge_s = 0.02 * (end_s - begin_s);
    zoom_.set_follows(false);
    zoom_.show(begin_s - edge_s, end_s + edge_s);
}

void WatchPage::follow_selection() {
    Selection s;
    s.nodes = selection_.now().nodes;
    s.links = selection_.now().links;
    s.microbatch = selection_.now().microbatch;
    s.stage = selection_.now().stage;
    network_selection_.select(s);
    const bool has_ways = shown_ && shown_->problem && !s.links.empty();
    timeline_->set_marked(s, has_ways ? ways_over(s.links, shown_->experiment.topology, *shown_->problem)
                                      : std::vector<std::pair<int, int>>{});
    mark_splits();
    show_idle();
    show_devices();
    show_selected();
}

}  // namespace skippipe
