// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/simulator.h"

#include <algorithm>

#include "core/base/index.h"

namespace skippipe {

namespace {

LinkRule lines_of(bool shared) { return shared ? LinkRule::shared : LinkRule::unlimited; }

}  // namespace

EventSimulator& Simulator::exact() { return exact_ ? *exact_ : exact_.emplace(problem_); }
BoundOrders& Simulator::bound_orders() { return bound_orders_ ? *bound_orders_ : bound_orders_.emplace(problem_); }

bool Simulator::dedicated_lines() {
    if (!dedicated_lines_) dedicated_lines_ = has_dedicated_lines(problem_);
    return *dedicated_lines_;
}

void Simulator::set_relative_sizes(const FlatPlan& flat) {
    relative_sizes_.clear();
    if (problem_.sizes.empty()) return;
    for (const MicrobatchIndex microbatch : flat.microbatches)
        relative_sizes_.push_back(problem_.relative_size(microbatch));
}

bool Simulator::simulate(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages, double cutoff_s) {
    fast_done_ = false;
    set_relative_sizes(flat);
    // Reductions are in the same queues as the microbatches; only events know who is first at a downlink.
    if ((problem_.plan_reductions && problem_.shared_links) || problem_.has_uplinks())
        return exact().run(flat, stages, relative_sizes_, cutoff_s, node_end_s_);
    if (flat.order.empty() && !flat.split_backward && flat.length > 1) {
        if (!fast_) fast_.emplace(problem_);
        const auto outcome = fast_->run(flat, relative_sizes_, cutoff_s, node_end_s_);
        if (outcome != FastOutcome::too_fine) return fast_done_ = outcome == FastOutcome::done;
    }
    if (!flat.order.empty() && dedicated_lines())
        return bound_orders().run(flat, relative_sizes_, lines_of(problem_.shared_links), cutoff_s, node_end_s_);
    return exact().run(flat, stages, relative_sizes_, cutoff_s, node_end_s_);
}

void Simulator::set_stage_ends(const FlatPlan& flat) {
    stage_end_s_.assign(at(problem_.stages), -1.0);
    makespan_s_ = 0;
    for (NodeIndex n = 0; n < problem_.nodes(); ++n) {
        if (flat.stage_of[n] < 0) continue;
        auto& end_s = stage_end_s_[flat.stage_of[n]];
        end_s = std::max(end_s, node_end_s_[n]);
        makespan_s_ = std::max(makespan_s_, end_s);
    }
}

/// After simulate(): when the last node has its sums.
double Simulator::reduced_s(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages) {
    if (problem_.shared_links) return exact_->reduced_s();
    if (!lone_reduction_) lone_reduction_.emplace(problem_);
    return lone_reduction_->end_s(stages, flat.reductions, node_end_s_);
}

SimulatedTimes Simulator::times(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages, double cutoff_s) {
    const bool done = simulate(flat, stages, cutoff_s);
    set_stage_ends(flat);
    if (!done || !(makespan_s_ < cutoff_s)) return {};
    SimulatedTimes result{makespan_s_, makespan_s_};
    if (problem_.plan_reductions) {
        result.iteration_s = std::max(makespan_s_, reduced_s(flat, stages) + problem_.step_seconds);
        return result;
    }
    for (StageIndex s = 0; s < problem_.stages; ++s)
        if (stage_end_s_[s] >= 0)
            result.iteration_s =
                std::max(result.iteration_s,
                         stage_end_s_[s] + all_reduce_seconds(problem_, stages[s], s) + problem_.step_seconds);
    return result;
}

Timeline Simulator::timeline(const FlatPlan& flat, const Plan& plan) {
    fast_done_ = false;
    set_relative_sizes(flat);
    Timeline timeline;
    timeline.spans.reserve(at(flat.count()) * at(flat.length) * 5);
    timeline.complete = exact().record(flat, plan.stages, relative_sizes_, timeline, node_end_s_);
    set_stage_ends(flat);
    timeline.makespan_s = makespan_s_;
    if (problem_.plan_reductions)
        finish_planned_iteration(plan, timeline);
    else
        finish_iteration(problem_, plan, stage_end_s_, timeline);
    return timeline;
}

bool Simulator::operation_ends(std::vector<double>& end_s) const {
    if (fast_done_) fast_->operation_ends(end_s);
    return fast_done_;
}

bool Simulator::follow_orders(const FlatPlan& flat, double cutoff_s, const double* after_s, double* start_s) {
    fast_done_ = false;
    set_relative_sizes(flat);
    const bool queue = problem_.shared_links && dedicated_lines();
    return bound_orders().follow(flat, relative_sizes_, lines_of(queue), cutoff_s, after_s, start_s, node_end_s_);
}

}  // namespace skippipe
