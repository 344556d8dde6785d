// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/ledger_compute.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/costs.h"
#include "core/engine/route_table.h"

namespace skippipe {

namespace {

/// A mark of what made a state, from the one before and what was added.
std::uint64_t mixed(std::uint64_t mark, std::uint64_t with) {
    mark = (mark ^ with) * 0x9e3779b97f4a7c15ull;
    return mark ^ (mark >> 29);
}

constexpr int mark_parts = 4, part_bits = 16;  // of a mark, as floats that hold each exactly

}  // namespace

LedgerCompute::LedgerCompute(const Problem& problem, const Plan& plan, LedgerFault fault)
    : nodes_(problem.nodes()), problem_(problem), fault_(fault), newest_(plan.stages.size()), plan_(plan) {
    begin_iteration(0);
    for (int stage = 0; at(stage) < plan.stages.size(); ++stage) {
        newest_[stage] = {.stage = stage, .steps = 0, .mark = mixed(1, at(stage))};
        for (const int node : plan.stages[at(stage)]) copies_[node] = newest_[stage];
    }
}

void LedgerCompute::follow(const RankSchedule& schedule) { plan_ = schedule.plan; }

void LedgerCompute::begin_iteration(int) {
    paths_.clear();
    for (const auto& path : plan_.paths) paths_[path.microbatch] = path.nodes;
    if (!plan_.paths.empty()) length_ = static_cast<int>(plan_.paths.front().nodes.size());
    stages_ = plan_.stages;
    stage_of_ = stage_of_nodes(plan_, nodes_);
    visits_.clear();
    on_way_.clear();
    sent_ = came_ = gone_ = {};
    stepped_.clear();
}

int LedgerCompute::hop_of(int node, int microbatch) const {
    const auto& path = paths_.at(microbatch);
    return static_cast<int>(std::find(path.begin(), path.end(), node) - path.begin());
}

double LedgerCompute::bytes_of(const Operation& operation) const {
    return (is_backward(operation.kind) ? problem_.backward_bytes : problem_.forward_bytes) *
           problem_.relative_size(operation.microbatch);
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

int LedgerCompute::receiver_of(int from_node, const Operation& next) const {
    const auto& path = paths_.at(next.microbatch);
    const int hop = hop_of(from_node, next.microbatch);
    if (next.kind == OpKind::L) return path.front();
    if (!is_backward(next.kind)) return hop + 1 < length_ ? static_cast<int>(path[at(hop + 1)]) : -1;
    return hop == 0 ? path.back() : path[at(hop - 1)];
}

/// The result of the step before is taken from where it was kept.
void LedgerCompute::handed_over(int from_node, const Operation& next) {
    require(!lost_.contains(from_node), from_node, next, "is sent by a node that is lost");
    const int hop = hop_of(from_node, next.microbatch);
    require(hop < length_, from_node, next, "is sent by a node that is not on its path");
    const auto& kept = visit(from_node, next.microbatch);
    const bool there = !is_backward(next.kind) ? kept.output : hop == 0 ? kept.loss_gradient : kept.gradient_out;
    require(there, from_node, next, "its input is sent by a node that has not kept it");
    const int to = receiver_of(from_node, next);
    require(to >= 0, from_node, next, "its input is sent to nobody");
    const double bytes = bytes_of(next);
    sent_.add(bytes);
    if (lost_.contains(to)) return gone_.add(bytes);
    require(on_way_.emplace(message_to(to, next), Way{from_node, bytes}).second, from_node, next,
            "its input is on its way already");
}

void LedgerCompute::arrived(int node, const Operation& operation) {
    require(!lost_.contains(node), node, operation, "arrived on a node that is lost");
    visit(node, operation.microbatch).*input_of(operation) = true;
    if (operation.kind == OpKind::F && hop_of(node, operation.microbatch) == 0) return;  // it lay there
    const auto way = on_way_.find(message_to(node, operation));
    require(way != on_way_.end(), node, operation, "its input arrived, and nobody who counts had handed it over");
    came_.add(way->second.bytes);
    on_way_.erase(way);
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
            require(held(task.node) < problem_.memory[at(task.node)], task.node, operation,
                    "the node holds as many microbatches as it may");
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
    if (const auto copy = copies_.find(node); copy != copies_.end()) {
        lost_copies_.emplace_back(*copy);
        copies_.erase(copy);
    }
    std::erase_if(visits_, [&](const auto& item) { return item.first.first == node; });
    std::erase_if(on_way_, [&](const auto& item) {
        const bool is_gone = std::get<0>(item.first) == node || item.second.from == node;
        if (is_gone) gone_.add(item.second.bytes);
        return is_gone;
    });
}

void LedgerCompute::go_on(const Replan& rest) {
    const auto& residual = rest.residual;
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        const auto first = rest.residual_plan.nodes.begin() + static_cast<std::ptrdiff_t>(i) * length_;
        const int microbatch = residual.microbatches[i];
        auto& path = paths_[microbatch];
        for (const int node : path)  // who is no longer on it gives it up
            if (std::find(first, first + length_, node) == first + length_) visit(node, microbatch).activations = false;
        path.assign(first, first + length_);
        for (int hop = 0; hop < length_; ++hop)
            if (!residual.holds(i, hop)) visit(path[at(hop)], microbatch).activations = false;
    }
    stages_ = rest.residual_plan.stages;
    stage_of_ = rest.residual_plan.stage_of;
    const RouteTable routes(residual, rest.residual_plan.nodes);
    auto before = std::exchange(on_way_, {});
    for (const auto& open : residual.open) {
        if (open.running || open.weight || open.step == 0 || open.ready_s <= residual.at_s) continue;
        const int microbatch = residual.microbatches[open.index];
        const auto operation = routes.operation_of(microbatch, open.step, open.redo ? 1 : 0);
        const int to = routes.node_of(microbatch, open.step), from = routes.node_of(microbatch, open.step - 1);
        if (from == to) continue;
        const auto sent = std::find_if(before.begin(), before.end(), [&](const auto& one) {
            return std::get<0>(one.first) == to && std::get<1>(one.first) == microbatch &&
                   std::get<2>(one.first) == operation.kind;
        });
        require(sent != before.end(), to, operation, "its input is expected, and nobody had handed it over");
        on_way_.emplace(message_to(to, operation), Way{from, sent->second.bytes});
        before.erase(sent);
    }
    for (const auto& [message, way] : before) gone_.add(way.bytes);
}

StageSum LedgerCompute::reduce(int stage, RankTransport&) {
    StageSum sum;
    for (const auto& [key, visit] : visits_)
        if (stage_of_[at(key.first)] == stage && !lost_.contains(key.first)) sum.tokens += visit.gradients;
    if (sum.tokens > 0) sum.squared_norm = 1;
    return sum;
}

/// The commit point: what was kept for those who might take another's place is of no use any more.
void LedgerCompute::step(int iteration, const std::vector<StageSum>& sums) {
    for (std::size_t stage = 0; stage < sums.size(); ++stage) {
        if (sums[stage].tokens == 0) continue;
        const auto next = [&](Copy& copy) {
            ++copy.steps;
            copy.mark = mixed(mixed(copy.mark, at(iteration)), static_cast<std::uint64_t>(sums[stage].tokens));
        };
        next(newest_[static_cast<int>(stage)]);
        bool left_out = fault_ == LedgerFault::copy_left_out;
        for (auto& [node, copy] : copies_) {
            if (copy.stage != static_cast<int>(stage) || std::exchange(left_out, false)) continue;
            next(copy);
            ++stepped_[node];
        }
    }
    if (fault_ == LedgerFault::keeps_results) return;
    for (auto& [key, visit] : visits_) visit.output = visit.gradient_out = visit.loss_gradient = false;
}

std::string LedgerCompute::fault_of_steps() const {
    for (const auto& [node, copy] : copies_) {
        std::int64_t gradients = 0;
        for (const auto& [key, visit] : visits_)
            if (stage_of_[at(key.first)] == copy.stage) gradients += visit.gradients;
        const auto found = stepped_.find(node);
        const int times = found == stepped_.end() ? 0 : found->second;
        if (times != (gradients > 0 ? 1 : 0))
            return fmt::format("node {} of stage {} steps {} times for {} gradients", node, copy.stage, times,
                               gradients);
    }
    return {};
}

std::vector<CopyHash> LedgerCompute::copy_hashes() const {
    std::vector<CopyHash> copies;
    for (const auto& [node, copy] : copies_)
        copies.push_back({copy.stage, node, mixed(copy.mark, static_cast<std::uint64_t>(copy.steps))});
    return copies;
}

const LedgerCompute::Copy& LedgerCompute::copy_of(int node) const {
    if (const auto own = copies_.find(node); own != copies_.end()) return own->second;
    const auto lost =
        std::find_if(lost_copies_.rbegin(), lost_copies_.rend(), [&](const auto& one) { return one.first == node; });
    if (lost == lost_copies_.rend()) throw std::logic_error(fmt::format("node {} never had weights", node));
    const int stage = lost->second.stage;
    for (const auto& [other, copy] : copies_)
        if (copy.stage == stage) return copy;
    return std::find_if(lost_copies_.rbegin(), lost_copies_.rend(),
                        [&](const auto& one) { return one.second.stage == stage; })
        ->second;
}

std::vector<float> LedgerCompute::values_of(const Copy& copy) const {
    std::vector<float> values;
    for (int part = 0; part < mark_parts; ++part)
        values.push_back(static_cast<float>((copy.mark >> (part * part_bits)) & ((1u << part_bits) - 1)));
    return values;
}

StageState LedgerCompute::state(int node) const {
    const auto& copy = copy_of(node);
    return {.weights = values_of(copy), .m = {}, .v = {}, .steps = copy.steps, .learning_rate = copy.learning_rate};
}

void LedgerCompute::set_state(int node, const StageState& state) {
    Copy copy{.stage = copy_of(node).stage, .steps = state.steps, .mark = 0, .learning_rate = state.learning_rate};
    for (int part = 0; part < mark_parts; ++part)
        copy.mark |= static_cast<std::uint64_t>(state.weights.at(at(part))) << (part * part_bits);
    newest_[copy.stage] = copy;
    if (!lost_.contains(node)) {
        copies_[node] = copy;
        return;
    }
    std::erase_if(lost_copies_, [&](const auto& one) { return one.first == node; });
    lost_copies_.emplace_back(node, copy);
}

void LedgerCompute::rejoin(int node, int sibling) {
    const Copy copy = copy_of(sibling);
    lost_.erase(node);
    std::erase_if(lost_copies_, [&](const auto& one) { return one.first == node; });
    copies_[node] = fault_ == LedgerFault::rejoins_with_nothing ? Copy{.stage = copy.stage} : copy;
}

void LedgerCompute::move(const RankSchedule& schedule, const std::vector<NodeMove>& moves, const FetchedStates&) {
    const auto before = copies_;
    for (const auto& move : moves) {
        copies_.erase(move.node);
        lost_.erase(move.node);
        std::erase_if(lost_copies_, [&](const auto& one) { return one.first == move.node; });
        if (move.stage < 0) continue;
        const auto given = before.find(move.from);
        if (given == before.end() || given->second.stage != move.stage)
            throw std::logic_error(
                fmt::format("node {} gets stage {} from node {}, which has it not", move.node, move.stage, move.from));
        copies_[move.node] = given->second;
    }
    follow(schedule);
    stage_of_ = stage_of_nodes(plan_, nodes_);
}

void LedgerCompute::rebuild(int node, const std::vector<NeighbourWeights>& from, double learning_rate) {
    Copy copy{.stage = copy_of(node).stage, .steps = 0, .mark = 7, .learning_rate = learning_rate};
    for (const auto& source : from)
        for (const float value : source.weights) copy.mark = mixed(copy.mark, static_cast<std::uint64_t>(value));
    copies_[node] = newest_[copy.stage] = copy;
}

int LedgerCompute::unequal_replica() const {
    for (int stage = 0; at(stage) < plan_.stages.size(); ++stage)
        for (const int node : plan_.stages[at(stage)]) {
            if (lost_.contains(node)) continue;
            const auto copy = copies_.find(node);
            if (copy == copies_.end() || copy->second != newest_[stage]) return node;
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
    for (auto visit = visits_.lower_bound({node, std::numeric_limits<int>::min()});
         visit != visits_.end() && visit->first.first == node; ++visit)
        held += visit->second.activations ? 1 : 0;
    return held;
}

int LedgerCompute::kept() const {
    int kept = 0;
    for (const auto& [key, visit] : visits_)
        kept += int{visit.output} + int{visit.gradient_out} + int{visit.loss_gradient};
    return kept;
}

}  // namespace skippipe
