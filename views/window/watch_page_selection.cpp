// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected or in sight of the run that is shown, in words, causes and on the network.
#include <algorithm>
#include <numeric>
#include <set>

#include "core/analysis/device_use.h"
#include "views/theme/numbers.h"
#include "views/timeline/span_table.h"
#include "views/window/network_moment.h"
#include "views/window/watch_page.h"

namespace skippipe {

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

/// The iteration of what is selected, else the last whole one; null: none has ended.
const IterationTime* WatchPage::chosen_iteration() const {
    if (!shown_) return nullptr;
    const auto& iterations = shown_->lanes->iterations();
    if (iterations.empty()) return nullptr;
    return has_selected_time() ? iteration_at(iterations, shown_time()) : &iterations.back();
}

void WatchPage::show_splits() {
    std::vector<SplitTable::Row> nodes, stages;
    if (shown_ && shown_->problem) {
        const auto splits = split_nodes(shown_->node_idle_s, shown_->node_busy_s);
        std::vector<int> stage_of;
        for (std::size_t lane = 0; lane < shown_->lanes->lanes().size() && lane < splits.size(); ++lane) {
            stage_of.push_back(shown_->lanes->lanes()[lane].stage);
            nodes.push_back({QString::fromStdString(shown_->lanes->lanes()[lane].name), splits[lane]});
        }
        const auto by_stage = split_stages(splits, stage_of);
        for (std::size_t stage = 0; stage < by_stage.size(); ++stage)
            stages.push_back({tr("Stage %1").arg(stage), by_stage[stage]});
    }
    by_node_->show_rows(nodes, tr("All nodes"));
    by_stage_->show_rows(stages, tr("All stages"));
}

/// Beside the causes the devices of what is selected, in their tab all of them.
void WatchPage::show_devices() {
    const auto all = shown_ ? device_use(shown_->devices) : std::vector<DeviceReading>{};
    idle_tabs_->setTabVisible(idle_tabs_->indexOf(devices_), !all.empty());
    if (all.empty() || !shown_->problem) return idle_->show_devices({}, {});
    const auto& names = shown_->problem->node_ids;
    devices_->show_devices(all, names);
    const auto& selected = selection_.now();
    std::set<int> nodes;
    for (std::size_t node = 0; node < names.size(); ++node) {
        const bool of_stage = selected.stage && node < shown_->lanes->lanes().size() &&
                              shown_->lanes->lanes()[node].stage == *selected.stage;
        if (selected.nodes.empty() ? of_stage : selected.nodes.contains(names[node]))
            nodes.insert(static_cast<int>(node));
    }
    const bool some = selected.stage || !selected.nodes.empty();
    const auto devices = some ? devices_of_nodes(all, nodes) : all;
    const auto words = devices.size() == 1 ? device_words(devices.front(), names) + "\n\n" : QString{};
    idle_->show_devices(busy_words(devices), words + busy_meaning());
}

void WatchPage::show_differences() {
    const auto* one = chosen_iteration();
    const bool has_plan = shown_ && shown_->planned != nullptr;
    timeline_->set_planned(has_plan && shows_plan_ ? shown_->planned : nullptr);
    if (!has_plan || one == nullptr)
        return differences_->show_nothing(tr("Where an iteration parts from its plan, and why: after the first one"));
    if (!shown_->plan_changes.empty() && one->iteration >= shown_->plan_changes.front().iteration)
        return differences_->show_nothing(
            tr("Iteration %1 was run by another plan than the first").arg(one->iteration + 1));
    differences_->show_iteration(*shown_->planned, *shown_->lanes, *one);
}

/// Whoever moves the slider wants that moment, not the one of what was selected.
void WatchPage::follow_replay() {
    if (has_selected_time()) timeline_->select_row(-1);
    show_moment();
}

/// The network as it was at the moment shown: who was lost, who worked, what was under way; loads are those of the
/// iteration then.
void WatchPage::show_moment() {
    if (!shown_) return;
    const TimelineData& lanes = *shown_->lanes;
    replay_->setVisible(lanes.span_count() > 0);
    replay_->set_range(std::max(zoom_.begin(), 0.0), std::min(zoom_.end(), lanes.extent_s()));
    if (has_selected_time()) replay_->set_moment(shown_time());
    timeline_->set_moment(lanes.span_count() > 0 ? std::optional(replay_->moment_s()) : std::nullopt);
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
    if (network_of_ == run_) network_->scene_model().show_traffic(at_moment(lanes, at_s, loads_));
    replay_->set_words(tr("%1: %2").arg(duration(at_s), traffic_words(network_->scene_model().traffic())));
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
    if (const auto& stage = selection_.now().stage; stage && nodes.empty() && data->problem) {
        std::vector<int> stage_of;
        for (const auto& lane : data->lanes->lanes()) stage_of.push_back(lane.stage);
        const auto stages = split_stages(split_nodes(data->node_idle_s, data->node_busy_s), stage_of);
        if (*stage >= 0 && static_cast<std::size_t>(*stage) < stages.size()) {
            const IdleSplit& split = stages[static_cast<std::size_t>(*stage)];
            auto shares = split.idle_s;
            for (auto& share : shares) share = split.whole_s() > 0 ? share / split.whole_s() : 0;
            return idle_->show_shares(
                tr("Why stage %1 idles %2 of the time").arg(*stage).arg(percent(split.idle_share())), shares);
        }
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
    } else if (data != nullptr && timeline_->selected_lost()) {
        lines = describe_lost_time(*timeline_->selected_lost(), *data);
    } else {
        lines << tr("Click a span or a gap, or drag over an area for its sums.")
              << tr("Keys: W S zoom, A D pan, [ ] along the microbatch, Ctrl+F finds, ? all keys");
    }
    const auto cause = timeline_->cause();
    if (data != nullptr && cause.span != nullptr)
        lines << QString{}
              << tr("Waited for: %1 (Enter goes there, Backspace returns)")
                     .arg(describe_span(*cause.span, cause.lane, *data).front());
    selected_->setText(lines.join('\n'));
    if (data != nullptr && timeline_->selected_lane() >= 0)
        spans_->show_lane(shown_ ? shown_->lanes : nullptr, timeline_->selected_lane());
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
    s.microbatch = span != nullptr && span->microbatch >= 0 ? std::optional{span->microbatch} : std::nullopt;
    const bool reduces =
        span != nullptr ? span->kind == SpanKind::transfer_reduction : gap && gap->cause == IdleCause::all_reduce;
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

void WatchPage::follow_selection() {
    Selection s;
    s.nodes = selection_.now().nodes;
    s.links = selection_.now().links;
    s.microbatch = selection_.now().microbatch;
    s.stage = selection_.now().stage;
    network_selection_.select(s);
    timeline_->set_marked(s.nodes, s.microbatch);
    show_idle();
    show_devices();
}

}  // namespace skippipe
