// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/event_simulator.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

namespace {

/// The least of a multiple of four.
inline EventKey least(const EventKey* keys, std::size_t count) {
    EventKey low = earlier(keys[0], keys[1]), high = earlier(keys[2], keys[3]);
    for (std::size_t i = 4; i < count; i += 4) {
        low = earlier(low, earlier(keys[i], keys[i + 1]));
        high = earlier(high, earlier(keys[i + 2], keys[i + 3]));
    }
    return earlier(low, high);
}

}  // namespace

inline void EventSimulator::insert(Queue& queue, EventKey key) {
    int place = queue.tail++;
    items_[at(place + 1)] = never;
    while (place > queue.head && key < items_[at(place - 1)]) {
        items_[at(place)] = items_[at(place - 1)];
        --place;
    }
    items_[at(place)] = key;
}

inline void EventSimulator::set_event(NodeIndex node, EventKey key) {
    events_[at(node)] = key;
    const std::size_t group = at(node) >> (group_shift_ + 2);
    group_events_[group] = least(&events_[group << (group_shift_ + 2)], std::size_t{4} << group_shift_);
}

inline void EventSimulator::start(NodeIndex node, std::uint32_t operation, double ready_s, EventKey now) {
    auto& state = nodes_[node];
    const int step = packed_step(operation);
    state.held += step < length_ ? 1 : 0;
    state.running = operation;
    state.ready_s = ready_s;
    state.started_s = time_of(now);
    state.busy = true;
    double duration_s = state.duration_s[kind_of_step(step, length_)];
    if (sized_) duration_s *= (*sizes_)[packed_index(operation)];
    set_event(node, make_key(state.started_s + duration_s, number_++, static_cast<std::uint32_t>(node)));
}

template <bool Ordered, bool Local>
inline void EventSimulator::dispatch(NodeIndex node, EventKey now) {
    auto& state = nodes_[node];
    const bool admits = state.held < state.memory;
    if constexpr (Ordered) {
        const auto& order = flat_->order[node];
        set_event(node, never);
        if (at(state.order_next) >= order.size()) return;
        const auto operation = order[at(state.order_next)];
        if (packed_step(operation) < length_ && !admits) return;
        const EventKey item = order_keys_[slot(operation)];
        if (handled_by(item, now)) {
            ++state.order_next;
            start(node, operation, time_of(item), now);
        } else if (item != never) {
            set_event(node, with_payload(item, node));
        }
        return;
    }
    const EventKey other = items_[at(state.other.head)];
    const EventKey forward = admits ? items_[at(state.forward.head)] : never;
    EventKey best = earlier(other, forward);
    if constexpr (Local) {
        const EventKey local = items_[at(state.local.head)];  // ready at once, whatever its number
        if (local != never && !(handled_by(best, now) && best < local)) {
            ++state.local.head;
            start(node, payload_of(local), time_of(local), now);
            return;
        }
    }
    if (handled_by(best, now)) {
        const int from_forward = best == forward ? 1 : 0;
        state.forward.head += from_forward;
        state.other.head += 1 - from_forward;
        start(node, payload_of(best), time_of(best), now);
    } else if (admits && state.own_next < state.own_end) {
        start(node, pack(own_[at(state.own_next++)], 0), 0, now);
    } else {
        set_event(node, best == never ? never : with_payload(best, node));
    }
}

template <bool Ordered>
inline void EventSimulator::ready_at_once(NodeIndex node, std::uint32_t operation, double now_s) {
    if constexpr (Ordered) {
        order_keys_[slot(operation)] = make_key(now_s, 0, operation);
        ++number_;
    } else {
        insert(nodes_[node].local, make_key(now_s, number_++, operation));
    }
}

template <bool Ordered>
inline void EventSimulator::deliver(NodeIndex to, std::uint32_t operation, EventKey key) {
    const int step = packed_step(operation);
    auto& target = nodes_[to];
    if constexpr (Ordered) {
        order_keys_[slot(operation)] = key;
        const auto& order = flat_->order[to];
        if (target.busy || at(target.order_next) >= order.size() || order[at(target.order_next)] != operation) return;
    } else {
        insert(step < length_ ? target.forward : target.other, key);
    }
    const bool wakes = !target.busy && (step >= length_ || target.held < target.memory);
    if (wakes) set_event(to, earlier(events_[at(to)], with_payload(key, to)));
}

template <bool Ordered, bool Record, bool Transit>
inline void EventSimulator::hand_over(NodeIndex from, std::uint32_t operation, double now_s) {
    const ReleaseIndex index = packed_index(operation);
    const int step = packed_step(operation);
    const NodeIndex to = route_[at(index * (2 * length_ + 1) + step)];
    if (to == from) return ready_at_once<Ordered>(to, operation, now_s);
    if constexpr (Transit) {
        if (problem_.has_uplinks()) {
            const auto passage = passage_of(problem_, from, to, step, length_, sized_ ? (*sizes_)[index] : 1);
            const std::uint32_t number = number_++, at_queue = begin_passage(passage, operation, false, now_s);
            if (enter_next_queue(at_queue, number, now_s))
                deliver<Ordered>(to, operation, make_key(passing_[at_queue].passage.arrival_s, number, operation));
            return;
        }
    }
    const Hop& hop = problem_.hop(from, to);
    const bool forwards = comes_forward(step, length_);
    double transfer_s = transfer_seconds(hop, step, length_);
    if (sized_) transfer_s *= (*sizes_)[index];
    double start_s = now_s, arrival_s = 0;
    if (problem_.shared_links) {
        auto& line_free_s = line_free_s_[at(hop.line)];
        start_s = take_line(now_s, transfer_s, line_free_s);
        arrival_s = shared_arrival_seconds(line_free_s, hop.latency_s, problem_.overhead_s);
    } else {
        arrival_s = arrival_seconds(now_s, hop.latency_s, problem_.overhead_s, transfer_s);
    }
    if constexpr (Record)
        record_->spans.push_back(
            {forwards ? SpanKind::transfer_forward : SpanKind::transfer_backward, from, to, flat_->stage_of[to],
             flat_->microbatches[index], now_s, start_s, arrival_s,
             (forwards ? problem_.forward_bytes : problem_.backward_bytes) * (sized_ ? (*sizes_)[index] : 1)});
    deliver<Ordered>(to, operation, make_key(arrival_s, number_++, operation));
}

