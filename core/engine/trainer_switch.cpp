// SPDX-License-Identifier: GPL-3.0-or-later
// Going over to another plan between two iterations, by the wall clock with all ranks; nodes may change their stages.
#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/format.h"
#include "core/base/index.h"
#include "core/engine/moves.h"
#include "core/engine/rank_timeline.h"
#include "core/engine/training.h"
#include "core/experiment/io.h"

namespace skippipe {

Plan Trainer::plan_from(const std::string& plan_json) const {
    Faults faults;
    auto plan = parse_plan(parse_json(plan_json, faults), problem_, faults);
    if (has_errors(faults)) throw InputError(faults);
    return plan;
}

void Trainer::switch_plan(const std::string& plan_json) {
    const auto plan = plan_from(plan_json);
    const auto& now = schedule().plan;
    const bool moves = plan.stages != now.stages;
    if (plan.blocks != now.blocks || (moves && !nodes_may_move(experiment_)))
        throw InputError("PLAN", "places nodes or blocks anew", "weights stay where they are while a run goes on",
                         "Start a new run with it");
    auto next = make_schedule(problem_, plan, schedule());
    if (const auto why = find_deadlock(problem_, next))
        throw InputError("PLAN", "comes to a deadlock: " + *why, "every rank posts transfers in one order",
                         "Plan again");
    const double since_s = steady_s();
    Switch prepared{std::move(next), {}, {}, missing()};
    if (moves) {
        const PlannedProblem planned(problem_, plan.blocks);
        const auto list = transport_.rank() == 0 ? to_text(moves_between(planned.get(), now.stages, plan.stages).list)
                                                 : std::string{};
        prepared.moves = read_moves(transport_.broadcast(list));
        if (const auto why = fault_of_moves(planned.get(), now.stages, plan.stages, prepared.moves); !why.empty())
            throw PeerFault(0, "moves nodes where they cannot go: " + why);
        prepared.fetched =
            fetch_for_moves(experiment_, schedule(), prepared.next, prepared.moves, compute_, transport_);
    }
    switch_ = std::move(prepared);
    transport_.all_gather({0});  // until all are so far
    const auto going = std::count_if(switch_->moves.begin(), switch_->moves.end(),
                                     [](const NodeMove& move) { return move.stage >= 0; });
    go_over_to(take_switch());
    const double lasted_s = steady_s() - since_s;
    if (going > 0) {
        network_s_ += lasted_s;
        reason_ += fmt::format("; {} node{} to another stage, which took {}", going, going == 1 ? " goes" : "s go",
                               format_seconds(lasted_s));
    }
    if (listener_) listener_->plan_switched(done_, schedule().plan, reason_);
    reason_.clear();
}

RankSchedule Trainer::take_switch() {
    auto [next, moves, fetched, without] = *std::exchange(switch_, std::nullopt);
    execution_.reset();  // it may not go on with nodes that have gone
    if (!moves.empty()) {
        compute_.move(next, moves, fetched);
        for (StageIndex stage = 0; at(stage) < next.plan.stages.size(); ++stage)
            for (const NodeIndex node : next.plan.stages[stage]) held_[node] = stage;
        placed_ = {.without = without, .slower = {}};
    }
    if (!moves.empty() || without.empty()) everybody_ = next;
    under_way_.begin(next.plan);
    ++switches_;
    return next;
}

void Trainer::settle_in(const Plan& placement) {
    const auto had = stage_of_nodes(everybody_.plan, problem_.nodes());
    const auto has = stage_of_nodes(placement, problem_.nodes());
    std::vector<NodeMove> moves;
    for (const NodeIndex node : nodes_of_ranks(everybody_, {transport_.rank()}))
        if (had[node] != has[node]) moves.push_back({node, has[node], -1});
    everybody_ = make_schedule(problem_, placement, everybody_);
    compute_.move(everybody_, moves);
}

void Trainer::take_switches(const Agreement& agreement) {
    if (is_new_) {
        if (!agreement.placement.empty()) settle_in(plan_from(agreement.placement));
        switches_ = agreement.switches;
    } else if (agreement.switches == switches_ + 1 && switch_) {
        take_switch();
    } else if (agreement.switches != switches_) {
        throw std::logic_error("the others have gone over to a plan that this rank does not know");
    }
    switch_.reset();
}

std::vector<NodeIndex> Trainer::missing() const { return nodes_of_ranks(everybody_, absent_ranks(transport_)); }

std::vector<NodeIndex> Trainer::spares(const Plan& plan) const {
    const auto stage_of = stage_of_nodes(plan, problem_.nodes());
    auto spares = nodes_of_ranks(everybody_, transport_.members());
    std::erase_if(spares, [&](NodeIndex node) { return stage_of[node] >= 0; });
    return spares;
}

void Trainer::plan_ahead(const Plan& now) {
    const bool is_first = transport_.rank() == 0 && experiment_.execution.clock == Clock::wall;
    if (is_first && placed_.without != missing()) ahead_.begin(problem_, now, spares(now));
}

std::string Trainer::plan_made_anew() {
    if (!ahead_.ready()) return {};
    const auto better = ahead_.take();
    if (!better || find_deadlock(problem_, make_schedule(problem_, *better, everybody_))) return {};
    reason_ = "planned anew for the nodes that are left";
    return to_json(*better, problem_, nullptr).dump();
}

void Trainer::go_over_to(RankSchedule next) {
    execution_.reset();  // first: a line book of the old plan is given back
    compute_.follow(next);
    transport_.follow(next);
    execution_ = std::make_unique<PlanExecution>(experiment_, problem_, std::move(next), compute_, transport_);
}

}  // namespace skippipe
