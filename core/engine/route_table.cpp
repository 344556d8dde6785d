// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/route_table.h"

#include <algorithm>
#include <stdexcept>

#include "core/base/index.h"

namespace skippipe {

RouteTable::RouteTable(const Plan& plan) : split_backward_(plan.split_backward) {
    for (const auto& path : plan.paths) routes_[path.microbatch].nodes = path.nodes;
    if (!plan.paths.empty()) length_ = static_cast<int>(plan.paths.front().nodes.size());
}

RouteTable::RouteTable(const Residual& residual, const std::vector<NodeIndex>& nodes)
    : length_(residual.length), split_backward_(residual.split_backward) {
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        auto& route = routes_[residual.microbatches[i]];
        const auto first = nodes.begin() + static_cast<std::ptrdiff_t>(i) * length_;
        route.nodes.assign(first, first + length_);
        for (int step = 0; step < residual.steps(); ++step) {
            route.again.push_back(residual.redone(i, step) ? 1 : 0);
            route.fed.push_back(0);
        }
    }
    for (const auto& open : residual.open)
        if (open.redo) routes_[residual.microbatches[open.index]].fed[at(open.step)] = 1;
}

int RouteTable::hop(int microbatch, int node) const {
    const auto& nodes = path(microbatch);
    const auto found = std::find(nodes.begin(), nodes.end(), node);
    if (found == nodes.end()) throw std::logic_error("a node asked for a microbatch that never visits it");
    return static_cast<int>(found - nodes.begin());
}

int RouteTable::step_of(const Operation& operation, int node) const {
    if (operation.kind == OpKind::L) return length_;
    const int here = hop(operation.microbatch, node);
    return operation.kind == OpKind::F ? here : 2 * length_ - here;
}

Operation RouteTable::operation_of(int microbatch, int step, std::uint8_t attempt) const {
    const auto backward = split_backward_ ? OpKind::I : OpKind::B;
    return {step < length_ ? OpKind::F : step == length_ ? OpKind::L : backward, MicrobatchIndex(microbatch), attempt};
}

int RouteTable::node_of(int microbatch, int step) const {
    const auto& nodes = path(microbatch);
    if (step == length_) return nodes.front();
    return nodes[at(step < length_ ? step : 2 * length_ - step)];
}

RouteTable::Next RouteTable::after(const Operation& operation, int node) const {
    if (operation.kind == OpKind::W) return {};
    const int m = operation.microbatch, next = step_of(operation, node) + 1;
    if (next > 2 * length_) return {};
    if (operation.attempt > 0) {
        const auto& route = routes_.at(m);
        if (route.again.empty() || route.again[at(next)] == 0 || route.fed[at(next)] != 0) return {};
    }
    return {operation_of(m, next, operation.attempt), node_of(m, next)};
}

std::vector<int> RouteTable::forwards_again(int node) const {
    std::vector<int> microbatches;
    for (const auto& [microbatch, route] : routes_)
        for (int hop = 0; hop < length_ && !route.again.empty(); ++hop)
            if (route.nodes[at(hop)] == node && route.again[at(hop)] != 0) microbatches.push_back(microbatch);
    return microbatches;
}

}  // namespace skippipe
