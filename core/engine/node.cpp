// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/node.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/index.h"

namespace skippipe {

NodeMachine::NodeMachine(int node, int memory, bool ordered, std::vector<Operation> order, const RouteTable& routes,
                         NodeRest rest)
    : node_(node),
      memory_(memory),
      held_(rest.held),
      ordered_(ordered),
      order_(std::move(order)),
      routes_(&routes),
      running_(rest.running) {
    for (const int microbatch : routes.forwards_again(node)) forwards_again_.insert(microbatch);
    for (const auto& waiting : rest.waiting) take(waiting);
}

std::vector<NodeAction> NodeMachine::handle(const NodeInput& input, std::uint64_t& next_number) {
    std::vector<NodeAction> actions;
    if (input.kind == NodeInput::Kind::arrive)
        take({input.operation, input.time_s, input.number});
    else
        finish(input, next_number, actions);
    dispatch(next_number, actions);
    check_invariants();
    return actions;
}

std::vector<NodeAction> NodeMachine::begin(std::uint64_t& next_number) {
    std::vector<NodeAction> actions;
    dispatch(next_number, actions);
    check_invariants();
    return actions;
}

void NodeMachine::take(const WaitingOperation& input) {
    const auto same = [&](const WaitingOperation& waiting) { return waiting.operation == input.operation; };
    if (running_ == input.operation || std::any_of(ready_.begin(), ready_.end(), same) ||
        std::any_of(parked_.begin(), parked_.end(), same))
        throw std::logic_error(to_string(input.operation) + " arrived twice");
    const auto kind = input.operation.kind;
    const bool waits = (kind == OpKind::B || kind == OpKind::I) && forwards_again_.contains(input.operation.microbatch);
    (waits ? parked_ : ready_).push_back(input);
}

void NodeMachine::finish(const NodeInput& input, std::uint64_t& next_number, std::vector<NodeAction>& actions) {
    const auto& operation = input.operation;
    if (running_ != operation)
        throw std::logic_error(to_string(operation) + " ended, but the node runs " +
                               (running_ ? to_string(*running_) : "nothing"));
    running_.reset();
    if (operation.kind == OpKind::B || operation.kind == OpKind::W) --held_;
    if (const auto next = routes_->after(operation, node_); next.node == node_)
        take({next.operation, input.time_s, next_number++});
    else if (next.node >= 0)
        actions.push_back({NodeAction::Kind::send, next.operation, next.node, next_number++, 0, {}});
    if (operation.kind == OpKind::F && operation.attempt > 0) forward_ran_again(operation, input.time_s, next_number);
    if (operation.kind == OpKind::I) take({{OpKind::W, operation.microbatch}, input.time_s, next_number++});
}

/// The gradient that waited for it may go on now.
void NodeMachine::forward_ran_again(const Operation& forward, double now_s, std::uint64_t& next_number) {
    forwards_again_.erase(forward.microbatch);
    const auto waits = std::find_if(parked_.begin(), parked_.end(), [&](const WaitingOperation& parked) {
        return parked.operation.microbatch == forward.microbatch;
    });
    if (waits == parked_.end()) return;
    const auto operation = waits->operation;
    parked_.erase(waits);
    take({operation, now_s, next_number++});
}

bool NodeMachine::own_forward(const Operation& operation) const {
    return operation.kind == OpKind::F && operation.attempt == 0 && routes_->hop(operation.microbatch, node_) == 0;
}

bool NodeMachine::before(const WaitingOperation& a, const WaitingOperation& b) const {
    const bool own_a = own_forward(a.operation), own_b = own_forward(b.operation);
    if (own_a != own_b) return own_b;
    return a.arrival_s != b.arrival_s ? a.arrival_s < b.arrival_s : a.number < b.number;
}

int NodeMachine::choose() const {
    int best = -1;
    for (std::size_t i = 0; i < ready_.size(); ++i) {
        if (!admissible(ready_[i].operation)) continue;
        if (ordered_) {
            if (order_next_ < order_.size() && ready_[i].operation == order_[order_next_]) return static_cast<int>(i);
        } else if (best < 0 || before(ready_[i], ready_[at(best)])) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

void NodeMachine::dispatch(std::uint64_t& next_number, std::vector<NodeAction>& actions) {
    if (running_) return;
    const int chosen = choose();
    if (chosen < 0) return;
    const auto ready = ready_[at(chosen)];
    ready_.erase(ready_.begin() + chosen);
    if (ordered_) ++order_next_;
    if (ready.operation.kind == OpKind::F) ++held_;
    running_ = ready.operation;
    actions.push_back({NodeAction::Kind::start, ready.operation, -1, next_number++, ready.arrival_s,
                       routes_->after(ready.operation, node_)});
}

void NodeMachine::check_invariants() const {
    if (held_ < 0 || held_ > memory_)
        throw std::logic_error("a node holds " + std::to_string(held_) + " microbatches of " + std::to_string(memory_));
    if (ordered_ && order_next_ > order_.size()) throw std::logic_error("a node went past the end of its order");
}

}  // namespace skippipe
