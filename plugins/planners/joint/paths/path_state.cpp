// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/paths/path_state.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/base/index.h"
#include "plugins/planners/common/feasibility.h"

namespace skippipe {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

bool lacks_lines(const Problem& problem, const Network& network) {
    for (int a = 0; a < problem.nodes(); ++a)
        for (int b = 0; b < problem.nodes(); ++b)
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
    if (options.scenarios != nullptr) tail_cost_.emplace(problem(), *options.scenarios);
    for (const auto& ring : candidate_.stages)
        for (std::size_t k = 0; k < ring.size(); ++k) position_[at(ring[k])] = static_cast<int>(k);
}

AnnealingCost PathState::cost(double cutoff_s) {
    if (tail_cost_) return tail_cost(cutoff_s);
    const double seconds = simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s;
    return {seconds, mean_end_s(candidate_.stages[0], simulator_.node_end_s())};
}

/// What takes longer on the network as drawn than it may in the worse half of the drawn networks is ruled out by that
/// alone.
AnnealingCost PathState::tail_cost(double cutoff_s) {
    if (!std::isfinite(simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s))
        return {infinite, 0};
    if (!simulator_.operation_ends(operation_end_s_)) return {infinite, 0};
    const auto value = (*tail_cost_)(candidate_, operation_end_s_);
    return {value.iteration_s, value.mean_end_s};
}

std::string PathState::fault(const AnnealingCost& claimed) {
    if (auto found = inconsistency(); !found.empty()) return found;
    for (int s = 0; s < problem().stages; ++s)
        for (std::size_t k = 0; k < ring(s).size(); ++k)
            if (position_[at(ring(s)[k])] != static_cast<int>(k) || stage_of(ring(s)[k]) != s)
                return fmt::format("node {} stands elsewhere than at {} of stage {}", ring(s)[k], k, s);
    const double seconds = tail_cost_ ? cost(infinite).iteration_s : evaluated_s(problem(), candidate_);
    if (seconds != claimed.iteration_s)
        return fmt::format("the evaluator says {} s, the search {} s", seconds, claimed.iteration_s);
    return {};
}

bool PathState::fits(int index) const {
    return fits_stages(problem(), schedule(), index) && (!missing_lines_ || has_lines(problem(), schedule(), index));
}

bool PathState::lines_fit() const { return !missing_lines_ || fits_everywhere(problem(), candidate_); }

void PathState::swap_hops(int i, int a, int j, int b) {
    const int first = node(i, a), second = node(j, b);
    SearchState::set_hop(i, a, second);
    SearchState::set_hop(j, b, first);
}

void PathState::swap_paths(int i, int j) {
    journal_.keep(path(i), path(i) + length());
    journal_.keep(path(j), path(j) + length());
    std::swap_ranges(path(i), path(i) + length(), path(j));
}

void PathState::move_path(int from, int to) {
    const int first = std::min(from, to), last = std::max(from, to);
    journal_.keep(path(first), path(last + 1));
    if (from < to)
        std::rotate(path(from), path(from + 1), path(to + 1));
    else
        std::rotate(path(to), path(from), path(from + 1));
}

void PathState::swap_nodes(int u, int v) {
    for (int& visited : candidate_.schedule.nodes)
        if (visited == u || visited == v) journal_.set(visited, visited == u ? v : u);
    const int stage_u = stage_of(u), stage_v = stage_of(v);
    const auto put = [&](int node, int stage, int position) {
        if (stage < 0) return;
        auto& ring = candidate_.stages[at(stage)];
        journal_.keep(ring);
        ring[at(position)] = node;
    };
    put(v, stage_u, position_[at(u)]);
    put(u, stage_v, position_[at(v)]);
    journal_.swap(candidate_.schedule.stage_of[at(u)], candidate_.schedule.stage_of[at(v)]);
    journal_.swap(position_[at(u)], position_[at(v)]);
}

void PathState::swap_in_ring(int stage, int a, int b) {
    auto& ring = candidate_.stages[at(stage)];
    journal_.keep(ring);
    std::swap(ring[at(a)], ring[at(b)]);
    set_positions(stage);
}

void PathState::set_positions(int stage) {
    for (std::size_t k = 0; k < ring(stage).size(); ++k)
        if (int& position = position_[at(ring(stage)[k])]; position != static_cast<int>(k))
            journal_.set(position, static_cast<int>(k));
}

void PathState::leave_stage(int node, Rng& rng) {
    const int stage = stage_of(node);
    auto& ring = candidate_.stages[at(stage)];
    journal_.keep(ring);
    ring.erase(ring.begin() + position_[at(node)]);
    journal_.set(position_[at(node)], -1);
    journal_.set(candidate_.schedule.stage_of[at(node)], -1);
    set_positions(stage);
    for (int& visited : candidate_.schedule.nodes)
        if (visited == node) journal_.set(visited, ring[at(pick(rng, ring.size()))]);
}

void PathState::enter_stage(int node, int stage, Rng& rng) {
    auto& ring = candidate_.stages[at(stage)];
    journal_.keep(ring);
    ring.insert(ring.begin() + pick(rng, ring.size() + 1), node);
    journal_.set(candidate_.schedule.stage_of[at(node)], stage);
    set_positions(stage);
    for (int& visited : candidate_.schedule.nodes)
        if (stage_of(visited) == stage && pick(rng, ring.size()) == 0) journal_.set(visited, node);
}

}  // namespace skippipe
