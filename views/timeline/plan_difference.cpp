// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/plan_difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace skippipe {
namespace {

/// What makes a span the same one in plan and run; several of a kind (parts of reductions) are told by their order.
using SpanName = std::tuple<int, SpanKind, int, int, int>;

std::map<SpanName, std::vector<LaneSpan>> spans_by_name(const TimelineData& data, double begin, double end,
                                                        int iteration) {
    std::map<SpanName, std::vector<LaneSpan>> named;
    data.visit_spans(begin, end, [&](int lane, const LaneSpan& span) {
        if (span.iteration == iteration)
            named[{lane, span.kind, span.microbatch, span.to_node, span.stage}].push_back(span);
    });
    for (auto& [_, spans] : named)
        std::stable_sort(spans.begin(), spans.end(),
                         [](const LaneSpan& a, const LaneSpan& b) { return a.start_s < b.start_s; });
    return named;
}

}  // namespace

std::vector<PlanDifference> plan_differences(const TimelineData& planned, const TimelineData& done,
                                             const IterationTime& iteration) {
    const auto wanted = spans_by_name(planned, 0, planned.extent_s(), 0);
    const auto found = spans_by_name(done, iteration.begin_s(), iteration.end_s, iteration.iteration);
    std::vector<PlanDifference> differences;
    for (const auto& [name, spans] : found) {
        const auto plan = wanted.find(name);
        if (plan == wanted.end()) continue;
        for (std::size_t i = 0; i < std::min(spans.size(), plan->second.size()); ++i) {
            const LaneSpan &was = spans[i], &should = plan->second[i];
            PlanDifference one;
            one.lane = std::get<0>(name);
            one.done = was;
            one.planned_start_s = should.start_s;
            one.planned_end_s = should.end_s;
            one.start_s = was.start_s - iteration.begin_s();
            one.end_s = was.end_s - iteration.begin_s();
            one.longer_s = (was.end_s - was.start_s) - (should.end_s - should.start_s);
            one.longer_wait_s = static_cast<double>(was.queue_s) - static_cast<double>(should.queue_s);
            one.later_input_s = one.later_s() - one.longer_s - one.longer_wait_s;
            differences.push_back(one);
        }
    }
    std::stable_sort(differences.begin(), differences.end(), [](const PlanDifference& a, const PlanDifference& b) {
        return std::abs(a.own_s()) > std::abs(b.own_s());
    });
    return differences;
}

}  // namespace skippipe
