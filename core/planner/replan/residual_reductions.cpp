// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions of a rest: all that have not ended begin with it.
#include <algorithm>

#include "core/base/index.h"
#include "core/planner/replan/residual_simulator.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

void ResidualSimulator::prepare_reductions() {
    reductions_.prepare(network_, plan_->stages, plan_->reductions);
    operations_left_ = operations_left(residual_, plan_->nodes, network_.nodes());
    reduces_ = stages_to_reduce(residual_, plan_->stages, operations_left_);
    own_part_s_.assign(at(network_.nodes()), 0.0);
    sums_s_.assign(at(network_.nodes()), -1.0);
}

/// Of nodes on which nothing is left.
void ResidualSimulator::start_reductions() {
    for (StageIndex s = 0; s < network_.stages; ++s)
        for (const NodeIndex node : plan_->stages[s])
            if (operations_left_[node] == 0) own_part_there(node, residual_.at_s);
}

void ResidualSimulator::own_part_there(NodeIndex node, double now_s) {
    if (residual_.down[node] != 0 || reduces_[plan_->stage_of[node]] == 0) return;
    own_part_s_[node] = now_s;
    reductions_.own_part(
        node,
        [&](NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot) {
            hand_over_part(from, to, stage, bytes, slot, now_s);
        },
        [&](NodeIndex whole) { sums_there(whole, now_s); });
}

void ResidualSimulator::part_or_sum_there(const Event& event) {
    ++operations_;
    reductions_.arrived(
        event.slot,
        [&](NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot) {
            hand_over_part(from, to, stage, bytes, slot, event.time_s);
        },
        [&](NodeIndex whole) { sums_there(whole, event.time_s); });
}

void ResidualSimulator::hand_over_part(NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot,
                                       double now_s) {
    check_linked(from, to);
    if (network_.has_uplinks()) return begin_passage(passage_of(network_, from, to, bytes), part_id, slot, now_s);
    const Transfer transfer = carry(network_, network_.hop(from, to), bytes, now_s, line_free_);
    push({transfer.arrival_s, number_++, to, part_id, true, slot});
    if (timeline_ != nullptr)
        timeline_->spans.push_back(
            {SpanKind::transfer_reduction, from, to, stage, -1, now_s, transfer.start_s, transfer.arrival_s, bytes});
}

void ResidualSimulator::sums_there(NodeIndex node, double now_s) {
    sums_s_[node] = now_s;
    if (timeline_ == nullptr) return;
    const StageIndex stage = plan_->stage_of[node];
    const double begin_s = own_part_s_[node];
    timeline_->spans.push_back({SpanKind::all_reduce, node, -1, stage, -1, begin_s, begin_s, now_s, 0});
    timeline_->spans.push_back({SpanKind::step, node, -1, stage, -1, now_s, now_s, now_s + network_.step_seconds, 0});
}

/// When the last node has stepped, of stages that had reduced before too.
double ResidualSimulator::reduced_iteration_s() {
    double last_s = makespan_;
    for (StageIndex s = 0; s < network_.stages; ++s) {
        if (reduces_[s] == 0 && !residual_.stage_stepped_s.empty())
            last_s = std::max(last_s, residual_.stage_stepped_s[s]);
        for (const NodeIndex node : plan_->stages[s])
            if (sums_s_[node] >= 0) last_s = std::max(last_s, sums_s_[node] + network_.step_seconds);
    }
    return last_s;
}

void ResidualSimulator::capture_reductions(IterationProgress& progress) const {
    progress.stage_stepped_s.assign(at(network_.stages), -1.0);
    for (StageIndex s = 0; s < network_.stages; ++s) {
        if (reduces_[s] == 0) {
            if (!residual_.stage_stepped_s.empty()) progress.stage_stepped_s[s] = residual_.stage_stepped_s[s];
            continue;
        }
        double last_s = 0;
        const bool all = std::all_of(plan_->stages[s].begin(), plan_->stages[s].end(), [&](NodeIndex node) {
            last_s = std::max(last_s, sums_s_[node]);
            return sums_s_[node] >= 0 && sums_s_[node] <= progress.at_s;
        });
        if (all) progress.stage_stepped_s[s] = last_s + network_.step_seconds;
    }
}

}  // namespace skippipe
