// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/timeline.h"

#include <algorithm>

#include "core/base/index.h"

namespace skippipe {

std::string_view to_string(SpanKind kind) {
    switch (kind) {
        case SpanKind::forward: return "forward";
        case SpanKind::loss: return "loss";
        case SpanKind::backward: return "backward";
        case SpanKind::input_gradient: return "input-gradient";
        case SpanKind::weight_gradient: return "weight-gradient";
        case SpanKind::transfer_forward: return "transfer-forward";
        case SpanKind::transfer_backward: return "transfer-backward";
        case SpanKind::all_reduce: return "all-reduce";
        case SpanKind::step: return "step";
        case SpanKind::down: return "down";
        case SpanKind::transfer_reduction: return "transfer-reduction";
    }
    return "?";
}

OpKind operation_kind(SpanKind compute) {
    constexpr OpKind kinds[] = {OpKind::F, OpKind::L, OpKind::B, OpKind::I, OpKind::W};
    return kinds[static_cast<std::size_t>(compute)];
}

void add_totals(const Plan& plan, Timeline& timeline) {
    timeline.makespan_s = timeline.busy_s = timeline.bytes = 0;
    timeline.used_nodes = 0;
    for (const auto& stage : plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
    for (const auto& span : timeline.spans) {
        timeline.iteration_s = std::max(timeline.iteration_s, span.end_s);
        timeline.bytes += span.bytes;
        if (!is_compute(span.kind)) continue;
        timeline.makespan_s = std::max(timeline.makespan_s, span.end_s);
        timeline.busy_s += span.end_s - span.start_s;
    }
}

double ring_edge_seconds(const Problem& problem, const std::vector<NodeIndex>& ring, std::size_t edge,
                         StageIndex stage) {
    const NodeIndex from = ring[edge], to = ring[(edge + 1) % ring.size()];
    const Hop& hop = problem.hop(from, to);
    return hop.latency_s + problem.overhead_s +
           (problem.gradient_bytes[stage] / static_cast<int>(ring.size())) / problem.alone_bytes_per_s(from, to);
}

double all_reduce_seconds(const Problem& problem, const std::vector<NodeIndex>& ring, StageIndex stage) {
    const int r = static_cast<int>(ring.size());
    if (!problem.charge_all_reduce || r <= 1) return 0;
    double slowest_s = 0;
    for (std::size_t i = 0; i < ring.size(); ++i)
        slowest_s = std::max(slowest_s, ring_edge_seconds(problem, ring, i, stage));
    return 2 * (r - 1) * slowest_s;
}

void finish_iteration(const Problem& problem, const Plan& plan, const PerStage<double>& last_end_s,
                      Timeline& timeline) {
    timeline.iteration_s = timeline.makespan_s;
    for (StageIndex s = 0; s < problem.stages; ++s) {
        const auto& ring = plan.stages[s];
        timeline.used_nodes += static_cast<int>(ring.size());
        if (last_end_s[s] < 0) continue;
        const double reduce_s = all_reduce_seconds(problem, ring, s);
        const double reduced_s = last_end_s[s] + reduce_s;
        const double stepped_s = reduced_s + problem.step_seconds;
        const double r = static_cast<double>(ring.size());
        // Each node of a ring sends 2 (r-1) / r of the gradient.
        const double sent = problem.charge_all_reduce && r > 1 ? 2 * (r - 1) / r * problem.gradient_bytes[s] : 0;
        for (const NodeIndex node : ring) {
            timeline.spans.push_back(
                {SpanKind::all_reduce, node, -1, s, -1, last_end_s[s], last_end_s[s], reduced_s, sent});
            timeline.spans.push_back({SpanKind::step, node, -1, s, -1, reduced_s, reduced_s, stepped_s, 0});
        }
        timeline.iteration_s = std::max(timeline.iteration_s, stepped_s);
    }
    for (const auto& span : timeline.spans) timeline.bytes += span.bytes;
}

void finish_planned_iteration(const Plan& plan, Timeline& timeline) {
    timeline.iteration_s = timeline.makespan_s;
    for (const auto& stage : plan.stages) timeline.used_nodes += static_cast<int>(stage.size());
    for (const auto& span : timeline.spans) {
        timeline.iteration_s = std::max(timeline.iteration_s, span.end_s);
        timeline.bytes += span.bytes;
    }
}

}  // namespace skippipe
