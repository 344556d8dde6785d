// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/survival.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/engine/stage_rebuild.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"

namespace skippipe {

namespace {

constexpr double most_slowed = 1e6;  // of an iteration, by failures that add up

}  // namespace

Survival::Survival(const Experiment& experiment, const Problem& problem, Plan base, const Planner* planner,
                   const Membership& members, std::int64_t operations)
    : experiment_(experiment),
      problem_(problem),
      schedule_(experiment, problem),
      controller_(experiment.recovery.policy, operations),
      ahead_(experiment.recovery.planning_s > 0 ? planner : nullptr, experiment.seed, experiment.pipeline.plan_steps,
             experiment.recovery.move_nodes_s),
      base_(std::move(base)),
      stage_of_(stage_of_nodes(base_, problem.nodes())),
      placed_(members.placed),
      slower_(members.slower),
      network_(problem),
      uncut_(problem),
      squared_norms_(members.squared_norms) {
    for (const auto& absent : members.absent) {
        auto& here = down_[absent.node] = absent;
        if (here.stage < 0) here.stage = stage_of_[at(absent.node)];
        losses_ = std::max(losses_, absent.lost_as);
    }
    network_changed_ = !slower_.empty();
    if (network_changed_) update_network();
    const bool disturbed = !down_.empty() || !slower_.empty() || placed_ != Membership::Placed{};
    if (members.since_s >= 0 && disturbed) resumed_ = this->members();
    if (resumed_) resumed_->since_s = members.since_s;
}

Membership Survival::members() const {
    std::vector<NodeIndex> down;
    for (const auto& [node, absent] : down_) down.emplace_back(node);
    Membership members{.slower = slower_,
                       .placed = placed_,
                       .since_s = planned_for_ == down ? since_s_ : -1,
                       .squared_norms = squared_norms_};
    for (const auto& [node, absent] : down_) members.absent.push_back(absent);
    return members;
}

std::vector<FailureEvent> Survival::events(int iteration, double offset_s) const {
    auto events = schedule_.of_iteration(iteration, offset_s, expected_s_, base_.stages);
    std::set<int> lost;
    std::erase_if(events, [&](const FailureEvent& event) {
        const auto& change = event.disturbance.change;
        if (happened_.contains({event.failure, iteration})) return true;
        if (change.kind != NetworkChange::Kind::node_down) return false;
        return down(change.node) || stage_of_[at(change.node)] < 0 || !lost.insert(change.node).second;
    });
    return events;
}

void Survival::happened(int iteration, const std::vector<FailureEvent>& events, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
        note(events[k].failure, iteration);
        const auto& change = events[k].disturbance.change;
        if (change.kind == NetworkChange::Kind::node_down) {
            lose(change.node, events[k].back_s);
        } else {
            slower_.push_back({change, events[k].back_s, events[k].disturbance.seed});
            network_changed_ = true;
        }
    }
    if (network_changed_) update_network();
}

void Survival::lose(int node, double back_s) { down_[node] = {node, back_s, ++losses_, stage_of_[at(node)]}; }

void Survival::lose_spares(int iteration, double offset_s, double lasted_s) {
    for (const auto& event : schedule_.of_iteration(iteration, offset_s, expected_s_, base_.stages)) {
        const auto& [at_s, change, known_s, seed, lives_on] = event.disturbance;
        const bool is_spare = change.kind == NetworkChange::Kind::node_down && stage_of_[at(change.node)] < 0;
        if (!is_spare || at_s >= lasted_s || down(change.node) || happened_.contains({event.failure, iteration}))
            continue;
        note(event.failure, iteration);
        lose(change.node, event.back_s);
    }
}

void Survival::note(std::size_t failure, int iteration) {
    const auto& what = experiment_.failures[failure];
    if (what.at_iteration || what.probability_per_iteration) happened_.insert({failure, iteration});
}

std::vector<Disturbance> Survival::variation() const {
    std::vector<Disturbance> varies;
    for (const auto& slower : slower_)
        if (!slower.change.slows() && slower.change.kind != NetworkChange::Kind::line_cut)
            varies.push_back({.change = slower.change, .seed = slower.seed});
    return varies;
}

std::vector<SpeedChange> Survival::speeds() const {
    std::vector<SpeedChange> changes;
    for (const auto& slower : slower_)
        if (slower.change.kind != NetworkChange::Kind::line_cut)
            changes.push_back(speed_change(problem_, slower.change, slower.seed));
    return changes;
}

std::optional<CoordinatorLoss> Survival::coordinator_lost(int iteration, double offset_s) const {
    auto losses = schedule_.coordinator_losses(iteration, offset_s, expected_s_);
    std::erase_if(losses, [&](const auto& loss) { return happened_.contains({loss.failure, iteration}); });
    if (losses.empty()) return std::nullopt;
    return *std::min_element(losses.begin(), losses.end(),
                             [](const auto& a, const auto& b) { return a.at_s < b.at_s; });
}

