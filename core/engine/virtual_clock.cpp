// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/virtual_clock.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "core/base/index.h"
#include "core/engine/costs.h"
#include "core/engine/trainer.h"

namespace skippipe {

VirtualClock::VirtualClock(const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute)
    : problem_(problem), schedule_(schedule), compute_(compute), network_(problem), lines_(network_) {}

void VirtualClock::push(const Event& event) {
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>{});
}

void VirtualClock::begin_iteration(int iteration, std::vector<Span>& spans) {
    spans_ = &spans;
    iteration_ = iteration;
    lines_.reset();
    cut_.clear();
    varies_.clear();
    if (std::exchange(network_changed_, false)) network_ = problem_;
    lost_.assign(at(problem_.nodes()), 0);
    stages_ = schedule_.plan.stages;
    stage_of_ = stage_of_nodes(schedule_.plan, problem_.nodes());
    running_.assign(at(problem_.nodes()), {});
    last_end_s_.assign(at(problem_.stages), -1.0);
    queue_.clear();
    ghosts_.clear();
    rests_ = refused_ = 0;
    passing_.clear();
    admitted_later_.clear();
    now_s_ = 0;
    if (problem_.plan_reductions) begin_reductions();
}

void VirtualClock::release(int node, const Operation& operation, std::uint64_t number) {
    push({0, number, NodeInput::Kind::arrive, node, operation});
}

void VirtualClock::start(const ComputeTask& task, const NodeAction& action, double now_s, Buffer) {
    if (admission_)
        admitted_later_.push_back({task, action});
    else
        run(task, action, now_s);
}

void VirtualClock::run(const ComputeTask& task, const NodeAction& action, double now_s) {
    const bool again = task.operation.attempt > 0;
    if (!again) compute_.submit(task);
    running_[at(task.node)] = {action.ready_s, now_s, task, !again};
    const auto measured_s = durations_ ? durations_->operation_s(task.node, task.operation) : std::nullopt;
    const double seconds =
        measured_s ? *measured_s : operation_seconds(network_, task.operation, task.node, task.stage);
    const auto varies = varies_.find(task.node);
    const double factor =
        varies == varies_.end()
            ? 1
            : drawn_factor(varies->second.change.factor, varies->second.seed,
                           {task.node, static_cast<int>(task.operation.kind), iteration_, task.operation.microbatch});
    push({now_s + factor * seconds, action.number, NodeInput::Kind::end, task.node, task.operation});
}

/// What waits for a worker or a core, in the order in which it became ready; parts and sums, which are short, first.
void VirtualClock::run_admitted(double now_s) {
    run_parts();
    for (std::size_t i = 0; i < admitted_later_.size();) {
        const auto waiting = admitted_later_[i];
        if (!admission_->enter(waiting.task.node)) {
            ++i;
            continue;
        }
        admitted_later_.erase(admitted_later_.begin() + static_cast<std::ptrdiff_t>(i));
        run(waiting.task, waiting.action, now_s);
    }
}

void VirtualClock::hand_over(int from_node, const NodeAction& send, double now_s) {
    compute_.handed_over(from_node, send.operation);
    const bool backward = is_backward(send.operation.kind);
    const MicrobatchIndex microbatch = send.operation.microbatch;
    const auto measured_s = durations_ ? durations_->transfer_s(from_node, send.to, send.operation) : std::nullopt;
    const Span span{
        .kind = backward ? SpanKind::transfer_backward : SpanKind::transfer_forward,
        .node = NodeIndex(from_node),
        .to_node = NodeIndex(send.to),
        .stage = stage_of_[at(send.to)],
        .microbatch = microbatch,
        .ready_s = now_s,
        .start_s = now_s,
        .end_s = now_s + measured_s.value_or(0),
        .bytes = (backward ? problem_.backward_bytes : problem_.forward_bytes) * problem_.relative_size(microbatch)};
    Event arrival{
        .number = send.number, .node = send.to, .operation = send.operation, .from = from_node, .rest = rests_};
    if (!measured_s)
        return carry(lines_.message(from_node, send.to, backward, now_s, iteration_, microbatch), arrival, span);
    spans_->push_back(span);
    arrival.time_s = span.end_s;
    if (reaches(arrival)) push(arrival);
}

