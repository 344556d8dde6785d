// SPDX-License-Identifier: GPL-3.0-or-later
// Planned reductions under the virtual clock: over the lines of the drawn network, in the queues of the messages.
#include <algorithm>

#include "core/base/index.h"
#include "core/engine/virtual_clock.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

void VirtualClock::begin_reductions() {
    pieces_ = flatten(problem_, schedule_.plan).reductions;  // not those of a rest before
    reductions_.prepare(problem_, stages_, pieces_);
    operations_left_.assign(at(problem_.nodes()), 0);
    own_part_s_.assign(at(problem_.nodes()), 0.0);
    parts_later_.clear();
    for (const auto& path : schedule_.plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
            operations_left_[path.nodes[hop]] += (schedule_.plan.split_backward ? 3 : 2) + (hop == 0 ? 1 : 0);
    reduces_.assign(stages_.size(), 0);
    sums_missing_.clear();
    for (StageIndex stage = 0; at(stage) < stages_.size(); ++stage) {
        const auto& nodes = stages_[stage];
        reduces_[stage] =
            std::any_of(nodes.begin(), nodes.end(), [&](NodeIndex node) { return operations_left_[node] > 0; });
        sums_missing_.push_back(nodes.size());
    }
    stepped_s_.assign(stages_.size(), -1.0);
    reductions_begun_ = false;
    part_ready_ = -1;
}

/// What has not ended begins with the rest; what travels of it is of no use.
void VirtualClock::begin_reductions_anew(const Replan& rest) {
    pieces_ = rest.residual_plan.reductions;
    reductions_.prepare(network_, stages_, pieces_);
    operations_left_ = operations_left(rest.residual, rest.residual_plan.nodes, problem_.nodes());
    reduces_ = stages_to_reduce(rest.residual, stages_, operations_left_);
    for (StageIndex stage = 0; at(stage) < stages_.size(); ++stage) {
        if (reduces_[stage] == 0) continue;
        stepped_s_[stage] = -1;
        sums_missing_[stage] = stages_[stage].size();
    }
    std::erase_if(*spans_, [&](const Span& span) {
        return (span.kind == SpanKind::all_reduce || span.kind == SpanKind::step) && reduces_[span.stage] != 0;
    });
    now_s_ = rest.residual.at_s;
    reductions_begun_ = false;
    part_ready_ = -1;
}

/// Before an event: what the one before has made ready. A node hands on what its last operation gave before its part.
void VirtualClock::start_reductions(std::uint64_t& next_number) {
    if (!std::exchange(reductions_begun_, true))
        for (StageIndex stage = 0; at(stage) < stages_.size(); ++stage)
            for (const NodeIndex node : stages_[stage])
                if (reduces_[stage] != 0 && operations_left_[node] == 0) own_part_there(node, next_number);
    if (const NodeIndex node = std::exchange(part_ready_, NodeIndex(-1)); node >= 0) own_part_there(node, next_number);
}

void VirtualClock::own_part_there(NodeIndex node, std::uint64_t& next_number) {
    if (lost_[at(node)] != 0) return;
    own_part_s_[node] = now_s_;
    reductions_.own_part(
        node,
        [&](NodeIndex from, NodeIndex to, StageIndex, double, std::uint32_t slot) {
            hand_over_part(from, to, slot, next_number);
        },
        [&](NodeIndex whole) { sums_there(whole); });
}

double VirtualClock::part_bytes(std::uint32_t slot) const {
    const auto part = reductions_.handed(slot);
    return pieces_[part.stage][at(part.piece)].share * problem_.gradient_bytes[part.stage];
}

double VirtualClock::part_s(const Event& event) const {
    return durations_ ? durations_->part_s(event.from, event.node, part_bytes(*event.slot)) : 0;
}

void VirtualClock::work_for(const Event& part) {
    parts_later_.push_back(part);
    run_parts();
}

void VirtualClock::run_parts() {
    for (std::size_t i = 0; i < parts_later_.size();) {
        Event part = parts_later_[i];
        if (admission_ && !admission_->enter_part(worker_of(part))) {
            ++i;
            continue;
        }
        parts_later_.erase(parts_later_.begin() + static_cast<std::ptrdiff_t>(i));
        part.time_s = now_s_ + part_s(part);
        push(part);
    }
}

void VirtualClock::reduction_goes_on(const Event& event, std::uint64_t& next_number) {
    if (event.part == Event::Part::arrives) {
        if (part_s(event) <= 0) return reduction_arrived(event, next_number);
        Event taken = event;
        taken.part = Event::Part::is_taken;
        return work_for(taken);
    }
    if (admission_) admission_->leave_part(worker_of(event));
    if (event.part == Event::Part::leaves)
        part_leaves(event);
    else
        reduction_arrived(event, next_number);
}

void VirtualClock::reduction_arrived(const Event& event, std::uint64_t& next_number) {
    reductions_.arrived(
        *event.slot,
        [&](NodeIndex from, NodeIndex to, StageIndex, double, std::uint32_t slot) {
            hand_over_part(from, to, slot, next_number);
        },
        [&](NodeIndex whole) { sums_there(whole); });
}

void VirtualClock::hand_over_part(NodeIndex from, NodeIndex to, std::uint32_t slot, std::uint64_t& next_number) {
    Event part{.number = next_number++, .node = to, .from = from, .slot = slot};
    if (part_s(part) <= 0) return part_leaves(part);
    part.part = Event::Part::leaves;
    work_for(part);
}

void VirtualClock::part_leaves(const Event& part) {
    Event arrival = part;
    arrival.part = Event::Part::arrives;
    const NodeIndex from(part.from), to(part.node);
    const double bytes = part_bytes(*part.slot);
    carry(lines_.reduction(from, to, bytes, now_s_, iteration_, static_cast<int>(*part.slot)), arrival,
          {SpanKind::transfer_reduction, from, to, reductions_.handed(*part.slot).stage, -1, now_s_, now_s_, now_s_,
           bytes});
}

void VirtualClock::sums_there(NodeIndex node) {
    const StageIndex stage = stage_of_[node];
    const double begin_s = own_part_s_[node];
    if (--sums_missing_[stage] == 0) stepped_s_[stage] = now_s_ + problem_.step_seconds;
    spans_->push_back({SpanKind::all_reduce, node, -1, stage, -1, begin_s, begin_s, now_s_, 0});
    spans_->push_back({SpanKind::step, node, -1, stage, -1, now_s_, now_s_, now_s_ + problem_.step_seconds, 0});
}

}  // namespace skippipe
