// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/residual_simulator.h"

#include <algorithm>
#include <functional>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

ResidualSimulator::ResidualSimulator(const Problem& network, const Residual& residual, const Problem& before,
                                     const PerStage<std::vector<NodeIndex>>& stages_before)
    : network_(network),
      residual_(residual),
      before_(before),
      stages_before_(stages_before),
      steps_(residual.steps()),
      nodes_(at(network.nodes())),
      queues_(network) {
    left_at_start_ = static_cast<int>(residual.operations_left());
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        int& left = left_of_at_start_.emplace_back(steps_ - residual.next_step[i]);
        for (int step = 0; step < steps_; ++step) left += residual.redone(i, step) ? 1 : 0;
    }
    std::vector<int> furthest_first;
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        if (residual.begin[i] != Residual::Begin::finished) furthest_first.push_back(i);
    std::stable_sort(furthest_first.begin(), furthest_first.end(),
                     [&](int a, int b) { return residual.next_step[at(a)] > residual.next_step[at(b)]; });
    rank_.assign(at(residual.count()), 0);
    for (int r = 0; r < static_cast<int>(furthest_first.size()); ++r) rank_[at(furthest_first[at(r)])] = r;
}

void ResidualSimulator::push(const Event& event) {
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), std::greater<>{});
}

void ResidualSimulator::prepare(const ResidualPlan& plan) {
    plan_ = &plan;
    for (NodeIndex n = 0; n < network_.nodes(); ++n) {
        auto& node = nodes_[n];
        node.held = residual_.held[n];
        node.busy = false;
        node.order_next = 0;
        node.forward.clear();
        node.other.clear();
        node.own.clear();
    }
    events_.clear();
    number_ = static_cast<std::uint32_t>(std::max(residual_.open.size(), residual_.begin.size()));
    left_ = left_at_start_;
    operations_ += plan.order.empty() ? left_at_start_ / 8 : left_at_start_;  // what it costs to begin
    windowed_ = plan.window != std::numeric_limits<int>::max();
    window_end_ = plan.window;
    makespan_ = 0;
    redo_ = residual_.redo;
    left_of_ = left_of_at_start_;
    if (network_.shared_links) {
        line_free_ = residual_.line_free_s;
        line_free_.resize(network_.line_names.size(), 0.0);
    }
    passing_.clear();
    if (network_.has_uplinks()) queues_.restore(line_free_);
    stage_end_ = residual_.stage_end_s;
    for (const double end_s : stage_end_) makespan_ = std::max(makespan_, end_s);
    microbatch_end_.assign(residual_.begin.size(), residual_.at_s);
    busy_.assign(nodes_.size(), 0.0);
    started_.resize(nodes_.size());
    for (auto& ids : started_) ids.clear();
    if (network_.plan_reductions) prepare_reductions();
    listed_.clear();
    if (plan.order.empty()) return;
    listed_.assign(residual_.begin.size() * at(steps_) * 3, 0);
    listed_ready_.assign(listed_.size(), {0, 0, -1});
    for (const auto& ids : plan.order)
        for (const int id : ids) listed_[at(id)] = 1;
}

/// What was on its way, waiting or running goes on.
void ResidualSimulator::restore_open() {
    for (std::uint32_t number = 0; number < residual_.open.size(); ++number) {
        const auto& open = residual_.open[number];
        const NodeIndex node = node_of(open.index, open.step);
        const int operation = id(open.index, open.step, open.weight ? weight : open.redo ? redo : plain);
        if (open.redo) redo_[slot(open.index, open.step)] |= input_sent;
        if (open.running) {
            nodes_[node].busy = true;
            nodes_[node].ready_s = open.ready_s;
            nodes_[node].start_s = open.start_s;
            busy_[node] += open.end_s - residual_.at_s;
            push({open.end_s, number, node, operation, false});
        } else if (open.ready_s <= residual_.at_s) {
            if (open.weight)
                ready(node, {open.ready_s, number, operation});
            else
                arrive(node, operation, open.ready_s, number);
        } else {
            push({open.ready_s, number, node, operation, true});
        }
    }
}

