// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/survival.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {
/// Weights and the two moments of the optimizer, each as many bytes as the gradient.
constexpr double fetched_per_gradient_byte = 3;
}  // namespace

Survival::Survival(const Experiment& experiment, const Problem& problem, Plan base, const Planner* planner,
                   const Membership& members)
    : experiment_(experiment),
      problem_(problem),
      schedule_(experiment, problem),
      controller_(experiment.recovery.policy),
      ahead_(experiment.recovery.planning_s > 0 ? planner : nullptr, experiment.seed, experiment.pipeline.plan_steps),
      base_(std::move(base)),
      stage_of_(stage_of_nodes(base_, problem.nodes())),
      slower_(members.slower),
      network_(problem) {
    for (const auto& absent : members.absent) {
        down_[absent.node] = absent.back_s;
        lost_as_[absent.node] = absent.lost_as;
        losses_ = std::max(losses_, absent.lost_as);
    }
    network_changed_ = !slower_.empty();
    if (network_changed_) update_network();
    if (!down_.empty() || !slower_.empty()) resumed_since_s_ = members.since_s;
}

Membership Survival::members() const {
    Membership members{.slower = slower_, .since_s = since_s_};
    for (const auto& [node, back_s] : down_) members.absent.push_back({node, back_s, lost_as_.at(node)});
    return members;
}

std::vector<FailureEvent> Survival::events(int iteration, double offset_s) const {
    auto events = schedule_.of_iteration(iteration, offset_s, expected_s_, base_.stages);
    std::set<int> lost;
    std::erase_if(events, [&](const FailureEvent& event) {
        const auto& change = event.disturbance.change;
        if (iteration == iteration_ && happened_.contains(event.failure)) return true;
        if (change.kind != NetworkChange::Kind::node_down) return false;
        return down(change.node) || stage_of_[at(change.node)] < 0 || !lost.insert(change.node).second;
    });
    return events;
}

void Survival::happened(int iteration, const std::vector<FailureEvent>& events, std::size_t count) {
    if (std::exchange(iteration_, iteration) != iteration) happened_.clear();
    for (std::size_t k = 0; k < count; ++k) {
        const auto& failure = experiment_.failures[events[k].failure];
        if (failure.at_iteration || failure.probability_per_iteration) happened_.insert(events[k].failure);
        const auto& change = events[k].disturbance.change;
        if (change.kind == NetworkChange::Kind::node_down) {
            down_[change.node] = events[k].back_s;
            lost_as_[change.node] = ++losses_;
        } else {
            slower_.push_back({change, events[k].back_s});
            network_changed_ = true;
        }
    }
    if (network_changed_) update_network();
}

void Survival::update_network() {
    std::vector<NetworkChange> changes;
    for (const auto& slower : slower_) changes.push_back(slower.change);
    network_ = changed_network(problem_, changes);
    planned_for_.reset();
}

std::vector<int> Survival::bring_back(double network_s) {
    std::vector<int> back;
    for (const auto& [node, back_s] : down_)
        if (back_s <= network_s && !waits_for_another(node, network_s)) back.push_back(node);
    for (const int node : back) down_.erase(node);
    const auto faster =
        std::erase_if(slower_, [&](const Membership::Slower& slower) { return slower.back_s <= network_s; });
    if (faster > 0) update_network();
    network_changed_ = network_changed_ || faster > 0;
    return back;
}

/// Where a whole stage was lost, the node that was lost last has its newest weights: the others wait for it.
bool Survival::waits_for_another(int node, double network_s) const {
    for (const int other : base_.stages[at(stage_of_[at(node)])]) {
        const auto lost = down_.find(other);
        if (lost == down_.end()) return false;
        if (lost_as_.at(other) > lost_as_.at(node) && lost->second > network_s && std::isfinite(lost->second))
            return true;
    }
    return false;
}

double Survival::next_back_s(double network_s) const {
    double next_s = std::numeric_limits<double>::infinity();
    for (const auto& ring : base_.stages)
        if (std::all_of(ring.begin(), ring.end(), [&](int node) { return down(node); }))
            for (const int node : ring)
                if (down_.at(node) > network_s) next_s = std::min(next_s, down_.at(node));
    return next_s;
}

int Survival::sibling(int node, const std::vector<int>& among) const {
    for (const int other : base_.stages[at(stage_of_[at(node)])])
        if (other != node && !down(other) && std::find(among.begin(), among.end(), other) == among.end()) return other;
    return -1;
}

double Survival::fetch_s(int sibling, int node) const {
    const auto& hop = network_.hop(NodeIndex(sibling), NodeIndex(node));
    if (hop.line == no_line) return 0;
    const double bytes = fetched_per_gradient_byte * network_.gradient_bytes[at(stage_of_[at(node)])];
    return bytes / hop.bandwidth_bytes_per_s + hop.latency_s + network_.overhead_s;
}

const Plan& Survival::plan(double network_s) {
    std::vector<NodeIndex> down;
    for (const auto& [node, back_s] : down_) down.emplace_back(node);
    if (planned_for_ != down) repair_plan(std::move(down), network_s);
    if (ahead_.begun() && network_s >= since_s_ + experiment_.recovery.planning_s) plan_anew();
    return plan_;
}

void Survival::repair_plan(std::vector<NodeIndex> down, double network_s) {
    planned_for_.reset();
    ahead_.give_up();
    plan_ = plan_without(network_, base_, down, controller_);
    expected_s_ = evaluate(network_, plan_).iteration_s;
    since_s_ = resumed_since_s_ ? *std::exchange(resumed_since_s_, std::nullopt) : network_s;
    if (!down.empty() || !slower_.empty()) ahead_.begin(network_, plan_);
    planned_for_ = std::move(down);
}

void Survival::plan_anew() {
    auto better = ahead_.take();
    if (!better) return;
    plan_ = std::move(*better);
    const double before_s = std::exchange(expected_s_, evaluate(network_, plan_).iteration_s);
    reason_ = fmt::format("planned anew for the nodes that are left: {} an iteration, {} before",
                          format_seconds(expected_s_), format_seconds(before_s));
}

void Survival::add_down(const std::map<int, double>& since_s, double iteration_s, std::vector<Span>& spans) const {
    for (const auto& [node, back_s] : down_) {
        const auto lost = since_s.find(node);
        const double from_s = lost == since_s.end() ? 0 : lost->second;
        if (iteration_s > from_s)
            spans.push_back(
                {SpanKind::down, NodeIndex(node), -1, stage_of_[at(node)], -1, from_s, from_s, iteration_s, 0});
    }
}

}  // namespace skippipe
