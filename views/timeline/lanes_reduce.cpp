// SPDX-License-Identifier: GPL-3.0-or-later
// Transfers of planned reductions: what each carries, and the longest of them.
#include <algorithm>

#include "views/timeline/lanes.h"

namespace skippipe {

std::shared_ptr<const PlannedReductions> planned_reductions(const Problem& problem, const Plan& plan) {
    if (!problem.plan_reductions) return nullptr;
    const PlannedProblem planned(problem, plan.blocks);
    auto all = std::make_shared<PlannedReductions>();
    all->stages = plan.stages;
    all->pieces = plan.reductions;
    all->pieces.resize(plan.stages.size());
    all->gradient_bytes = planned.get().gradient_bytes;
    all->gradient_bytes.resize(plan.stages.size());
    all->line_names = problem.line_names;
    return all;
}

std::optional<ReductionCargo> TimelineData::cargo(const Place& place) const {
    if (place.span == nullptr || place.span->kind != SpanKind::transfer_reduction || !reductions_) return {};
    const StageIndex stage(place.span->stage);
    if (stage < 0 || at(stage) >= reductions_->stages.size()) return {};
    const auto& replicas = reductions_->stages[stage];
    std::vector<double> own_s(replicas.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<ReductionTransfer> transfers;
    std::optional<std::size_t> wanted;
    // Iterations do not overlap: its own lies in the part it stands in.
    each_part(place.span->start_s, place.span->end_s, [&](const TimelineData& part) {
        double begin_s = std::numeric_limits<double>::infinity();
        for (const auto& lane : part.lanes_)
            for (const auto& span : lane.work)
                if (span.iteration == place.span->iteration)
                    begin_s = std::min<double>(begin_s, span.start_s - span.queue_s);
        for (std::size_t k = 0; k < replicas.size(); ++k) {
            const Lane& lane = part.lanes_[at(replicas[k])];
            for (const auto& span : lane.work)
                if (span.iteration == place.span->iteration)
                    own_s[k] = std::max(span.end_s, std::isnan(own_s[k]) ? span.end_s : own_s[k]);
            for (const auto& span : lane.transfers) {
                if (span.iteration != place.span->iteration || span.stage != place.span->stage ||
                    span.kind != SpanKind::transfer_reduction)
                    continue;
                if (span.row == place.span->row) wanted = transfers.size();
                transfers.push_back(
                    {replicas[k], NodeIndex(span.to_node), span.start_s - span.queue_s, span.end_s, span.bytes});
            }
        }
        // A replica that no microbatch visits has its part, which is nothing, from the iteration's start.
        for (auto& own : own_s)
            if (std::isnan(own) && !transfers.empty()) own = begin_s;
    });
    if (!wanted) return {};
    return cargo_of(replicas, reductions_->pieces[stage], reductions_->gradient_bytes[stage], own_s,
                    transfers)[*wanted];
}

TimelineData::Place TimelineData::longest_reduction(double begin, double end) const {
    Place best;
    double best_s = -1;
    each_part(begin, end, [&](const TimelineData& part) {
        for (std::size_t lane = 0; lane < lanes_.size(); ++lane)
            for (const auto& span : part.lanes_[lane].transfers) {
                if (span.kind != SpanKind::transfer_reduction || span.start_s < begin || span.start_s > end) continue;
                if (const double took_s = span.end_s - span.start_s + span.queue_s; took_s > best_s)
                    best = {static_cast<int>(lane), &span}, best_s = took_s;
            }
    });
    return best;
}

const StageReduction* TimelineData::ring_of(int stage) const {
    if (!rings_) return nullptr;
    for (const auto& one : *rings_)
        if (one.stage == stage && !one.planned && !one.edges.empty()) return &one;
    return nullptr;
}

}  // namespace skippipe
