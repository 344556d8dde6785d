// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/rest.h"

#include <algorithm>
#include <functional>

namespace skippipe {

namespace {
std::size_t at(int index) { return static_cast<std::size_t>(index); }
constexpr double infinite = std::numeric_limits<double>::infinity();

/// Works out what the lost nodes leave of each microbatch.
class RestMaker {
public:
    RestMaker(const Problem& problem, const Plan& plan, const IterationProgress& progress, const std::vector<int>& down) : progress_(progress) {
        rest_.at_s = progress.at_s;
        rest_.length = plan.paths.empty() ? 1 : static_cast<int>(plan.paths.front().nodes.size());
        rest_.split_backward = plan.split_backward;
        rest_.down.assign(at(problem.nodes()), 0);
        for (const int node : down) rest_.down[at(node)] = 1;
        rest_.held.assign(at(problem.nodes()), 0);
        rest_.line_free_s = progress.line_free_s;
        rest_.stage_end_s = progress.stage_end_s;
        const auto count = plan.paths.size();
        for (const auto& path : plan.paths) {
            rest_.microbatches.push_back(path.microbatch);
            rest_.before.insert(rest_.before.end(), path.nodes.begin(), path.nodes.end());
        }
        rest_.begin.assign(count, Rest::Begin::underway);
        rest_.next_step = progress.steps_done;
        rest_.forced.assign(count * at(rest_.length), 0);
        rest_.redo = rest_.forced;
        rest_.resend.assign(count, 0);
        next_.assign(count, nullptr);
        for (const auto& open : progress.open)
            if (!open.weight) next_[at(open.index)] = &open;
    }

    Rest make() {
        for (int i = 0; i < rest_.count(); ++i) {
            find_next(i);
            mark_hops(i);
        }
        for (const auto& open : progress_.open) {
            if (open.weight ? !lost(open.index, open.step) : next_[at(open.index)] != nullptr) rest_.open.push_back(open);
            // The weight gradient has yet to free its memory.
            if (open.weight && !lost(open.index, open.step)) ++rest_.held[at(node_of(open.index, open.step))];
        }
        return std::move(rest_);
    }

private:
    int node_of(int i, int step) const { return step_node(rest_.before.data() + static_cast<std::ptrdiff_t>(i) * rest_.length, rest_.length, step); }
    bool lost(int i, int step) const { return rest_.down[at(node_of(i, step))] != 0; }

    /// The first step whose input can still be had: it is there, or the node before it lives and sends it again.
    void find_next(int i) {
        int& step = rest_.next_step[at(i)];
        const auto*& open = next_[at(i)];
        if (step == rest_.steps()) rest_.begin[at(i)] = Rest::Begin::finished;
        if (rest_.begin[at(i)] == Rest::Begin::finished) return;
        if (open != nullptr && !lost(i, step) && (open->ready_s <= progress_.at_s || !lost(i, step - 1))) return;
        open = nullptr;
        while (step > 0 && lost(i, step - 1)) --step;
        if (step == 0) rest_.begin[at(i)] = Rest::Begin::fresh;
        else rest_.resend[at(i)] = 1;
    }

    void mark_hops(int i) {
        const int next = rest_.next_step[at(i)];
        const bool fresh = rest_.begin[at(i)] == Rest::Begin::fresh;
        for (int hop = 0; hop < rest_.length; ++hop) {
            const bool backward_done = 2 * rest_.length - hop < next;
            const auto place = at(i * rest_.length + hop);
            const bool runs = next_[at(i)] != nullptr && next == hop && next_[at(i)]->running;
            if (!lost(i, hop)) {
                if (!fresh && !backward_done && (hop < next || runs)) ++rest_.held[at(node_of(i, hop))];
                continue;
            }
            rest_.lost_gradients += backward_done ? 1 : 0;
            rest_.forced[place] = !backward_done;
            rest_.redo[place] = !backward_done && hop < next;
            rest_.redone_forwards += !backward_done && hop < progress_.steps_done[at(i)] ? 1 : 0;
        }
    }