void VirtualClock::carry(const ShapedTransfer& transfer, const Event& arrival, const Span& span) {
    passing_.push_back({transfer, arrival, spans_->size()});
    spans_->push_back(span);
    enter_next_queue(passing_.size() - 1, span.ready_s);
}

void VirtualClock::enter_next_queue(std::size_t index, double now_s) {
    auto& [transfer, arrival, span] = passing_[index];
    if (const auto next_s = lines_.enter(transfer, now_s))
        return push(
            {.time_s = *next_s, .number = arrival.number, .node = arrival.node, .from = arrival.from, .head = index});
    (*spans_)[span].start_s = transfer.times.start_s;
    (*spans_)[span].end_s = arrival.time_s = transfer.times.arrival_s;
    if (reaches(arrival)) push(arrival);
    if (index + 1 == passing_.size()) passing_.pop_back();
}

VirtualClock::Event VirtualClock::pop_event() {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>{});
    const Event event = queue_.back();
    queue_.pop_back();
    return event;
}

VirtualClock::Event VirtualClock::pop() {
    const Event event = pop_event();
    now_s_ = event.time_s;
    return event;
}

void VirtualClock::settle(double until_s, std::uint64_t& next_number) {
    if (problem_.plan_reductions) start_reductions(next_number);
    const auto no_node_takes_part = [&](const Event& event) { return event.head || event.slot || is_refused(event); };
    while (!queue_.empty() && no_node_takes_part(queue_.front()) && queue_.front().time_s <= until_s) {
        if (is_refused(queue_.front())) {
            pop_event();
            ++refused_;
            continue;
        }
        const Event event = pop();
        if (event.head)
            enter_next_queue(*event.head, event.time_s);
        else
            reduction_goes_on(event, next_number);
        if (admission_) run_admitted(now_s_);
    }
}

void VirtualClock::end_passages() {
    std::vector<Event> others;
    while (!queue_.empty()) {
        const Event event = pop_event();
        event.head ? enter_next_queue(*event.head, event.time_s) : others.push_back(event);
    }
    for (const auto& event : others) push(event);
}

std::optional<NodeEvent> VirtualClock::next(std::uint64_t& next_number) {
    if (admission_) run_admitted(now_s_);
    settle(std::numeric_limits<double>::infinity(), next_number);
    if (queue_.empty()) return std::nullopt;
    const Event event = pop();
    NodeEvent happened{.kind = event.kind,
                       .node = event.node,
                       .operation = event.operation,
                       .time_s = event.time_s,
                       .number = event.number};
    if (event.kind == NodeInput::Kind::arrive) compute_.arrived(event.node, event.operation);
    if (event.kind == NodeInput::Kind::end) {
        if (admission_) admission_->leave(event.node);
        auto& running = running_[at(event.node)];
        if (!std::exchange(running.submitted, true)) compute_.submit(running.task);
        happened.ready_s = running.ready_s;
        happened.start_s = running.start_s;
        happened.end_s = event.time_s;
        last_end_s_[at(stage_of_[at(event.node)])] = event.time_s;
        if (problem_.plan_reductions && --operations_left_[at(event.node)] == 0) part_ready_ = NodeIndex(event.node);
    }
    return happened;
}

std::vector<StageSum> VirtualClock::finish_iteration(Timeline& timeline) {
    if (problem_.plan_reductions)
        finish_planned_iteration(schedule_.plan, timeline);
    else
        skippipe::finish_iteration(network_, schedule_.plan, last_end_s_, timeline);
    if (timeline.complete) return reduce();
    compute_.wait();
    return std::vector<StageSum>(stages_.size());
}

std::vector<StageSum> VirtualClock::reduce() {
    std::vector<StageSum> sums(stages_.size());
    compute_.wait();
    LocalTransport alone;
    for (std::size_t stage = 0; stage < sums.size(); ++stage)
        if (!stages_[stage].empty()) sums[stage] = compute_.reduce(static_cast<int>(stage), alone);
    return sums;
}

double VirtualClock::next_s() const {
    return queue_.empty() ? std::numeric_limits<double>::infinity() : queue_.front().time_s;
}

