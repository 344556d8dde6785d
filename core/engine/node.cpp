// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/node.h"

#include <algorithm>
#include <stdexcept>

namespace skippipe {

RouteTable::RouteTable(const Plan& plan) : split_backward_(plan.split_backward) {
    for (const auto& path : plan.paths) paths_[path.microbatch] = path.nodes;
    if (!plan.paths.empty()) length_ = static_cast<int>(plan.paths.front().nodes.size());
}

int RouteTable::hop(int microbatch, int node) const {
    const auto& nodes = path(microbatch);
    const auto found = std::find(nodes.begin(), nodes.end(), node);
    if (found == nodes.end()) throw std::logic_error("a node asked for a microbatch that never visits it");
    return static_cast<int>(found - nodes.begin());
}

RouteTable::Next RouteTable::after(const Operation& operation, int node) const {
    const int m = operation.microbatch, here = hop(m, node);
    const auto& nodes = path(m);
    const auto backward = split_backward_ ? OpKind::I : OpKind::B;
    switch (operation.kind) {
        case OpKind::F:
            if (here + 1 < length_) return {{OpKind::F, m}, nodes[static_cast<std::size_t>(here + 1)]};
            return {{OpKind::L, m}, nodes.front()};
        case OpKind::L: return {{backward, m}, nodes.back()};
        case OpKind::B:
        case OpKind::I:
            if (here > 0) return {{backward, m}, nodes[static_cast<std::size_t>(here - 1)]};
            return {};
        case OpKind::W: return {};
    }
    return {};
}

NodeMachine::NodeMachine(int node, int memory, bool ordered, std::vector<Operation> order, const RouteTable& routes)
    : node_(node), memory_(memory), ordered_(ordered), order_(std::move(order)), routes_(&routes) {}

std::vector<NodeAction> NodeMachine::handle(const NodeInput& input, std::uint64_t& next_number) {
    std::vector<NodeAction> actions;
    if (input.kind == NodeInput::Kind::arrive)
        take(input);
    else
        finish(input, next_number, actions);
    dispatch(next_number, actions);
    check_invariants();
    return actions;
}

void NodeMachine::take(const NodeInput& input) {
    const auto same = [&](const Ready& ready) { return ready.operation == input.operation; };
    if (running_ == input.operation || std::any_of(ready_.begin(), ready_.end(), same))
        throw std::logic_error(to_string(input.operation) + " arrived twice");
    ready_.push_back({input.operation, input.time_s, input.number});
}

void NodeMachine::finish(const NodeInput& input, std::uint64_t& next_number, std::vector<NodeAction>& actions) {
    if (running_ != input.operation)
        throw std::logic_error(to_string(input.operation) + " ended, but the node runs " +
                               (running_ ? to_string(*running_) : "nothing"));
    running_.reset();
    const auto kind = input.operation.kind;
    if (kind == OpKind::B || kind == OpKind::W) --held_;
    if (const auto next = routes_->after(input.operation, node_); next.node == node_)
        ready_.push_back({next.operation, input.time_s, next_number++});
    else if (next.node >= 0)
        actions.push_back({NodeAction::Kind::send, next.operation, next.node, next_number++, 0, {}});
    if (kind == OpKind::I) ready_.push_back({{OpKind::W, input.operation.microbatch}, input.time_s, next_number++});
}

bool NodeMachine::own_forward(const Operation& operation) const {
    return operation.kind == OpKind::F && routes_->hop(operation.microbatch, node_) == 0;
}

bool NodeMachine::before(const Ready& a, const Ready& b) const {
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
        } else if (best < 0 || before(ready_[i], ready_[static_cast<std::size_t>(best)])) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

void NodeMachine::dispatch(std::uint64_t& next_number, std::vector<NodeAction>& actions) {
    if (running_) return;
    const int chosen = choose();
    if (chosen < 0) return;
    const Ready ready = ready_[static_cast<std::size_t>(chosen)];
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

std::vector<Operation> NodeMachine::waiting() const {
    std::vector<Operation> operations;
    for (const auto& ready : ready_) operations.push_back(ready.operation);
    return operations;
}

}  // namespace skippipe
