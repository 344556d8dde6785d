// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/executed_order.h"

#include <algorithm>
#include <tuple>

#include "core/base/index.h"

namespace skippipe {

PerNode<std::vector<Operation>> executed_order(const Timeline& timeline, int nodes) {
    PerNode<std::vector<const Span*>> ran(at(nodes));
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind) && span.node >= 0 && span.node < nodes) ran[span.node].push_back(&span);
    PerNode<std::vector<Operation>> order(at(nodes));
    for (NodeIndex n = 0; n < nodes; ++n) {
        std::stable_sort(ran[n].begin(), ran[n].end(), [](const Span* a, const Span* b) {
            return std::tie(a->start_s, a->end_s) < std::tie(b->start_s, b->end_s);
        });
        for (const Span* span : ran[n]) order[n].push_back({operation_kind(span->kind), span->microbatch});
    }
    return order;
}

Plan with_executed_order(Plan plan, const Problem& problem, const Timeline& timeline) {
    plan.order = executed_order(timeline, problem.nodes());
    return plan;
}

}  // namespace skippipe