    const IterationProgress& progress_;
    Rest rest_;
    std::vector<const OpenOperation*> next_;  ///< of each microbatch: its next step, as far as it is kept
};

}  // namespace

int Rest::fixed_hops(int index) const {
    if (begin[at(index)] == Begin::fresh) return 0;
    return std::min(length, next_step[at(index)] + (resend[at(index)] != 0 ? 0 : 1));
}

Rest make_rest(const Problem& problem, const Plan& plan, const IterationProgress& progress, const std::vector<int>& down) {
    return RestMaker(problem, plan, progress, down).make();
}

RestSimulator::RestSimulator(const Problem& network, const Rest& rest, const Problem& before, const std::vector<std::vector<int>>& stages_before)
    : network_(network), rest_(rest), before_(before), stages_before_(stages_before), steps_(rest.steps()), nodes_(at(network.nodes())) {
    const int length = rest.length;
    for (int i = 0; i < rest.count(); ++i) {
        if (rest.begin[at(i)] == Rest::Begin::finished) continue;
        left_at_start_ += steps_ - rest.next_step[at(i)];
        if (rest.split_backward) left_at_start_ += steps_ - std::max(rest.next_step[at(i)], length + 1);
    }
    for (const auto& open : rest.open) left_at_start_ += open.weight ? 1 : 0;
    for (const char redo : rest.redo) left_at_start_ += redo;
    std::vector<int> furthest_first;
    for (int i = 0; i < rest.count(); ++i)
        if (rest.begin[at(i)] != Rest::Begin::finished) furthest_first.push_back(i);
    std::stable_sort(furthest_first.begin(), furthest_first.end(), [&](int a, int b) { return rest.next_step[at(a)] > rest.next_step[at(b)]; });
    rank_.assign(at(rest.count()), 0);
    for (int r = 0; r < static_cast<int>(furthest_first.size()); ++r) rank_[at(furthest_first[at(r)])] = r;
}

void RestSimulator::push(const Event& event) {
    events_.push_back(event);
    std::push_heap(events_.begin(), events_.end(), std::greater<>{});
}

void RestSimulator::prepare(const RestPlan& plan) {
    plan_ = &plan;
    for (int n = 0; n < network_.nodes(); ++n) {
        auto& node = nodes_[at(n)];
        node.held = rest_.held[at(n)];
        node.busy = false;
        node.order_next = 0;
        node.forward.clear();
        node.other.clear();
        node.own.clear();
    }
    events_.clear();
    number_ = static_cast<std::uint32_t>(std::max(rest_.open.size(), rest_.begin.size()));
    left_ = left_at_start_;
    operations_ += plan.order.empty() ? left_at_start_ / 8 : left_at_start_;  // what it costs to begin
    windowed_ = plan.window != std::numeric_limits<int>::max();
    window_end_ = plan.window;
    makespan_ = 0;
    redo_ = rest_.redo;
    if (network_.shared_links) {
        line_free_ = rest_.line_free_s;
        line_free_.resize(network_.line_names.size(), 0.0);
    }
    stage_end_ = rest_.stage_end_s;
    for (const double end_s : stage_end_) makespan_ = std::max(makespan_, end_s);
    microbatch_end_.assign(rest_.begin.size(), rest_.at_s);
    busy_.assign(nodes_.size(), 0.0);
    started_.resize(nodes_.size());
    for (auto& ids : started_) ids.clear();
    listed_.clear();
    if (plan.order.empty()) return;
    listed_.assign(rest_.begin.size() * at(steps_) * 3, 0);
    listed_ready_.assign(listed_.size(), {0, 0, -1});
    for (const auto& ids : plan.order)
        for (const int id : ids) listed_[at(id)] = 1;
}

/// What was on its way, waiting or running goes on.
void RestSimulator::restore_open() {
    for (std::uint32_t number = 0; number < rest_.open.size(); ++number) {
        const auto& open = rest_.open[number];
        const int node = node_of(open.index, open.step), operation = id(open.index, open.step, open.weight ? weight : plain);
        if (open.running) {
            nodes_[at(node)].busy = true;
            nodes_[at(node)].ready_s = open.ready_s;
            nodes_[at(node)].start_s = open.start_s;
            busy_[at(node)] += open.end_s - rest_.at_s;
            push({open.end_s, number, node, operation, false});
        } else if (open.ready_s <= rest_.at_s) {
            ready(node, {open.ready_s, number, operation});
        } else {
            push({open.ready_s, number, node, operation, true});
        }
    }
}

/// What has not started lies on its data node since the start, or since it was moved there.
void RestSimulator::release_fresh() {
    for (int i = 0; i < rest_.count(); ++i) {
        if (rest_.begin[at(i)] != Rest::Begin::fresh) continue;
        const int node = node_of(i, 0);
        const bool moved = node != rest_.before[at(i * rest_.length)];
        ready(node, {moved ? rest_.at_s : 0.0, static_cast<std::uint32_t>(i), id(i, 0)});
    }
}

/// What was lost comes again from the nodes before; in release order.
void RestSimulator::send_again() {
    for (int i = 0; i < rest_.count(); ++i) {
        if (rest_.begin[at(i)] != Rest::Begin::underway) continue;
        for (int hop = 0; hop < rest_.length; ++hop) {
            if (rest_.redo[at(i * rest_.length + hop)] == 0) continue;
            if (hop == 0) ready(node_of(i, 0), {rest_.at_s, number_++, id(i, 0, redo)});
            else if (rest_.redo[at(i * rest_.length + hop - 1)] == 0) send(node_of(i, hop - 1), i, hop, redo, rest_.at_s);
        }
        const int step = rest_.next_step[at(i)];
        if (rest_.resend[at(i)] != 0) send(node_of(i, step - 1), i, step, plain, rest_.at_s);
    }
}

double RestSimulator::duration_s(int node, int id) const {
    const double forward_s = network_.forward_s(node, plan_->stage_of[at(node)]), size = relative_size(index_of(id));
    if (is_forward(id)) return forward_s * size;
    if (step_of(id) == rest_.length) return network_.loss_factor * forward_s * size;
    const double backward_s = network_.backward_factor * forward_s;
    return (rest_.split_backward ? backward_s / 2 : backward_s) * size;
}

void RestSimulator::ready(int node, const Item& item) {
    if (!listed_.empty() && listed_[at(item.id)] != 0) {
        listed_ready_[at(item.id)] = item;
        return;
    }
    auto& state = nodes_[at(node)];
    auto& heap = is_fresh(item.id) ? state.own : is_forward(item.id) ? state.forward : state.other;
    heap.push_back(item);
    if (!windowed_ || &heap == &state.other) std::push_heap(heap.begin(), heap.end(), std::greater<>{});
}

/// The input of an operation has come. A backward whose forward is still to be redone waits for that.
void RestSimulator::arrive(int node, int id, double now_s, std::uint32_t number) {
    const int step = step_of(id);
    if (variant_of(id) == plain && step > rest_.length) {
        auto& redone = redo_[at(index_of(id) * rest_.length + 2 * rest_.length - step)];
        if (redone != 0) {
            redone = 2;
            return;
        }
    }
    ready(node, {now_s, number, id});
}

void RestSimulator::send(int from, int index, int step, Variant variant, double now_s) {
    const int to = node_of(index, step);
    if (to == from) return arrive(to, id(index, step, variant), now_s, number_++);
    const Hop& hop = network_.hop(from, to);
    const bool forwards = step <= rest_.length;
    const double size = relative_size(index), transfer_s = (forwards ? hop.seconds_per_forward : hop.seconds_per_backward) * size;
    double start_s = now_s, arrival_s = 0;
    if (network_.shared_links) {
        auto& free_s = line_free_[at(hop.line)];
        start_s = std::max(now_s, free_s);
        free_s = start_s + transfer_s;
        arrival_s = free_s + hop.latency_s + network_.overhead_s;
    } else {
        arrival_s = now_s + hop.latency_s + network_.overhead_s + transfer_s;
    }
    if (timeline_ != nullptr)
        timeline_->spans.push_back({forwards ? SpanKind::transfer_forward : SpanKind::transfer_backward, from, to, plan_->stage_of[at(to)],
                                    rest_.microbatches[at(index)], now_s, start_s, arrival_s, (forwards ? network_.forward_bytes : network_.backward_bytes) * size});
    push({arrival_s, number_++, to, id(index, step, variant), true});
}

/// Next of the node's order, where its input is there and memory admits it.
const RestSimulator::Item* RestSimulator::first_listed(int node) const {
    if (listed_.empty()) return nullptr;
    const auto& state = nodes_[at(node)];
    const auto& order = plan_->order[at(node)];
    if (state.order_next >= order.size()) return nullptr;
    const Item& item = listed_ready_[at(order[state.order_next])];
    const bool admits = item.id >= 0 && (!is_forward(item.id) || state.held < network_.memory[at(node)]);
    return admits ? &item : nullptr;
}

/// The queue whose first item dispatch chooses among those that no order binds; null where none may run.
std::vector<RestSimulator::Item>* RestSimulator::first_unlisted(Node& node, bool admits) const {
    std::vector<Item>* best = node.other.empty() ? nullptr : &node.other;
    if (admits && bring_to_front(node.forward) && (best == nullptr || best->front() > node.forward.front())) best = &node.forward;
    if (best == nullptr && admits && bring_to_front(node.own)) best = &node.own;
    return best;
}

/// With a window the forwards are no heap: the first that it allows is brought to the front. False where there is none.
bool RestSimulator::bring_to_front(std::vector<Item>& items) const {
    if (!windowed_ || items.empty()) return !items.empty();
    const auto first = std::min_element(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        const bool may_a = in_window(a.id), may_b = in_window(b.id);
        return may_a != may_b ? may_a : b > a;
    });
    std::iter_swap(items.begin(), first);
    return in_window(items.front().id);
}