/// What has not started lies on its data node since the start, or since it was moved there.
void ResidualSimulator::release_fresh() {
    for (ReleaseIndex i = 0; i < residual_.count(); ++i) {
        if (residual_.begin[i] != Residual::Begin::fresh) continue;
        const NodeIndex node = node_of(i, 0);
        const bool moved = node != residual_.before[at(i * residual_.length)];
        ready(node, {moved ? residual_.at_s : residual_.fresh_s[i], static_cast<std::uint32_t>(i), id(i, 0)});
    }
}

/// Nodes that joined work once they have their weights.
void ResidualSimulator::release_joined() {
    for (NodeIndex n = 0; n < network_.nodes(); ++n) {
        if (residual_.available_s[n] <= residual_.at_s || residual_.down[n] != 0) continue;
        nodes_[n].busy = true;
        push({residual_.available_s[n], number_++, n, weights_id, false});
    }
}

/// What was lost comes again from the nodes before; in release order.
void ResidualSimulator::send_again() {
    for (ReleaseIndex i = 0; i < residual_.count(); ++i) {
        if (residual_.begin[i] != Residual::Begin::underway) continue;
        for (int step = 0; step < steps_; ++step) {
            auto& flags = redo_[slot(i, step)];
            if ((flags & pending) == 0 || (flags & input_sent) != 0 ||
                (step > 0 && (redo_[slot(i, step - 1)] & pending) != 0))
                continue;
            flags |= input_sent;
            if (step == 0)
                ready(node_of(i, 0), {residual_.at_s, number_++, id(i, 0, redo)});
            else
                send(node_of(i, step - 1), i, step, redo, residual_.at_s);
        }
        const int step = residual_.next_step[i];
        if (residual_.resend[i] != 0) send(node_of(i, step - 1), i, step, plain, residual_.at_s);
    }
}

double ResidualSimulator::duration_s(NodeIndex node, int id) const {
    const auto seconds =
        operation_seconds(network_, node, plan_->stage_of[node], backward_of(residual_.split_backward));
    return seconds[kind_of_step(step_of(id), residual_.length)] * relative_size(index_of(id));
}

void ResidualSimulator::ready(NodeIndex node, const Item& item) {
    if (!listed_.empty() && listed_[at(item.id)] != 0) {
        listed_ready_[at(item.id)] = item;
        return;
    }
    auto& state = nodes_[node];
    auto& heap = is_fresh(item.id) ? state.own : is_forward(item.id) ? state.forward : state.other;
    heap.push_back(item);
    if (!windowed_ || &heap == &state.other) std::push_heap(heap.begin(), heap.end(), std::greater<>{});
}

/// The input of an operation has come. A backward whose forward is still to be redone waits for that.
void ResidualSimulator::arrive(NodeIndex node, int id, double now_s, std::uint32_t number) {
    if (step_of(id) > residual_.length) {
        auto& forward = redo_[slot(index_of(id), forward_of(step_of(id)))];
        if ((forward & pending) != 0) {
            forward |= gradient_waits;
            return;
        }
    }
    ready(node, {now_s, number, id});
}

/// A rest that would go over a line that is cut is none.
void ResidualSimulator::check_linked(NodeIndex from, NodeIndex to) const {
    if (!network_.reachable(from, to))
        throw InputError("replan", network_.unlinked_words(from, to), "what is left would go there",
                         "Let the link come back, or draw another one");
}

void ResidualSimulator::send(NodeIndex from, ReleaseIndex index, int step, Variant variant, double now_s) {
    const NodeIndex to = node_of(index, step);
    if (to == from) return arrive(to, id(index, step, variant), now_s, number_++);
    check_linked(from, to);
    if (network_.has_uplinks())
        return begin_passage(passage_of(network_, from, to, step, residual_.length, relative_size(index)),
                             id(index, step, variant), 0, now_s);
    const Hop& hop = network_.hop(from, to);
    const bool forwards = comes_forward(step, residual_.length);
    const double size = relative_size(index), transfer_s = transfer_seconds(hop, step, residual_.length) * size;
    double start_s = now_s, arrival_s = 0;
    if (network_.shared_links) {
        auto& line_free_s = line_free_[at(hop.line)];
        start_s = take_line(now_s, transfer_s, line_free_s);
        arrival_s = shared_arrival_seconds(line_free_s, hop.latency_s, network_.overhead_s);
    } else {
        arrival_s = arrival_seconds(now_s, hop.latency_s, network_.overhead_s, transfer_s);
    }
    if (timeline_ != nullptr)
        timeline_->spans.push_back({forwards ? SpanKind::transfer_forward : SpanKind::transfer_backward, from, to,
                                    plan_->stage_of[to], residual_.microbatches[index], now_s, start_s, arrival_s,
                                    (forwards ? network_.forward_bytes : network_.backward_bytes) * size});
    push({arrival_s, number_++, to, id(index, step, variant), true});
}

