// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/event_simulator.h"

#include <algorithm>
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

EventSimulator::EventSimulator(const Problem& problem) : problem_(problem) {
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

void EventSimulator::prepare(const FlatPlan& flat, const PerRelease<double>& relative_sizes) {
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

/// Place of an operation in the table of the ordered simulation: two (itself and its W) a step.
std::size_t EventSimulator::slot(std::uint32_t operation) const {
    const int step = packed_step(operation);
    return (at(packed_index(operation)) * at(2 * length_ + 1) + at(step & ~weight_gradient_bit)) * 2 +
           ((step & weight_gradient_bit) != 0 ? 1 : 0);
}

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

template <bool Ordered, bool Record>
inline void EventSimulator::hand_over(NodeIndex from, std::uint32_t operation, double now_s) {
    const ReleaseIndex index = packed_index(operation);
    const int step = packed_step(operation);
    const NodeIndex to = route_[at(index * (2 * length_ + 1) + step)];
    if (to == from) return ready_at_once<Ordered>(to, operation, now_s);
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
    const EventKey key = make_key(arrival_s, number_++, operation);
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

void EventSimulator::record_operation(NodeIndex node, double now_s) {
    const auto& state = nodes_[node];
    const int step = packed_step(state.running);
    const ReleaseIndex index = packed_index(state.running);
    const bool weight = (step & weight_gradient_bit) != 0;
    const auto kind = weight            ? SpanKind::weight_gradient
                      : step < length_  ? SpanKind::forward
                      : step == length_ ? SpanKind::loss
                      : split_          ? SpanKind::input_gradient
                                        : SpanKind::backward;
    record_->spans.push_back(
        {kind, node, -1, flat_->stage_of[node], flat_->microbatches[index], state.ready_s, state.started_s, now_s, 0});
    record_->busy_s += now_s - state.started_s;
}

template <bool Ordered, bool Local, bool Record>
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
        if (!weight && step < 2 * length_) hand_over<Ordered, Record>(node, operation + 1, now_s);
        if (splits && !weight && step > length_) ready_at_once<Ordered>(node, operation | weight_gradient_bit, now_s);
    }
    dispatch<Ordered, Local>(node, now);
}

template <bool Ordered, bool Local, bool Record>
bool EventSimulator::loop(double cutoff_s) {
    for (ReleaseIndex i = 0; i < flat_->count(); ++i) {
        const NodeIndex node = flat_->path(i)[0];
        if (!nodes_[node].busy) dispatch<Ordered, Local>(node, make_key(0, static_cast<std::uint32_t>(i), 0));
    }
    const EventKey cutoff = make_key(cutoff_s, 0, 0);
    while (true) {
        const EventKey now = least(group_events_.data(), group_events_.size());
        if (now >= cutoff) break;
        handle<Ordered, Local, Record>(NodeIndex(payload_of(now)), now);
    }
    return operations_left_ == 0;
}

bool EventSimulator::simulate(double cutoff_s, PerNode<double>& node_end_s) {
    const bool ordered = !flat_->order.empty(), local = split_ || length_ == 1, record = record_ != nullptr;
    const bool done = record    ? (ordered ? loop<true, true, true>(cutoff_s) : loop<false, true, true>(cutoff_s))
                      : ordered ? loop<true, true, false>(cutoff_s)
                      : local   ? loop<false, true, false>(cutoff_s)
                                : loop<false, false, false>(cutoff_s);
    node_end_s.resize(nodes_.size());
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) node_end_s[n] = nodes_[n].last_end_s;
    return done;
}

bool EventSimulator::run(const FlatPlan& flat, const PerRelease<double>& relative_sizes, double cutoff_s,
                         PerNode<double>& node_end_s) {
    prepare(flat, relative_sizes);
    return simulate(cutoff_s, node_end_s);
}

bool EventSimulator::record(const FlatPlan& flat, const PerRelease<double>& relative_sizes, Timeline& timeline,
                            PerNode<double>& node_end_s) {
    record_ = &timeline;
    prepare(flat, relative_sizes);
    const bool complete = simulate(std::numeric_limits<double>::infinity(), node_end_s);
    record_ = nullptr;
    if (!complete) describe_blocked(timeline);
    return complete;
}

std::string EventSimulator::name_of(std::uint32_t operation) const {
    const int step = packed_step(operation);
    const char* kind = step < length_                      ? "F"
                       : step == length_                   ? "L"
                       : (step & weight_gradient_bit) != 0 ? "W"
                       : split_                            ? "I"
                                                           : "B";
    return kind + std::to_string(flat_->microbatches[packed_index(operation)]);
}

void EventSimulator::describe_blocked(Timeline& timeline) const {
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        const auto& state = nodes_[n];
        const std::string held = " waits for memory: it holds " + std::to_string(state.held) + " of " +
                                 std::to_string(state.memory) + " microbatches (TC1)";
        std::string waits;
        if (!flat_->order.empty()) {
            const auto& order = flat_->order[n];
            if (at(state.order_next) >= order.size()) continue;
            const auto operation = order[at(state.order_next)];
            waits = "its order puts " + name_of(operation) + " next, which" +
                    (order_keys_[slot(operation)] != never ? held : " never receives its input");
        } else if (items_[at(state.forward.head)] != never) {
            waits = name_of(payload_of(items_[at(state.forward.head)])) + held;
        } else if (state.own_next < state.own_end) {
            waits = name_of(pack(own_[at(state.own_next)], 0)) + held;
        } else {
            continue;
        }
        timeline.blocked.push_back(problem_.node_ids[n] + ": " + waits);
    }
}

}  // namespace skippipe