void RestSimulator::dispatch(int node, double now_s) {
    auto& state = nodes_[at(node)];
    if (state.busy) return;
    auto* unlisted = first_unlisted(state, state.held < network_.memory[at(node)]);
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
    if (windowed_ && unlisted != &state.other) std::iter_swap(unlisted->begin(), unlisted->end() - 1);
    else std::pop_heap(unlisted->begin(), unlisted->end(), std::greater<>{});
    unlisted->pop_back();
    start(node, item, now_s);
}

void RestSimulator::start(int node, const Item& item, double now_s) {
    auto& state = nodes_[at(node)];
    state.held += is_forward(item.id) ? 1 : 0;
    state.busy = true;
    state.ready_s = item.arrival_s;
    state.start_s = now_s;
    const double seconds = duration_s(node, item.id);
    busy_[at(node)] += seconds;
    started_[at(node)].push_back(item.id);
    push({now_s + seconds, number_++, node, item.id, false});
}

void RestSimulator::record(int node, int id, double now_s) {
    const auto& state = nodes_[at(node)];
    const int step = step_of(id);
    const auto kind = variant_of(id) == weight  ? SpanKind::weight_gradient
                      : is_forward(id)          ? SpanKind::forward
                      : step == rest_.length    ? SpanKind::loss
                      : rest_.split_backward    ? SpanKind::input_gradient
                                                : SpanKind::backward;
    timeline_->spans.push_back({kind, node, -1, plan_->stage_of[at(node)], rest_.microbatches[at(index_of(id))], state.ready_s, state.start_s, now_s, 0});
    timeline_->busy_s += now_s - state.start_s;
}

