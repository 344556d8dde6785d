// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/ledger_compute.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/costs.h"

namespace skippipe {

LedgerCompute::LedgerCompute(int nodes, const Plan& plan) : nodes_(nodes), steps_(plan.stages.size(), 0), plan_(plan) {
    begin_iteration(0);
    for (int stage = 0; at(stage) < plan.stages.size(); ++stage)
        for (const int node : plan.stages[at(stage)]) copies_[node] = {stage, 0};
}

void LedgerCompute::follow(const RankSchedule& schedule) { plan_ = schedule.plan; }

void LedgerCompute::begin_iteration(int) {
    paths_.clear();
    for (const auto& path : plan_.paths) paths_[path.microbatch] = path.nodes;
    if (!plan_.paths.empty()) length_ = static_cast<int>(plan_.paths.front().nodes.size());
    stages_ = plan_.stages;
    stage_of_ = stage_of_nodes(plan_, nodes_);
    lost_.clear();
    visits_.clear();
}

int LedgerCompute::hop_of(int node, int microbatch) const {
    const auto& path = paths_.at(microbatch);
    return static_cast<int>(std::find(path.begin(), path.end(), node) - path.begin());
}

void LedgerCompute::require(bool holds, int node, const Operation& operation, const char* what) const {
    if (!holds)
        throw std::logic_error(fmt::format("{} on node {} (hop {}): {}", to_string(operation), node,
                                           hop_of(node, operation.microbatch), what));
}

bool LedgerCompute::Visit::*LedgerCompute::input_of(const Operation& operation) const {
    if (operation.kind == OpKind::L) return &Visit::loss_input;
    return is_backward(operation.kind) ? &Visit::gradient_in : &Visit::input;
}

/// The result of the step before is taken from where it was kept.
void LedgerCompute::handed_over(int from_node, const Operation& next) {
    require(!lost_.contains(from_node), from_node, next, "is sent by a node that is lost");
    const int hop = hop_of(from_node, next.microbatch);
    require(hop < length_, from_node, next, "is sent by a node that is not on its path");
    const auto& kept = visit(from_node, next.microbatch);
    const bool there = !is_backward(next.kind) ? kept.output : hop == 0 ? kept.loss_gradient : kept.gradient_out;
    require(there, from_node, next, "its input is sent by a node that has not kept it");
}

void LedgerCompute::arrived(int node, const Operation& operation) {
    require(!lost_.contains(node), node, operation, "arrived on a node that is lost");
    visit(node, operation.microbatch).*input_of(operation) = true;
}

void LedgerCompute::submit(const ComputeTask& task, Buffer, Completion) {
    const auto& operation = task.operation;
    const int hop = hop_of(task.node, operation.microbatch);
    require(hop == task.hop && !lost_.contains(task.node), task.node, operation, "the microbatch does not pass there");
    auto& here = visit(task.node, operation.microbatch);
    const bool first = operation.kind == OpKind::F && hop == 0, own_loss = operation.kind == OpKind::L && length_ == 1;
    const bool own_gradient = is_backward(operation.kind) && length_ == 1;
    if (operation.kind != OpKind::W) {
        const bool there =
            first || (own_loss && here.output) || (own_gradient && here.loss_gradient) || here.*input_of(operation);
        require(there, task.node, operation, "its input is not there");
    }
    switch (operation.kind) {
        case OpKind::F:
            require(!here.activations, task.node, operation, "its activations are there already");
            here.activations = here.output = true;
            return;
        case OpKind::L:
            here.loss_gradient = true;
            ++here.heads;
            return;
        case OpKind::B:
            require(here.activations, task.node, operation, "its activations are not there");
            here.activations = false;
            here.gradient_out = true;
            ++here.gradients;
            return;
        case OpKind::I:
            require(here.activations && !here.split, task.node, operation, "its activations are not there");
            here.split = here.gradient_out = true;
            return;
        case OpKind::W:
            require(here.split && here.activations, task.node, operation, "its I has not run");
            here.activations = here.split = false;
            ++here.gradients;
            return;
    }
}

void LedgerCompute::lose(int node) {
    lost_.insert(node);
    copies_.erase(node);
    std::erase_if(visits_, [&](const auto& item) { return item.first.first == node; });
}

void LedgerCompute::go_on(const Replan& rest) {
    for (ReleaseIndex i = 0; i < rest.residual.count(); ++i) {
        const auto first = rest.residual_plan.nodes.begin() + static_cast<std::ptrdiff_t>(i) * length_;
        auto& path = paths_[rest.residual.microbatches[i]];
        path.assign(first, first + length_);
        for (int hop = 0; hop < length_; ++hop)
            if (!rest.residual.holds(i, hop)) visit(path[at(hop)], rest.residual.microbatches[i]).activations = false;
    }
    stages_ = rest.residual_plan.stages;
    stage_of_ = rest.residual_plan.stage_of;
}

StageSum LedgerCompute::reduce(int stage, RankTransport&) {
    StageSum sum;
    for (const auto& [key, visit] : visits_)
        if (stage_of_[at(key.first)] == stage && !lost_.contains(key.first)) sum.tokens += visit.gradients;
    if (sum.tokens > 0) sum.squared_norm = 1;
    return sum;
}

void LedgerCompute::step(int, const std::vector<StageSum>& sums) {
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
        if (sums[stage].tokens == 0) continue;
        ++steps_[stage];
        for (auto& [node, copy] : copies_) copy.steps += copy.stage == static_cast<int>(stage) ? 1 : 0;
    }
}

void LedgerCompute::rejoin(int node, int sibling) {
    lost_.erase(node);
    copies_[node] = copies_.at(sibling);
}

void LedgerCompute::move(const RankSchedule& schedule, const std::vector<NodeMove>& moves, const FetchedStates&) {
    const auto before = copies_;
    for (const auto& move : moves) {
        copies_.erase(move.node);
        if (move.stage < 0) continue;
        const auto given = before.find(move.from);
        if (given == before.end() || given->second.stage != move.stage)
            throw std::logic_error(
                fmt::format("node {} gets stage {} from node {}, which has it not", move.node, move.stage, move.from));
        copies_[move.node] = given->second;
    }
    follow(schedule);
}

int LedgerCompute::unequal_replica() const {
    for (int stage = 0; at(stage) < plan_.stages.size(); ++stage)
        for (const int node : plan_.stages[at(stage)]) {
            if (lost_.contains(node)) continue;
            const auto copy = copies_.find(node);
            if (copy == copies_.end() || copy->second != Copy{stage, steps_[at(stage)]}) return node;
        }
    return -1;
}

int LedgerCompute::counted(int microbatch, int stage) const {
    int times = 0;
    for (const auto& [key, visit] : visits_)
        if (key.second == microbatch && stage_of_[at(key.first)] == stage) times += visit.gradients;
    return times;
}

int LedgerCompute::counted_head(int microbatch) const {
    int times = 0;
    for (const auto& [key, visit] : visits_)
        if (key.second == microbatch) times += visit.heads;
    return times;
}

int LedgerCompute::held(int node) const {
    int held = 0;
    for (const auto& [key, visit] : visits_) held += key.first == node && visit.activations ? 1 : 0;
    return held;
}

}  // namespace skippipe
