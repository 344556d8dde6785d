// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/orders/order_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "plugins/planners/common/feasibility.h"

namespace skippipe::planners::joint {

OrderState::OrderState(const Problem& of, const PlanCandidate& start)
    : SearchState(of, start), times_(problem(), start), exact_(follows_a_graph(of)), simulator_(problem()) {
    change_.journal = &journal_;
    change_.blocks = true;
}

AnnealingCost OrderState::cost(double cutoff_s) {
    times_.follow(candidate_, change_);
    followed_ = true;
    const double iteration_s = exact_ ? times_.iteration_s(candidate_, cutoff_s, change_)
                                      : simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s;
    if (!std::isfinite(iteration_s)) return {infinite, 0};
    return {iteration_s, mean_end_s(candidate_.stages[0], exact_ ? times_.node_end_s() : simulator_.node_end_s())};
}

void OrderState::accept() {
    if (!exact_) times_.iteration_s(candidate_, infinite, change_);
    times_.accept(candidate_);
    accept_candidate();
    change_.clear();
    followed_ = false;
}

void OrderState::undo() {
    undo_candidate();
    if (followed_) {
        times_.follow(candidate_, change_);
        if (exact_) times_.reject(candidate_, change_);
    }
    change_.clear();
    followed_ = false;
}

std::string OrderState::fault(const AnnealingCost& claimed) {
    if (auto found = inconsistency(); !found.empty()) return found;
    if (!times_.are_those_of(candidate_)) return "start times are not those of the candidate";
    const double seconds = evaluated_s(problem(), candidate_);
    if (seconds != claimed.iteration_s)
        return fmt::format("the evaluator says {} s, the search {} s", seconds, claimed.iteration_s);
    return {};
}

bool OrderState::fits(ReleaseIndex index) const {
    return fits_stages(problem(), schedule(), index) && has_lines(problem(), schedule(), index);
}

void OrderState::note_path(ReleaseIndex index) {
    if (std::find(change_.paths.begin(), change_.paths.end(), index) == change_.paths.end())
        change_.paths.push_back(index);
}

void OrderState::set_hop(ReleaseIndex index, int hop, NodeIndex node) {
    SearchState::set_hop(index, hop, node);
    note_path(index);
}

void OrderState::swap_nodes(NodeIndex u, NodeIndex v) {
    edit(u);
    edit(v);
    auto& schedule = candidate_.schedule;
    const auto exchange = [&](NodeIndex& node) {
        if (node == u || node == v) journal_.set(node, node == u ? v : u);
    };
    for (std::size_t k = 0; k < schedule.nodes.size(); ++k)
        if (schedule.nodes[k] == u || schedule.nodes[k] == v) {
            note_path(ReleaseIndex(k / at(schedule.length)));
            exchange(schedule.nodes[k]);
        }
    for (auto& ring : candidate_.stages) std::for_each(ring.begin(), ring.end(), exchange);
    journal_.swap(schedule.stage_of[u], schedule.stage_of[v]);
    std::swap(schedule.order[u], schedule.order[v]);
    change_.nodes = {u, v};
    refit_reduction(stage_of(u));
    refit_reduction(stage_of(v));
}

bool OrderState::lines_fit() const { return has_ring_lines(problem(), candidate_); }

bool OrderState::nodes_fit(NodeIndex u, NodeIndex v) const {
    const auto unfit = [&](ReleaseIndex index) { return !has_lines(problem(), schedule(), index); };
    if (std::any_of(change_.paths.begin(), change_.paths.end(), unfit) || !lines_fit()) return false;
    return holds(u) && holds(v);
}

void OrderState::move_blocks(StageIndex from, StageIndex to, int count) {
    SearchState::move_blocks(from, to, count);
    change_.blocks = true;
}

void OrderState::swap_microbatches(ReleaseIndex i, ReleaseIndex j) {
    SearchState::swap_microbatches(i, j);
    change_.sizes = true;
    change_.paths = {i, j};
}

}  // namespace skippipe::planners::joint
