// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/residual_end.h"

#include <algorithm>

#include "core/base/index.h"

namespace skippipe {

StageEnd RestEnd::stage(StageIndex stage, double end_s) const {
    const auto& ring = stages[stage];
    StageEnd result{end_s, 0, 0};
    double reduce_s = all_reduce_seconds(network, ring, stage);
    if (end_s <= residual.at_s) {
        double reduce_before_s = all_reduce_seconds(before, stages_before[at(stage)], stage);
        const bool known = !residual.stage_stepped_s.empty() && residual.stage_stepped_s[stage] >= 0;
        const double stepped_s =
            known ? residual.stage_stepped_s[stage] : end_s + reduce_before_s + before.step_seconds;
        if (known) reduce_before_s = stepped_s - before.step_seconds - end_s;
        if (ring == stages_before[at(stage)] || stepped_s <= residual.at_s)
            reduce_s = reduce_before_s;
        else
            result.begin_s = residual.at_s;
        result.stepped_s = result.begin_s == end_s ? stepped_s : 0;
    }
    result.reduced_s = result.begin_s + reduce_s;
    if (result.stepped_s == 0) result.stepped_s = result.reduced_s + network.step_seconds;
    return result;
}

double RestEnd::iteration_s(const PerStage<double>& stage_end_s, double makespan_s, Timeline* timeline) const {
    double last_s = makespan_s;
    for (StageIndex s = 0; s < network.stages; ++s) {
        const auto& ring = stages[s];
        if (stage_end_s[s] < 0 || ring.empty()) continue;
        const auto [begin_s, reduced_s, stepped_s] = stage(s, stage_end_s[s]);
        last_s = std::max(last_s, stepped_s);
        if (timeline == nullptr || stepped_s <= residual.at_s) continue;
        const double r = static_cast<double>(ring.size());
        const double sent = network.charge_all_reduce && r > 1 ? 2 * (r - 1) / r * network.gradient_bytes[s] : 0;
        for (const NodeIndex node : ring) {
            timeline->spans.push_back({SpanKind::all_reduce, node, -1, s, -1, begin_s, begin_s, reduced_s, sent});
            timeline->spans.push_back({SpanKind::step, node, -1, s, -1, reduced_s, reduced_s, stepped_s, 0});
        }
    }
    return last_s;
}

void RestEnd::capture(const PerStage<double>& stage_end_s, IterationProgress& progress) const {
    progress.stage_stepped_s.assign(at(network.stages), -1.0);
    for (StageIndex s = 0; s < network.stages; ++s) {
        if (stage_end_s[s] < 0 || stage_end_s[s] > progress.at_s || stages[s].empty()) continue;
        const auto end = stage(s, stage_end_s[s]);
        if (end.begin_s > progress.at_s) continue;
        progress.stage_end_s[s] = end.begin_s;
        progress.stage_stepped_s[s] = end.stepped_s;
    }
}

}  // namespace skippipe