void Survival::update_network() {
    std::vector<NetworkChange> slows, cuts;
    for (const auto& slower : slower_)
        (slower.change.kind == NetworkChange::Kind::line_cut ? cuts : slows).push_back(slower.change);
    uncut_ = changed_network(problem_, slows);
    network_ = changed_network(uncut_, cuts);
    planned_for_.reset();
}

std::vector<int> Survival::bring_back(double network_s) {
    std::vector<int> back;
    for (const auto& [node, absent] : down_)
        if (absent.back_s <= network_s && !waits_for_another(node, network_s)) back.push_back(node);
    for (const int node : back) down_.erase(node);
    std::erase_if(back, [&](int node) { return stage_of(node) < 0; });
    const auto faster =
        std::erase_if(slower_, [&](const Membership::Slower& slower) { return slower.back_s <= network_s; });
    if (faster > 0) update_network();
    network_changed_ = network_changed_ || faster > 0;
    return back;
}

/// Where a whole stage was lost, the node that was lost last has its newest weights: the others wait for it.
bool Survival::waits_for_another(int node, double network_s) const {
    if (experiment_.recovery.rebuild != StageRebuild::disk || stage_of(node) < 0) return false;
    for (const int other : base_.stages[at(stage_of_[at(node)])]) {
        const auto lost = down_.find(other);
        if (lost == down_.end()) return false;
        const double back_s = lost->second.back_s;
        if (lost->second.lost_as > down_.at(node).lost_as && back_s > network_s && std::isfinite(back_s)) return true;
    }
    return false;
}

double Survival::next_back_s(double network_s) const {
    double next_s = std::numeric_limits<double>::infinity();
    for (const auto& slower : slower_)
        if (slower.change.kind == NetworkChange::Kind::line_cut && slower.back_s > network_s)
            next_s = std::min(next_s, slower.back_s);
    for (const auto& ring : base_.stages)
        if (std::all_of(ring.begin(), ring.end(), [&](int node) { return down(node); }))
            for (const int node : ring)
                if (const double back_s = down_.at(node).back_s; back_s > network_s) next_s = std::min(next_s, back_s);
    return next_s;
}

int Survival::sibling(int node, const std::vector<int>& among) const {
    for (const int other : base_.stages[at(stage_of_[at(node)])])
        if (other != node && !down(other) && std::find(among.begin(), among.end(), other) == among.end()) return other;
    return -1;
}

double Survival::fetch_s(int sibling, int node) const {
    return travel_s(network_, sibling, node, state_bytes(network_, stage_of_[at(node)]));
}

std::vector<RebuildSource> Survival::neighbours(int node) const {
    return neighbours_of(
        base_.stages, stage_of_[at(node)], [this](NodeIndex other) { return !down(other); }, squared_norms_);
}

double Survival::rebuild_s(const std::vector<RebuildSource>& from, int node) const {
    double slowest_s = 0;
    for (const auto& source : from)
        slowest_s = std::max(slowest_s, travel_s(network_, source.node, node,
                                                 network_.weight_bytes(StageIndex(stage_of_[at(source.node)]))));
    return slowest_s;
}

void Survival::reduced(const std::vector<StageSum>& sums) {
    squared_norms_.resize(sums.size(), -1);
    for (std::size_t stage = 0; stage < sums.size(); ++stage)
        if (sums[stage].squared_norm >= 0) squared_norms_[stage] = sums[stage].squared_norm;
}

const Plan& Survival::plan(double network_s) {
    std::vector<NodeIndex> down;
    for (const auto& [node, absent] : down_) down.emplace_back(node);
    if (planned_for_ != down) repair_plan(std::move(down), network_s);
    if (ahead_.begun() && network_s >= since_s_ + experiment_.recovery.planning_s) plan_anew();
    return plan_;
}

bool Survival::awaits_plan(double network_s) const {
    return ahead_.begun() && !ahead_.ready() && network_s >= since_s_ + experiment_.recovery.planning_s;
}

void Survival::repair_plan(std::vector<NodeIndex> down, double network_s) {
    planned_for_.reset();
    ahead_.give_up();
    auto missed = down;
    std::erase_if(missed, [&](NodeIndex node) { return stage_of_[node] < 0; });
    plan_ = plan_without(uncut_, base_, missed, controller_);
    const auto resumed = std::exchange(resumed_, std::nullopt);
    since_s_ = resumed && same_members(*resumed) ? resumed->since_s : network_s;
    if (!is_as_placed(down)) ahead_.begin(network_, plan_, spares());
    const auto cut = [&](NodeIndex from, NodeIndex to) { return !network_.reachable(from, to); };
    if (any_way(network_, plan_, true, cut)) {
        // Paths go over a link that is cut: only another plan helps, and training waits for it.
        auto around = ahead_.take();
        if (!around)
            throw InputError("links", "no plan goes around the links that are cut",
                             "nodes stay in their stages, and messages go where the network has links",
                             "Let the link come back (rejoin_after_s), draw another one, and leave planning_s above 0");
        go_over_to(std::move(*around));
        waits_s_ = since_s_ + experiment_.recovery.planning_s;
    }
    expect();
    planned_for_ = std::move(down);
}

