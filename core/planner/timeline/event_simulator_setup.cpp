// SPDX-License-Identifier: GPL-3.0-or-later
// What a simulation begins with.
#include <algorithm>

#include "core/base/index.h"
#include "core/planner/timeline/event_simulator.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

EventSimulator::EventSimulator(const Problem& problem) : problem_(problem), queues_(problem) {
    nodes_.resize(at(problem.nodes()));
    // The next event is found in two steps, the least of each group and the least of those: about 2 sqrt(n) comparisons
    // without a branch (which node is next cannot be predicted).
    while ((4 << group_shift_) * (4 << group_shift_) < problem.nodes()) ++group_shift_;
    const std::size_t group = std::size_t{4} << group_shift_;
    const std::size_t groups = (at(problem.nodes()) + group - 1) / group;
    events_.resize(groups * group, never);
    group_events_.resize((groups + 3) / 4 * 4, never);
    line_free_s_.resize(problem.line_names.size());
    visits_.resize(at(problem.nodes()));
}

void EventSimulator::prepare(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                             const PerRelease<double>& relative_sizes) {
    flat_ = &flat;
    sizes_ = &relative_sizes;
    sized_ = !relative_sizes.empty();
    length_ = flat.length;
    split_ = flat.split_backward;
    const int count = flat.count(), steps = 2 * length_ + 1;
    std::fill(events_.begin(), events_.end(), never);
    std::fill(group_events_.begin(), group_events_.end(), never);
    if (problem_.shared_links) std::fill(line_free_s_.begin(), line_free_s_.end(), 0.0);
    std::fill(visits_.begin(), visits_.end(), 0);
    for (const NodeIndex node : flat.nodes) ++visits_[node];
    route_.resize(at(count) * at(steps));
    for (ReleaseIndex i = 0; i < count; ++i)
        for (int step = 0; step < steps; ++step) route_[at(i * steps + step)] = step_node(flat.path(i), length_, step);
    prepare_nodes();
    number_ = static_cast<std::uint32_t>(count);
    operations_left_ = count * steps + (split_ ? count * length_ : 0);
    if (!flat.order.empty()) prepare_order();
    transit_events_.clear();
    passing_.clear();
    if (problem_.has_uplinks()) queues_.clear();
    stages_ = problem_.plan_reductions ? &stages : nullptr;
    if (stages_ != nullptr) prepare_reductions(stages);
}

void EventSimulator::prepare_nodes() {
    // A slice a queue: forwards; losses and backwards (own microbatches bring two); what was made ready locally.
    const int count = flat_->count(), local = length_ == 1 ? 3 : 1;
    items_.resize(at(count) * at(length_) * at(3 + local) + nodes_.size() * 3);
    own_.resize(at(count));
    int item = 0, own = 0;
    const auto slice = [&](Queue& queue, int size) {
        queue.head = queue.tail = item;
        items_[at(item)] = never;
        item += size + 1;
    };
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        auto& state = nodes_[n];
        const int visits = visits_[n];
        const StageIndex stage = flat_->stage_of[n];
        slice(state.forward, visits);
        slice(state.other, 2 * visits);
        slice(state.local, local * visits);
        state.held = state.own_next = state.own_end = state.order_next = 0;
        state.busy = false;
        state.memory = problem_.memory[n];
        state.last_end_s = -1;
        if (stage < 0) continue;
        const auto seconds = operation_seconds(problem_, n, stage, backward_of(split_));
        for (int kind = 0; kind < 3; ++kind) state.duration_s[kind] = seconds[kind];
        if (stage != 0) continue;
        state.own_next = state.own_end = own;
        own += visits;
    }
    for (ReleaseIndex i = 0; i < count; ++i) own_[at(nodes_[flat_->path(i)[0]].own_end++)] = i;
}

void EventSimulator::prepare_order() {
    order_keys_.assign(at(flat_->count()) * at(2 * length_ + 1) * 2, never);
    for (ReleaseIndex i = 0; i < flat_->count(); ++i) {
        const auto operation = pack(i, 0);
        order_keys_[slot(operation)] = make_key(0, static_cast<std::uint32_t>(i), operation);
    }
}

}  // namespace skippipe