/// Next of the node's order, where its input is there and memory admits it.
const ResidualSimulator::Item* ResidualSimulator::first_listed(NodeIndex node) const {
    if (listed_.empty()) return nullptr;
    const auto& state = nodes_[node];
    const auto& order = plan_->order[node];
    if (state.order_next >= order.size()) return nullptr;
    const Item& item = listed_ready_[at(order[state.order_next])];
    const bool admits = item.id >= 0 && (!is_forward(item.id) || state.held < network_.memory[node]);
    return admits ? &item : nullptr;
}

/// The queue whose first item dispatch chooses among those that no order binds; null where none may run.
std::vector<ResidualSimulator::Item>* ResidualSimulator::first_unlisted(Node& node, bool admits) const {
    std::vector<Item>* best = node.other.empty() ? nullptr : &node.other;
    if (admits && bring_to_front(node.forward) && (best == nullptr || best->front() > node.forward.front()))
        best = &node.forward;
    if (best == nullptr && admits && bring_to_front(node.own)) best = &node.own;
    return best;
}

/// With a window the forwards are no heap: the first that it allows is brought to the front. False where there is none.
bool ResidualSimulator::bring_to_front(std::vector<Item>& items) const {
    if (!windowed_ || items.empty()) return !items.empty();
    const auto first = std::min_element(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        const bool may_a = in_window(a.id), may_b = in_window(b.id);
        return may_a != may_b ? may_a : b > a;
    });
    std::iter_swap(items.begin(), first);
    return in_window(items.front().id);
}

void ResidualSimulator::dispatch(NodeIndex node, double now_s) {
    auto& state = nodes_[node];
    if (state.busy) return;
    auto* unlisted = first_unlisted(state, state.held < network_.memory[node]);
    const Item* listed = first_listed(node);
    if (listed != nullptr && unlisted != nullptr) {
        const bool fresh = is_fresh(listed->id), other_fresh = unlisted == &state.own;
        if (fresh != other_fresh ? fresh : *listed > unlisted->front()) listed = nullptr;
    }
    if (listed != nullptr) {
        ++state.order_next;
        return start(node, *listed, now_s);
    }
    if (unlisted == nullptr) return;
    const Item item = unlisted->front();
    if (windowed_ && unlisted != &state.other)
        std::iter_swap(unlisted->begin(), unlisted->end() - 1);
    else
        std::pop_heap(unlisted->begin(), unlisted->end(), std::greater<>{});
    unlisted->pop_back();
    start(node, item, now_s);
}

void ResidualSimulator::start(NodeIndex node, const Item& item, double now_s) {
    auto& state = nodes_[node];
    state.held += is_forward(item.id) ? 1 : 0;
    state.busy = true;
    state.ready_s = item.arrival_s;
    state.start_s = now_s;
    const double seconds = duration_s(node, item.id);
    busy_[node] += seconds;
    started_[node].push_back(item.id);
    push({now_s + seconds, number_++, node, item.id, false});
}

void ResidualSimulator::record(NodeIndex node, int id, double now_s) {
    const auto& state = nodes_[node];
    const int step = step_of(id);
    const auto kind = variant_of(id) == weight   ? SpanKind::weight_gradient
                      : is_forward(id)           ? SpanKind::forward
                      : step == residual_.length ? SpanKind::loss
                      : residual_.split_backward ? SpanKind::input_gradient
                                                 : SpanKind::backward;
    timeline_->spans.push_back({kind, node, -1, plan_->stage_of[node], residual_.microbatches[index_of(id)],
                                state.ready_s, state.start_s, now_s, 0});
    timeline_->busy_s += now_s - state.start_s;
}

