// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_stretch.h"

#include <algorithm>
#include <numeric>

#include "core/analysis/idle_split.h"
#include "views/runs/clock_words.h"

namespace skippipe {

void IdleSums::add(const IdleReport& report, int iteration) {
    const double share_of_all = std::accumulate(report.share.begin(), report.share.end(), 0.0);
    add(IdleSums{1, report.node_seconds, report.node_busy_s, {{iteration, share_of_all}}});
}

void IdleSums::add(const IdleSums& other) {
    iterations += other.iterations;
    of_iteration.insert(other.of_iteration.begin(), other.of_iteration.end());
    node_idle_s.resize(std::max(node_idle_s.size(), other.node_idle_s.size()));
    node_busy_s.resize(std::max(node_busy_s.size(), other.node_busy_s.size()));
    for (std::size_t node = 0; node < other.node_idle_s.size(); ++node)
        for (std::size_t c = 0; c < idle_causes; ++c) node_idle_s[node][c] += other.node_idle_s[node][c];
    for (std::size_t node = 0; node < other.node_busy_s.size(); ++node) node_busy_s[node] += other.node_busy_s[node];
}

std::array<double, idle_causes> IdleSums::shares() const {
    const auto all = sum_of(split_nodes(node_idle_s, node_busy_s));
    auto shares = all.idle_s;
    for (auto& share : shares) share = all.whole_s() > 0 ? share / all.whole_s() : 0;
    return shares;
}

RunStretch::RunStretch(const RunData& run) {
    lanes_.set_key(run.info.id);
    if (!run.problem) return;
    lanes_.set_lanes(run.problem->node_ids);
    lanes_.name_time(time_name(clock_of({&run})).toStdString());
    const auto stages = stage_of_nodes(run.plan, run.problem->nodes());
    for (int node = 0; node < run.problem->nodes(); ++node)
        lanes_.set_stage(node, stages[static_cast<std::size_t>(node)]);
    lanes_.set_reductions(planned_reductions(*run.problem, run.plan));
    lanes_.set_rings(run.rings);
}

void RunStretch::add(const RecordedSpan& row) {
    end_s_ = std::max(end_s_, row.offset_s + row.span.end_s);
    auto& pending = pending_[row.iteration];
    pending.offset_s = row.offset_s;
    pending.timeline.spans.push_back(row.span);
    pending.rows.push_back(row.row);
}

void RunStretch::explain(const Problem& problem, int end, const std::function<const Plan&(int iteration)>& plan_of) {
    while (!pending_.empty() && pending_.begin()->first < end) {
        const auto& [iteration, _] = *pending_.begin();
        auto& [offset_s, timeline, rows] = pending_.begin()->second;
        for (std::size_t i = 0; i < rows.size(); ++i) lanes_.add(timeline.spans[i], iteration, offset_s, rows[i]);
        const Plan& plan = plan_of(iteration);
        if (!plan.stages.empty()) {
            add_totals(plan, timeline);
            const IdleReport report = explain_idle(problem, plan, timeline);
            for (const auto& gap : report.gaps) lanes_.add(gap, offset_s);
            idle_.add(report, iteration);
        }
        pending_.erase(pending_.begin());
    }
}

}  // namespace skippipe