void RestSimulator::finish(const Event& event) {
    auto& state = nodes_[at(event.node)];
    const int index = index_of(event.id), step = step_of(event.id);
    const auto variant = variant_of(event.id);
    if (timeline_ != nullptr) record(event.node, event.id, event.time_s);
    state.busy = false;
    --left_;
    ++operations_;
    makespan_ = event.time_s;
    auto& stage_end_s = stage_end_[at(plan_->stage_of[at(event.node)])];
    stage_end_s = std::max(stage_end_s, event.time_s);
    microbatch_end_[at(index)] = event.time_s;
    if (variant == redo) {
        auto* redone = &redo_[at(index * rest_.length + step)];
        if (step + 1 < rest_.length && redone[1] != 0) send(event.node, index, step + 1, redo, event.time_s);
        const bool gradient_waits = *redone == 2;
        *redone = 0;
        if (gradient_waits) ready(event.node, {event.time_s, number_++, id(index, 2 * rest_.length - step)});
        return;
    }
    const bool backward = variant == plain && step > rest_.length;
    state.held -= variant == weight || (backward && !rest_.split_backward) ? 1 : 0;
    if (variant == plain && step + 1 < steps_) send(event.node, index, step + 1, plain, event.time_s);
    if (backward && rest_.split_backward) ready(event.node, {event.time_s, number_++, id(index, step, weight)});
    if (windowed_ && variant == plain && step + 1 == steps_) ++window_end_;
}

