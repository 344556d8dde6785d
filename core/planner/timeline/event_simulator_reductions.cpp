// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions of a simulation: they take the lines as activations do, and no time of a node.
#include <algorithm>

#include "core/base/index.h"
#include "core/planner/timeline/event_simulator.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

void EventSimulator::prepare_reductions(const PerStage<std::vector<NodeIndex>>& stages) {
    reductions_.prepare(problem_, stages, flat_->reductions);
    reduced_s_ = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n)
        nodes_[n].operations_left = visits_[n] * ((split_ ? 3 : 2) + (flat_->stage_of[n] == 0 ? 1 : 0));
}

/// Replicas that no path visits though their stage is visited have their part, which is nothing, from the start.
void EventSimulator::start_idle_replicas() {
    for (const auto& stage : *stages_) {
        if (std::all_of(stage.begin(), stage.end(), [&](const NodeIndex n) { return visits_[n] == 0; })) continue;
        for (const NodeIndex n : stage)
            if (visits_[n] == 0) own_part_there(n, 0);
    }
}

void EventSimulator::own_part_there(NodeIndex node, double now_s) {
    nodes_[node].ready_s = now_s;  // from now on of its reduction
    reductions_.own_part(
        node,
        [&](NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot) {
            hand_over_part(from, to, stage, bytes, slot, now_s);
        },
        [&](NodeIndex whole) { sums_there(whole, now_s); });
}

void EventSimulator::part_or_sum_there(EventKey now) {
    const double now_s = time_of(now);
    reductions_.arrived(
        payload_of(now),
        [&](NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot) {
            hand_over_part(from, to, stage, bytes, slot, now_s);
        },
        [&](NodeIndex whole) { sums_there(whole, now_s); });
}

void EventSimulator::hand_over_part(NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot,
                                    double now_s) {
    const std::uint32_t number = number_++;
    if (problem_.has_uplinks()) {
        const std::uint32_t index = begin_passage(passage_of(problem_, from, to, bytes), slot, true, now_s);
        if (enter_next_queue(index, number, now_s))
            push_transit(make_key(passing_[index].passage.arrival_s, number, slot));
        return;
    }
    const Transfer transfer = carry(problem_, problem_.hop(from, to), bytes, now_s, line_free_s_);
    push_transit(make_key(transfer.arrival_s, number, slot));
    if (record_ != nullptr)
        record_->spans.push_back(
            {SpanKind::transfer_reduction, from, to, stage, -1, now_s, transfer.start_s, transfer.arrival_s, bytes});
}

void EventSimulator::sums_there(NodeIndex node, double now_s) {
    reduced_s_ = std::max(reduced_s_, now_s);
    if (record_ == nullptr) return;
    const StageIndex stage = flat_->stage_of[node];
    const double begin_s = nodes_[node].ready_s;
    record_->spans.push_back({SpanKind::all_reduce, node, -1, stage, -1, begin_s, begin_s, now_s, 0});
    record_->spans.push_back({SpanKind::step, node, -1, stage, -1, now_s, now_s, now_s + problem_.step_seconds, 0});
}

}  // namespace skippipe