void ResidualSimulator::finish(const Event& event) {
    auto& state = nodes_[event.node];
    state.busy = false;
    if (event.id < 0) return;  // it has its weights now
    const ReleaseIndex index = index_of(event.id);
    const int step = step_of(event.id);
    const auto variant = variant_of(event.id);
    if (timeline_ != nullptr) record(event.node, event.id, event.time_s);
    --left_;
    ++operations_;
    makespan_ = event.time_s;
    auto& stage_end_s = stage_end_[plan_->stage_of[event.node]];
    stage_end_s = std::max(stage_end_s, event.time_s);
    microbatch_end_[index] = event.time_s;
    const bool backward = variant != weight && step > residual_.length;
    state.held -= variant == weight || (backward && !residual_.split_backward) ? 1 : 0;
    if (variant != weight) finish_operation(index, step, variant, event);
    if (backward && residual_.split_backward) ready(event.node, {event.time_s, number_++, id(index, step, weight)});
    if (variant != weight && --left_of_[at(index)] == 0 && windowed_) ++window_end_;
    if (network_.plan_reductions && --operations_left_[event.node] == 0) own_part_there(event.node, event.time_s);
}

/// Hands on what an operation leaves: a plain one to the next step, a redone one to what else is redone.
void ResidualSimulator::finish_operation(ReleaseIndex index, int step, Variant variant, const Event& event) {
    if (variant == plain) {
        if (step + 1 < steps_) send(event.node, index, step + 1, plain, event.time_s);
        return;
    }
    auto* flags = &redo_[slot(index, step)];
    const bool gradient = (*flags & gradient_waits) != 0;
    *flags = 0;
    if (step + 1 < steps_ && (flags[1] & pending) != 0 && (flags[1] & input_sent) == 0) {
        flags[1] |= input_sent;
        send(event.node, index, step + 1, redo, event.time_s);
    }
    if (!gradient) return;
    const int back = forward_of(step);
    ready(event.node,
          {event.time_s, number_++, id(index, back, (redo_[slot(index, back)] & pending) != 0 ? redo : plain)});
}

void ResidualSimulator::handle(const Event& event) {
    if (event.id == part_id) return part_or_sum_there(event);
    if (event.id == head_id) return enter_next_queue(event.slot, event.number, event.time_s);
    if (event.arrives) {
        arrive(event.node, event.id, event.time_s, event.number);
    } else {
        const int before = window_end_;
        finish(event);
        for (NodeIndex n = 0; window_end_ != before && n < network_.nodes(); ++n)
            if (n != event.node) dispatch(n, event.time_s);
    }
    dispatch(event.node, event.time_s);
}

SimulatedTimes ResidualSimulator::times(const ResidualPlan& plan, double cutoff_s, Timeline* timeline) {
    timeline_ = timeline;
    prepare(plan);
    restore_open();
    release_fresh();
    release_joined();
    send_again();
    for (NodeIndex n = 0; n < network_.nodes(); ++n)
        if (residual_.down[n] == 0) dispatch(n, residual_.at_s);
    if (network_.plan_reductions) start_reductions();
    while (!events_.empty()) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
        const Event event = events_.back();
        if (capture_ != nullptr && event.time_s > capture_->at_s) {
            std::push_heap(events_.begin(), events_.end(), std::greater<>{});
            capture(*capture_);
            capture_ = nullptr;
            continue;
        }
        events_.pop_back();
        if (event.time_s >= cutoff_s) return {};
        handle(event);
    }
    if (capture_ != nullptr) capture(*capture_);
    capture_ = nullptr;
    if (timeline != nullptr) timeline->complete = left_ == 0;
    if (left_ != 0) return {};
    const SimulatedTimes result{makespan_, network_.plan_reductions
                                               ? reduced_iteration_s()
                                               : end(plan).iteration_s(stage_end_, makespan_, timeline)};
    if (timeline != nullptr) {
        timeline->makespan_s = result.makespan_s;
        timeline->iteration_s = result.iteration_s;
        for (const auto& span : timeline->spans) timeline->bytes += span.bytes;
    }
    return result;
}