void VirtualClock::lose(int node, double, bool lives_on) {
    if (admission_) throw std::logic_error("what waits for a worker cannot be lost");
    lost_[at(node)] = 1;
    if (lives_on)
        std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(ghosts_), [&](const Event& event) {
            return event.rest && event.from == node && lost_[at(event.node)] == 0;
        });
    std::erase_if(queue_,
                  [&](const Event& event) { return !event.head && (event.node == node || event.from == node); });
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>{});
    compute_.lose(node);
}

void VirtualClock::slow(const Disturbance& disturbance) {
    const auto& change = disturbance.change;
    if (change.of_line() && line_of(change.node, change.to) == no_line) return;  // nothing goes over a link that is cut
    if (change.kind == NetworkChange::Kind::node_varies) {
        varies_[change.node] = disturbance;
    } else if (change.kind == NetworkChange::Kind::line_varies) {
        lines_.vary(line_of(change.node, change.to), change.factor, disturbance.seed);
    } else {
        network_ = changed_network(network_, {change});
        network_changed_ = true;
    }
}

void VirtualClock::cut(const NetworkChange& line) {
    const int number = line_of(line.node, line.to);
    cut_.insert(number);
    std::erase_if(queue_, [&](const Event& event) {
        return !event.head && event.kind == NodeInput::Kind::arrive && event.from >= 0 && event.from != event.node &&
               line_of(event.from, event.node) == number;
    });
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>{});
}

std::vector<PendingEvent> VirtualClock::pending() const {
    std::vector<PendingEvent> pending;
    for (const auto& event : queue_) {
        if (event.slot || (event.rest && *event.rest != rests_)) continue;
        const auto& running = running_[at(event.node)];
        const bool ends = event.kind == NodeInput::Kind::end;
        pending.push_back({event.kind, event.node, event.operation, event.time_s, event.number,
                           ends ? running.ready_s : 0, ends ? running.start_s : 0, event.from});
    }
    return pending;
}

std::vector<double> VirtualClock::line_free_s() const {
    return network_.shared_links ? lines_.free_s() : std::vector<double>{};
}

void VirtualClock::go_on(const Replan& rest, const std::vector<PendingEvent>& events) {
    // What was refused so far, and has not come, is refused when it comes.
    std::copy_if(queue_.begin(), queue_.end(), std::back_inserter(ghosts_),
                 [&](const Event& event) { return event.rest && *event.rest != rests_; });
    queue_.clear();
    passing_.clear();
    ++rests_;
    for (const Event& ghost : std::exchange(ghosts_, {})) push(ghost);
    stages_ = rest.residual_plan.stages;
    stage_of_ = rest.residual_plan.stage_of;
    last_end_s_ = rest.residual.stage_end_s;
    for (const auto& event : events) {
        if (event.kind == NodeInput::Kind::end) running_[at(event.node)].task.operation = event.operation;
        Event known{event.time_s, event.number, event.kind, event.node, event.operation, event.from};
        if (event.from >= 0) known.rest = rests_;
        push(known);
    }
    if (problem_.plan_reductions) begin_reductions_anew(rest);
    compute_.go_on(rest);
}

VirtualDriver::VirtualDriver(const Problem& problem, const Plan& plan, ComputeBackend& compute)
    : planned_(problem, plan.blocks),
      schedule_(one_rank_schedule(problem.nodes(), plan)),
      compute_(compute),
      clock_(planned_.get(), schedule_, compute),
      driver_(planned_.get(), schedule_, 0, clock_) {}

IterationResult VirtualDriver::train(int iteration) {
    ReplanController unasked;
    return train(iteration, {}, unasked);
}

IterationResult VirtualDriver::train(int iteration, const std::vector<Disturbance>& disturbances,
                                     RecoveryController& controller) {
    compute_.begin_iteration(iteration);
    const auto done = run(iteration, disturbances, controller);
    if (!done.abandoned.empty()) throw InputError(done.abandoned);
    if (!done.timeline.complete) throw std::runtime_error("the plan comes to a deadlock");
    LocalTransport alone;
    return skippipe::finish_iteration(iteration, schedule_, done.sums, compute_, alone);
}

}  // namespace skippipe