/// What was handed over with that slot is there, or a head is at its next queue.
template <bool Ordered>
void EventSimulator::handle_transit() {
    std::pop_heap(transit_events_.begin(), transit_events_.end(), std::greater<>{});
    const EventKey now = transit_events_.back();
    transit_events_.pop_back();
    if ((payload_of(now) & head_bit) == 0) return part_or_sum_there(now);
    const std::uint32_t index = payload_of(now) & ~head_bit, number = number_of(now);
    if (!enter_next_queue(index, number, time_of(now))) return;
    const Passing& passing = passing_[index];
    const EventKey key = make_key(passing.passage.arrival_s, number, passing.payload);
    passing.reduction ? push_transit(key) : deliver<Ordered>(passing.passage.to, passing.payload, key);
}

template <bool Ordered, bool Local, bool Record, bool Transit>
inline void EventSimulator::handle(NodeIndex node, EventKey now) {
    auto& state = nodes_[node];
    if (state.busy) {
        const double now_s = time_of(now);
        const auto operation = state.running;
        const int step = packed_step(operation);
        if constexpr (Record) record_operation(node, now_s);
        const bool weight = Local && (step & weight_gradient_bit) != 0;
        state.busy = false;
        state.last_end_s = now_s;
        --operations_left_;
        const bool splits = Local && split_;
        state.held -= step > length_ && (weight || !splits) ? 1 : 0;
        if (!weight && step < 2 * length_) hand_over<Ordered, Record, Transit>(node, operation + 1, now_s);
        if (splits && !weight && step > length_) ready_at_once<Ordered>(node, operation | weight_gradient_bit, now_s);
        if constexpr (Transit)
            if (stages_ != nullptr && --state.operations_left == 0) own_part_there(node, now_s);
    }
    dispatch<Ordered, Local>(node, now);
}

template <bool Ordered, bool Local, bool Record, bool Transit>
bool EventSimulator::loop(double cutoff_s) {
    if constexpr (Transit)
        if (stages_ != nullptr) start_idle_replicas();
    for (ReleaseIndex i = 0; i < flat_->count(); ++i) {
        const NodeIndex node = flat_->path(i)[0];
        if (!nodes_[node].busy) dispatch<Ordered, Local>(node, make_key(0, static_cast<std::uint32_t>(i), 0));
    }
    const EventKey cutoff = make_key(cutoff_s, 0, 0);
    while (true) {
        const EventKey now = least(group_events_.data(), group_events_.size());
        if constexpr (Transit) {
            if (!transit_events_.empty() && transit_events_.front() < now) {
                if (transit_events_.front() >= cutoff) return false;
                handle_transit<Ordered>();
                continue;
            }
        }
        if (now >= cutoff) break;
        handle<Ordered, Local, Record, Transit>(NodeIndex(payload_of(now)), now);
    }
    return operations_left_ == 0;
}

bool EventSimulator::simulate(double cutoff_s, PerNode<double>& node_end_s) {
    const bool ordered = !flat_->order.empty(), local = split_ || length_ == 1, record = record_ != nullptr;
    const bool done =
        stages_ != nullptr || problem_.has_uplinks()
            ? record ? (ordered ? loop<true, true, true, true>(cutoff_s) : loop<false, true, true, true>(cutoff_s))
                     : (ordered ? loop<true, true, false, true>(cutoff_s) : loop<false, true, false, true>(cutoff_s))
        : record  ? (ordered ? loop<true, true, true, false>(cutoff_s) : loop<false, true, true, false>(cutoff_s))
        : ordered ? loop<true, true, false, false>(cutoff_s)
        : local   ? loop<false, true, false, false>(cutoff_s)
                  : loop<false, false, false, false>(cutoff_s);
    node_end_s.resize(nodes_.size());
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) node_end_s[n] = nodes_[n].last_end_s;
    return done;
}

bool EventSimulator::run(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                         const PerRelease<double>& relative_sizes, double cutoff_s, PerNode<double>& node_end_s) {
    prepare(flat, stages, relative_sizes);
    return simulate(cutoff_s, node_end_s);
}

bool EventSimulator::record(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                            const PerRelease<double>& relative_sizes, Timeline& timeline, PerNode<double>& node_end_s) {
    record_ = &timeline;
    prepare(flat, stages, relative_sizes);
    const bool complete = simulate(std::numeric_limits<double>::infinity(), node_end_s);
    record_ = nullptr;
    if (!complete) describe_blocked(timeline);
    return complete;
}

}  // namespace skippipe