IterationProgress ResidualSimulator::progress(const ResidualPlan& plan, double at_s) {
    IterationProgress progress{.at_s = at_s};
    capture_ = &progress;
    times(plan);
    capture_ = nullptr;
    if (network_.plan_reductions)
        capture_reductions(progress);
    else
        end(plan).capture(stage_end_, progress);
    return progress;
}

OpenOperation ResidualSimulator::open_of(int id, double ready_s) const {
    return {.index = index_of(id),
            .step = step_of(id),
            .weight = variant_of(id) == weight,
            .redo = variant_of(id) == redo,
            .ready_s = ready_s};
}

/// All events up to the instant are handled.
void ResidualSimulator::capture(IterationProgress& progress) const {
    std::vector<std::pair<std::uint32_t, OpenOperation>> open;
    for (const auto& event : events_) {
        if (event.id < 0) continue;
        auto operation = open_of(event.id, event.time_s);
        const auto& state = nodes_[event.node];
        if (!event.arrives) {
            operation.running = true;
            operation.ready_s = state.ready_s;
            operation.start_s = state.start_s;
            operation.end_s = event.time_s;
        }
        open.emplace_back(event.number, operation);
    }
    if (network_.shared_links) progress.line_free_s = line_free_;
    if (network_.has_uplinks()) {
        const auto arrivals = arrivals_of_heads(progress.line_free_s);
        open.insert(open.end(), arrivals.begin(), arrivals.end());
    }
    capture_waiting(progress, open);
    std::stable_sort(open.begin(), open.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    progress.steps_done.assign(residual_.begin.size(), steps_);
    for (ReleaseIndex i = 0; i < residual_.count(); ++i) {
        if (residual_.begin[i] == Residual::Begin::fresh && left_of_[at(i)] == steps_)
            progress.steps_done[i] = 0;  // where its first forward runs, it is among the open
        for (int step = 0; step < steps_; ++step) {
            if ((redo_[slot(i, step)] & pending) != 0) progress.redo.push_back({i, step});
            if (residual_.gone[slot(i, step)] != 0) progress.gone.push_back({i, step});
        }
    }
    for (const auto& [number, operation] : open) {
        progress.open.push_back(operation);
        if (!operation.weight && !operation.redo) progress.steps_done[operation.index] = operation.step;
    }
    progress.available_s = residual_.available_s;
    for (NodeIndex n = 0; n < network_.nodes(); ++n)
        if (residual_.down[n] != 0 && plan_->stage_of[n] >= 0) progress.lost.push_back({n, plan_->stage_of[n]});
    progress.stage_end_s = stage_end_;
}

void ResidualSimulator::capture_waiting(IterationProgress& progress,
                                        std::vector<std::pair<std::uint32_t, OpenOperation>>& open) const {
    const auto add = [&](const Item& item) {
        if (!is_fresh(item.id) || item.arrival_s > 0) open.emplace_back(item.number, open_of(item.id, item.arrival_s));
    };
    for (NodeIndex n = 0; n < network_.nodes(); ++n) {
        const auto& state = nodes_[n];
        for (const auto* items : {&state.forward, &state.other, &state.own})
            std::for_each(items->begin(), items->end(), add);
        if (listed_.empty()) continue;
        const auto& order = plan_->order[n];
        for (std::size_t k = state.order_next; k < order.size(); ++k)
            if (const Item& item = listed_ready_[at(order[k])]; item.id >= 0) add(item);
    }
    // A gradient that has come and waits for its forward.
    for (ReleaseIndex i = 0; i < residual_.count(); ++i)
        for (int hop = 0; hop < residual_.length; ++hop) {
            if ((redo_[slot(i, hop)] & gradient_waits) == 0) continue;
            const int back = forward_of(hop);
            open.emplace_back(
                number_, open_of(id(i, back, (redo_[slot(i, back)] & pending) != 0 ? redo : plain), progress.at_s));
        }
}

}  // namespace skippipe
