// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_data.h"

#include <algorithm>

#include "core/experiment/io.h"

namespace skippipe {
namespace {
constexpr std::int64_t rows_a_poll = 20'000;
}

RunLoader::RunLoader(Reader& reader, RunId id) {
    if (const auto info = reader.run(id)) data_.info = *info;
    Faults faults;
    data_.experiment = parse_experiment(parse_json(reader.experiment_json(id), faults)).experiment;
    try {
        data_.problem = make_problem(data_.experiment);
        data_.lanes->set_lanes(data_.problem->node_ids);
        if (data_.experiment.execution.clock == Clock::wall) data_.lanes->name_time("Time here");
        data_.plan = parse_plan(parse_json(reader.plan_json(id), faults), *data_.problem, faults);
        const auto stages = stage_of_nodes(data_.plan, data_.problem->nodes());
        for (int node = 0; node < data_.problem->nodes(); ++node)
            data_.lanes->set_stage(node, stages[static_cast<std::size_t>(node)]);
        data_.iteration = account_plan(data_.experiment.model, *data_.problem, data_.plan);
        data_.node_idle_s.resize(data_.problem->node_ids.size());
        data_.node_busy_s.resize(data_.problem->node_ids.size());
    } catch (const InputError&) {
        // An experiment that this program cannot turn into numbers still has metrics to show.
        data_.problem.reset();
    }
}

bool RunLoader::poll(Reader& reader, const RunInfo& info, bool& more) {
    const bool over = info.state != RunState::running;
    data_.info = info;
    take_plan_changes(reader);
    const auto metrics = reader.metrics(info.id, last_metric_);
    for (const auto& metric : metrics) {
        last_metric_ = std::max(last_metric_, metric.row);
        data_.network_s = std::max(data_.network_s, metric.network_s);
        data_.metrics.push_back(metric);
    }
    const auto spans = reader.spans(info.id, -1, last_span_, rows_a_poll);
    more = static_cast<std::int64_t>(spans.size()) == rows_a_poll;
    for (const auto& row : spans) {
        last_span_ = std::max(last_span_, row.row);
        data_.lanes->add(row.span, row.iteration, row.offset_s, row.row);
        data_.network_s = std::max(data_.network_s, row.offset_s + row.span.end_s);
        auto& pending = pending_[row.iteration];
        pending.offset_s = row.offset_s;
        pending.timeline.spans.push_back(row.span);
    }
    // An iteration is explained once it is whole: a later one has begun, or the run is over.
    const int last = pending_.empty() ? -1 : pending_.rbegin()->first;
    while (!pending_.empty() && !more) {
        const int iteration = pending_.begin()->first;
        if (iteration == last && !over && info.iterations_done <= iteration) break;
        explain(iteration);
        pending_.erase(pending_.begin());
    }
    if (!spans.empty()) data_.lanes->finish();
    return !spans.empty() || !metrics.empty();
}

void RunLoader::take_plan_changes(Reader& reader) {
    auto changes = reader.plan_changes(data_.info.id);
    for (std::size_t i = data_.plan_changes.size(); i < changes.size() && data_.problem; ++i) {
        Faults faults;
        auto plan = parse_plan(parse_json(reader.plan_json(data_.info.id, changes[i].iteration), faults),
                               *data_.problem, faults);
        if (!has_errors(faults)) later_plans_[changes[i].iteration] = std::move(plan);
    }
    data_.plan_changes = std::move(changes);
}

const Plan& RunLoader::plan_at(int iteration) const {
    const auto after = later_plans_.upper_bound(iteration);
    return after == later_plans_.begin() ? data_.plan : std::prev(after)->second;
}

void RunLoader::explain(int iteration) {
    if (!data_.problem || data_.plan.stages.empty()) return;
    auto& [offset_s, timeline] = pending_.at(iteration);
    for (const auto& span : timeline.spans) {
        timeline.iteration_s = std::max(timeline.iteration_s, span.end_s);
        if (is_compute(span.kind))
            timeline.makespan_s = std::max(timeline.makespan_s, span.end_s),
            timeline.busy_s += span.end_s - span.start_s;
    }
    for (const auto& stage : data_.plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
    const IdleReport report = explain_idle(*data_.problem, plan_at(iteration), timeline);
    for (const auto& gap : report.gaps) data_.lanes->add(gap, offset_s);
    data_.lanes->finish();
    const int n = data_.explained_iterations++;
    for (std::size_t c = 0; c < idle_causes; ++c)
        data_.idle_share[c] = (data_.idle_share[c] * n + report.share[c]) / (n + 1);
    for (std::size_t node = 0; node < data_.node_idle_s.size() && node < report.node_seconds.size(); ++node) {
        for (std::size_t c = 0; c < idle_causes; ++c) data_.node_idle_s[node][c] += report.node_seconds[node][c];
        data_.node_busy_s[node] += report.node_busy_s[node];
    }
}

}  // namespace skippipe
