// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/paths/path_state.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "plugins/planners/common/feasibility.h"

namespace skippipe::planners::joint {

namespace {

bool lacks_lines(const Problem& problem, const Network& network) {
    for (NodeIndex a = 0; a < problem.nodes(); ++a)
        for (NodeIndex b = 0; b < problem.nodes(); ++b)
            if (network.round_s(a, b) >= unreachable_s) return true;
    return false;
}

}  // namespace

PathState::PathState(const Problem& of, const Network& network, const PlanCandidate& start, const PathOptions& options)
    : SearchState(of, start),
      simulator_(problem()),
      missing_lines_(lacks_lines(problem(), network)),
      may_move_blocks_(plans_blocks() && problem().stages > 1 && !options.hold_blocks),
      position_(at(problem().nodes()), -1) {
    if (options.drawn != nullptr) drawn_networks_.emplace(of, *options.drawn, options.seed);
    if (options.scenarios != nullptr) tail_cost_.emplace(problem(), *options.scenarios);
    for (const auto& ring : candidate_.stages)
        for (std::size_t k = 0; k < ring.size(); ++k) position_[ring[k]] = static_cast<int>(k);
}

AnnealingCost PathState::cost(double cutoff_s) {
    if (is_robust()) return tail_cost(cutoff_s);
    const double seconds = simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s;
    return {seconds, mean_end_s(candidate_.stages[0], simulator_.node_end_s())};
}

/// What takes longer on the network as drawn than it may in the worse half of the drawn networks is ruled out by that
/// alone.
AnnealingCost PathState::tail_cost(double cutoff_s) {
    if (!std::isfinite(simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s))
        return {infinite, 0};
    if (drawn_networks_) {
        const auto drawn = (*drawn_networks_)(candidate_, cutoff_s);
        return {drawn.iteration_s, drawn.mean_end_s};
    }
    if (!simulator_.operation_ends(operation_end_s_)) return {infinite, 0};
    const auto value = (*tail_cost_)(candidate_, operation_end_s_);
    return {value.iteration_s, value.mean_end_s};
}

std::string PathState::fault(const AnnealingCost& claimed) {
    if (auto found = inconsistency(); !found.empty()) return found;
    for (StageIndex s = 0; s < problem().stages; ++s)
        for (std::size_t k = 0; k < ring(s).size(); ++k)
            if (position_[ring(s)[k]] != static_cast<int>(k) || stage_of(ring(s)[k]) != s)
                return fmt::format("node {} stands elsewhere than at {} of stage {}", ring(s)[k], k, s);
    const double seconds = is_robust() ? cost(infinite).iteration_s : evaluated_s(problem(), candidate_);
    if (seconds != claimed.iteration_s)
        return fmt::format("the evaluator says {} s, the search {} s", seconds, claimed.iteration_s);
    return {};
}

bool PathState::fits(ReleaseIndex index) const {
    return fits_stages(problem(), schedule(), index) && (!missing_lines_ || has_lines(problem(), schedule(), index));
}

bool PathState::lines_fit() const { return !missing_lines_ || fits_everywhere(problem(), candidate_); }

void PathState::swap_hops(ReleaseIndex i, int a, ReleaseIndex j, int b) {
    const NodeIndex first = node(i, a), second = node(j, b);
    SearchState::set_hop(i, a, second);
    SearchState::set_hop(j, b, first);
}

void PathState::swap_paths(ReleaseIndex i, ReleaseIndex j) {
    journal_.keep(path(i), path(i) + length());
    journal_.keep(path(j), path(j) + length());
    std::swap_ranges(path(i), path(i) + length(), path(j));
}

void PathState::move_path(ReleaseIndex from, ReleaseIndex to) {
    const ReleaseIndex first = std::min(from, to), last = std::max(from, to);
    const auto past = [](ReleaseIndex index) { return ReleaseIndex(index + 1); };
    journal_.keep(path(first), path(past(last)));
    if (from < to)
        std::rotate(path(from), path(past(from)), path(past(to)));
    else
        std::rotate(path(to), path(from), path(past(from)));
}

void PathState::swap_nodes(NodeIndex u, NodeIndex v) {
    for (NodeIndex& visited : candidate_.schedule.nodes)
        if (visited == u || visited == v) journal_.set(visited, visited == u ? v : u);
    const StageIndex stage_u = stage_of(u), stage_v = stage_of(v);
    const auto put = [&](NodeIndex node, StageIndex stage, int position) {
        if (stage < 0) return;
        auto& ring = candidate_.stages[stage];
        journal_.keep(ring);
        ring[at(position)] = node;
    };
    put(v, stage_u, position_[u]);
    put(u, stage_v, position_[v]);
    journal_.swap(candidate_.schedule.stage_of[u], candidate_.schedule.stage_of[v]);
    journal_.swap(position_[u], position_[v]);
    refit_reduction(stage_u);
    refit_reduction(stage_v);
}

void PathState::swap_in_ring(StageIndex stage, int a, int b) {
    auto& ring = candidate_.stages[stage];
    journal_.keep(ring);
    std::swap(ring[at(a)], ring[at(b)]);
    set_positions(stage);
}

void PathState::set_positions(StageIndex stage) {
    for (std::size_t k = 0; k < ring(stage).size(); ++k)
        if (int& position = position_[ring(stage)[k]]; position != static_cast<int>(k))
            journal_.set(position, static_cast<int>(k));
}

void PathState::leave_stage(NodeIndex node, Rng& rng) {
    const StageIndex stage = stage_of(node);
    auto& ring = candidate_.stages[stage];
    journal_.keep(ring);
    ring.erase(ring.begin() + position_[node]);
    journal_.set(position_[node], -1);
    journal_.set(candidate_.schedule.stage_of[node], StageIndex(-1));
    set_positions(stage);
    for (NodeIndex& visited : candidate_.schedule.nodes)
        if (visited == node) journal_.set(visited, ring[pick<std::size_t>(rng, ring.size())]);
    refit_reduction(stage);
}

void PathState::enter_stage(NodeIndex node, StageIndex stage, Rng& rng) {
    auto& ring = candidate_.stages[stage];
    journal_.keep(ring);
    ring.insert(ring.begin() + pick(rng, ring.size() + 1), node);
    journal_.set(candidate_.schedule.stage_of[node], stage);
    set_positions(stage);
    for (NodeIndex& visited : candidate_.schedule.nodes)
        if (stage_of(visited) == stage && pick(rng, ring.size()) == 0) journal_.set(visited, node);
    refit_reduction(stage);
}

}  // namespace skippipe::planners::joint
