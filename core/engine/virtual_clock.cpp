// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/virtual_clock.h"

#include <algorithm>
#include <functional>

namespace skippipe {

namespace {
std::size_t at(int index) { return static_cast<std::size_t>(index); }
}  // namespace

SpanKind span_kind(OpKind kind) {
    switch (kind) {
        case OpKind::F: return SpanKind::forward;
        case OpKind::L: return SpanKind::loss;
        case OpKind::B: return SpanKind::backward;
        case OpKind::I: return SpanKind::input_gradient;
        case OpKind::W: return SpanKind::weight_gradient;
    }
    return SpanKind::forward;
}

VirtualNetwork::Transfer VirtualNetwork::send(int from, int to, bool backward, double size, double handed_over_s) {
    const Hop& hop = problem_.hop(from, to);
    const double transfer_s = (backward ? hop.seconds_per_backward : hop.seconds_per_forward) * size;
    if (!problem_.shared_links)
        return {handed_over_s, handed_over_s + hop.latency_s + problem_.overhead_s + transfer_s};
    auto& free_s = free_s_[at(hop.line)];
    const double start_s = std::max(handed_over_s, free_s);
    free_s = start_s + transfer_s;
    return {start_s, free_s + hop.latency_s + problem_.overhead_s};
}

VirtualDriver::VirtualDriver(const Problem& problem, const Plan& plan, ComputeBackend& compute)
    : planned_(problem, plan.blocks),
      problem_(planned_.get()),
      plan_(plan),
      compute_(compute),
      itinerary_(plan),
      stage_of_(stage_of_nodes(plan, problem.nodes())),
      network_(problem_) {}

double operation_seconds(const Problem& problem, const Operation& operation, int node, int stage) {
    const double forward_s = problem.forward_s(node, stage), size = problem.relative_size(operation.microbatch);
    switch (operation.kind) {
        case OpKind::F: return forward_s * size;
        case OpKind::L: return problem.loss_factor * forward_s * size;
        case OpKind::B: return problem.backward_factor * forward_s * size;
        case OpKind::I:
        case OpKind::W: return problem.backward_factor * forward_s / 2 * size;
    }
    return 0;
}

void VirtualDriver::push(const Event& event) {
    queue_.push_back(event);
    std::push_heap(queue_.begin(), queue_.end(), std::greater<>{});
}

VirtualDriver::Event VirtualDriver::pop() {
    std::pop_heap(queue_.begin(), queue_.end(), std::greater<>{});
    const Event event = queue_.back();
    queue_.pop_back();
    return event;
}

void VirtualDriver::start(int node, const NodeAction& action, double now_s) {
    compute_.submit({action.operation, node, stage_of_[at(node)], itinerary_.hop(action.operation.microbatch, node)});
    running_[at(node)] = {action.ready_s, now_s};
    const auto measured_s = durations_ ? durations_->operation_s(node, action.operation) : std::nullopt;
    push({now_s + (measured_s ? *measured_s : operation_seconds(problem_, action.operation, node, stage_of_[at(node)])),
          action.number, NodeInput::Kind::end, node, action.operation});
}

/// What waits for a worker or a core, in the order in which it became ready.
void VirtualDriver::start_admitted(double now_s) {
    for (std::size_t i = 0; i < admitted_later_.size();) {
        const auto [node, action] = admitted_later_[i];
        if (!admission_->enter(node)) {
            ++i;
            continue;
        }
        admitted_later_.erase(admitted_later_.begin() + static_cast<std::ptrdiff_t>(i));
        start(node, action, now_s);
    }
}

void VirtualDriver::send(int node, const NodeAction& action, double now_s) {
    const bool backward = is_backward(action.operation.kind);
    const double size = problem_.relative_size(action.operation.microbatch);
    const auto measured_s = durations_ ? durations_->transfer_s(node, action.to, action.operation) : std::nullopt;
    const auto transfer = measured_s ? VirtualNetwork::Transfer{now_s, now_s + *measured_s}
                                     : network_.send(node, action.to, backward, size, now_s);
    timeline_.spans.push_back({backward ? SpanKind::transfer_backward : SpanKind::transfer_forward, node, action.to,
                               stage_of_[at(action.to)], action.operation.microbatch, now_s, transfer.start_s,
                               transfer.arrival_s,
                               (backward ? problem_.backward_bytes : problem_.forward_bytes) * size});
    push({transfer.arrival_s, action.number, NodeInput::Kind::arrive, action.to, action.operation});
}

void VirtualDriver::record(int node, const Operation& operation, double end_s) {
    const auto& running = running_[at(node)];
    timeline_.spans.push_back({span_kind(operation.kind), node, -1, stage_of_[at(node)], operation.microbatch,
                               running.ready_s, running.start_s, end_s, 0});
    timeline_.busy_s += end_s - running.start_s;
}

Timeline VirtualDriver::run_iteration() {
    timeline_ = {};
    network_.reset();
    running_.assign(at(problem_.nodes()), {});
    machines_.clear();
    for (int n = 0; n < problem_.nodes(); ++n)
        machines_.emplace_back(n, problem_.memory[at(n)], !plan_.order.empty(),
                               plan_.order.empty() ? std::vector<Operation>{} : plan_.order[at(n)], itinerary_);
    queue_.clear();
    admitted_later_.clear();
    next_number_ = 0;
    for (const auto& path : plan_.paths)
        push({0, next_number_++, NodeInput::Kind::arrive, path.nodes.front(), {OpKind::F, path.microbatch}});

    std::size_t expected = plan_.paths.size() * at(2 * itinerary_.length() + 1) +
                           (plan_.split_backward ? plan_.paths.size() * at(itinerary_.length()) : 0);
    const auto last_end_s = run_events(expected);
    timeline_.complete = expected == 0;
    if (!timeline_.complete) describe_blocked();
    finish_iteration(problem_, plan_, last_end_s, timeline_);
    return std::move(timeline_);
}

std::vector<double> VirtualDriver::run_events(std::size_t& expected) {
    std::vector<double> last_end_s(at(problem_.stages), -1.0);
    while (!queue_.empty()) {
        const Event event = pop();
        if (event.kind == NodeInput::Kind::end) {
            record(event.node, event.operation, event.time_s);
            if (admission_) admission_->leave(event.node);
            timeline_.makespan_s = event.time_s;
            last_end_s[at(stage_of_[at(event.node)])] = event.time_s;
            --expected;
        }
        for (const auto& action : machines_[at(event.node)].handle(
                 {event.kind, event.operation, event.time_s, event.number}, next_number_)) {
            if (action.kind == NodeAction::Kind::send)
                send(event.node, action, event.time_s);
            else if (admission_)
                admitted_later_.emplace_back(event.node, action);
            else
                start(event.node, action, event.time_s);
        }
        if (admission_) start_admitted(event.time_s);
    }
    return last_end_s;
}

void VirtualDriver::describe_blocked() {
    for (int n = 0; n < problem_.nodes(); ++n)
        for (const auto& operation : machines_[at(n)].waiting())
            timeline_.blocked.push_back(problem_.node_ids[at(n)] + ": " + to_string(operation) +
                                        " waits; the node holds " + std::to_string(machines_[at(n)].held()) +
                                        " microbatches");
}

}  // namespace skippipe