void RestSimulator::handle(const Event& event) {
    if (event.arrives) {
        arrive(event.node, event.id, event.time_s, event.number);
    } else {
        const int before = window_end_;
        finish(event);
        for (int n = 0; window_end_ != before && n < network_.nodes(); ++n)
            if (n != event.node) dispatch(n, event.time_s);
    }
    dispatch(event.node, event.time_s);
}

SimulatedTimes RestSimulator::times(const RestPlan& plan, double cutoff_s, Timeline* timeline) {
    timeline_ = timeline;
    prepare(plan);
    restore_open();
    release_fresh();
    send_again();
    for (int n = 0; n < network_.nodes(); ++n)
        if (rest_.down[at(n)] == 0) dispatch(n, rest_.at_s);
    while (!events_.empty()) {
        std::pop_heap(events_.begin(), events_.end(), std::greater<>{});
        const Event event = events_.back();
        events_.pop_back();
        if (event.time_s >= cutoff_s) return {};
        handle(event);
    }
    if (timeline != nullptr) timeline->complete = left_ == 0;
    if (left_ != 0) return {};
    const SimulatedTimes result{makespan_, iteration_s(plan, timeline)};
    if (timeline != nullptr) {
        timeline->makespan_s = result.makespan_s;
        timeline->iteration_s = result.iteration_s;
        for (const auto& span : timeline->spans) timeline->bytes += span.bytes;
    }
    return result;
}

/// As at the end of any iteration; an all-reduce that had begun runs on, or begins anew at at_s where its ring has changed.
double RestSimulator::iteration_s(const RestPlan& plan, Timeline* timeline) const {
    double last_s = makespan_;
    for (int s = 0; s < network_.stages; ++s) {
        const auto& ring = plan.stages[at(s)];
        double begin_s = stage_end_[at(s)];
        if (begin_s < 0 || ring.empty()) continue;
        double reduce_s = all_reduce_seconds(network_, ring, s);
        if (begin_s <= rest_.at_s) {
            const double reduce_before_s = all_reduce_seconds(before_, stages_before_[at(s)], s);
            if (ring == stages_before_[at(s)] || begin_s + reduce_before_s + before_.step_seconds <= rest_.at_s) reduce_s = reduce_before_s;
            else begin_s = rest_.at_s;
        }
        const double reduced_s = begin_s + reduce_s, stepped_s = reduced_s + network_.step_seconds;
        last_s = std::max(last_s, stepped_s);
        if (timeline == nullptr || stepped_s <= rest_.at_s) continue;
        const double r = static_cast<double>(ring.size());
        const double sent = network_.charge_all_reduce && r > 1 ? 2 * (r - 1) / r * network_.gradient_bytes[at(s)] : 0;
        for (const int node : ring) {
            timeline->spans.push_back({SpanKind::all_reduce, node, -1, s, -1, begin_s, begin_s, reduced_s, sent});
            timeline->spans.push_back({SpanKind::step, node, -1, s, -1, reduced_s, reduced_s, stepped_s, 0});
        }
    }
    return last_s;
}

}  // namespace skippipe
