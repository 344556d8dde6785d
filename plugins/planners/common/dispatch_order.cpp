// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/dispatch_order.h"

#include <algorithm>

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

std::vector<std::vector<std::uint32_t>> dispatch_order(const Problem& problem, const PlanCandidate& candidate) {
    const FlatPlan& schedule = candidate.schedule;
    Plan plan;
    plan.stages = candidate.stages;
    const auto timeline = Simulator(PlannedProblem(problem, candidate.blocks).get()).timeline(schedule, plan);
    if (!timeline.complete) return {};
    std::vector<int> index_of(at(problem.microbatches), 0);
    for (int i = 0; i < schedule.count(); ++i) index_of[at(schedule.microbatches[at(i)])] = i;
    std::vector<const Span*> spans;
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->start_s < b->start_s; });
    std::vector<std::vector<std::uint32_t>> order(at(problem.nodes()));
    for (const Span* span : spans) {
        const int index = index_of[at(span->microbatch)];
        const int* path = schedule.path(index);
        const int hop = static_cast<int>(std::find(path, path + schedule.length, span->node) - path);
        const int back = 2 * schedule.length - hop;
        const int step = span->kind == SpanKind::forward           ? hop
                         : span->kind == SpanKind::loss            ? schedule.length
                         : span->kind == SpanKind::weight_gradient ? back | weight_gradient_bit
                                                                   : back;
        order[at(span->node)].push_back(pack(index, step));
    }
    return order;
}

}  // namespace skippipe