void Survival::bind_order() {
    binds_order_ = true;
    planned_for_.reset();
}

/// How long an iteration of plan_ takes. Where it would come to a standstill, in the order of a network in which it
/// does not: a bound order that comes to its end once always does.
void Survival::expect() {
    auto timeline = evaluate(network_, plan_);
    if (plan_.order.empty() && (binds_order_ || !timeline.complete)) {
        const auto freely = timeline.complete ? timeline : evaluate(problem_, plan_);
        if (freely.complete) {
            plan_ = with_executed_order(std::move(plan_), problem_, freely);
            timeline = evaluate(network_, plan_);
        }
    }
    if (!timeline.complete)
        throw InputError("/failures", "no iteration comes to its end in the network that is left",
                         "nodes or links have become slower without end, or are gone",
                         "Give what makes them slower rejoin_after_s, or a lower rate or probability");
    expected_s_ = timeline.iteration_s;
    if (drawn_s_ == 0) drawn_s_ = evaluate(problem_, plan_).iteration_s;
    if (expected_s_ > most_slowed * drawn_s_)
        throw InputError("/failures", fmt::format("the network is more than {:g} times slower than drawn", most_slowed),
                         fmt::format("an iteration would take {}", format_seconds(expected_s_)),
                         "Give what makes it slower rejoin_after_s, or a lower rate or probability");
}

void Survival::plan_anew() {
    auto better = ahead_.take();
    if (!better) return;
    go_over_to(std::move(*better));
    const double before_s = expected_s_;
    expect();
    reason_ = fmt::format("planned anew for the nodes that are left: {} an iteration, {} before",
                          format_seconds(expected_s_), format_seconds(before_s));
    const auto moved =
        std::count_if(moves_.list.begin(), moves_.list.end(), [](const auto& m) { return m.stage >= 0; });
    if (moved > 0)
        reason_ += fmt::format("; {} node{} to another stage, which takes {}", moved, moved == 1 ? " goes" : "s go",
                               format_seconds(moves_.lasts_s));
}

/// Where nodes change their stages, those who are lost have none any more: who comes back waits for the next plan.
void Survival::go_over_to(Plan better) {
    const PlannedProblem planned(network_, better.blocks);
    moves_ = moves_between(planned.get(), plan_.stages, better.stages);
    if (const auto fault = fault_of_moves(planned.get(), plan_.stages, better.stages, moves_.list);
        !moves_.possible || !fault.empty())
        throw std::logic_error("a plan made anew places nodes where they cannot go: " + fault);
    plan_ = std::move(better);
    if (moves_.list.empty()) return;
    for (const auto& [node, absent] : down_)
        if (stage_of_[at(node)] >= 0) moves_.list.push_back({node, -1, -1});
    base_ = plan_;
    stage_of_ = stage_of_nodes(base_, problem_.nodes());
    placed_ = {.slower = slower_};
    for (const auto& [node, absent] : down_) placed_.without.emplace_back(node);
}

bool Survival::same_members(const Membership& then) const {
    const auto is_down = [&](const Membership::Absent& absent) { return down(absent.node); };
    return then.slower == slower_ && then.absent.size() == down_.size() &&
           std::all_of(then.absent.begin(), then.absent.end(), is_down);
}

bool Survival::is_as_placed(const std::vector<NodeIndex>& down) const {
    return placed_.without == down && placed_.slower == slower_;
}

std::vector<NodeIndex> Survival::spares() const {
    std::vector<NodeIndex> spares;
    for (NodeIndex node = 0; node < problem_.nodes(); ++node)
        if (stage_of_[node] < 0 && !down(node)) spares.push_back(node);
    return spares;
}

void Survival::add_down(const std::map<int, double>& since_s, double iteration_s, std::vector<Span>& spans) const {
    for (const auto& [node, absent] : down_) {
        const auto lost = since_s.find(node);
        const double from_s = lost == since_s.end() ? 0 : lost->second;
        if (iteration_s > from_s)
            spans.push_back(
                {SpanKind::down, NodeIndex(node), -1, StageIndex(absent.stage), -1, from_s, from_s, iteration_s, 0});
    }
}

}  // namespace skippipe
