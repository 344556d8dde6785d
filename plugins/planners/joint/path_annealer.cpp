// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/path_annealer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "plugins/planners/common/search.h"

namespace skippipe {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace

TemperatureSchedule TemperatureSchedule::of(const Problem& problem) {
    const double operations = static_cast<double>(problem.microbatches) * (2 * problem.path_length + 1);
    const double factor = operations < 270 ? 270 / operations : std::max(0.25, std::sqrt(270 / operations));
    return {0.004 * factor, 0.0002 * factor};
}

PathAnnealer::PathAnnealer(const Problem& problem, const Network& network, const PlanCandidate& start,
                           std::uint64_t seed, std::uint64_t stream, const Scenarios* scenarios)
    : own_(problem.plan_blocks ? std::optional(problem) : std::nullopt),
      problem_(own_ ? *own_ : problem),
      rng_(seed, stream),
      simulator_(problem_),
      candidate_(start),
      best_(start) {
    if (own_) own_->set_blocks(start.blocks);
    if (scenarios != nullptr) tail_cost_.emplace(problem_, *scenarios);
    length_ = start.schedule.length;
    count_ = start.schedule.count();
    cap_ = problem.constraints.uniform_execution ? problem.visits_cap(length_) : count_;
    current_ = cost(std::numeric_limits<double>::infinity());
    best_s_ = current_.iteration_s;
    visits_.assign(at(problem.stages), 0);
    for (const int node : candidate_.schedule.nodes) ++visits_[at(stage_of(node))];
    place_.assign(at(problem.nodes()), -1);
    for (const auto& stage : candidate_.stages)
        for (std::size_t k = 0; k < stage.size(); ++k) place_[at(stage[k])] = static_cast<int>(k);
    all_nodes_.resize(at(problem.nodes()));
    std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
    for (int a = 0; a < problem.nodes(); ++a)
        for (int b = 0; b < problem.nodes(); ++b)
            missing_lines_ = missing_lines_ || network.round_s(a, b) >= unreachable_s;
    const auto& rules = problem.constraints;
    const bool skips = length_ < problem.stages;
    may_reorder_ = length_ > 2 && (!rules.bounded_disorder || (rules.max_swaps > 0 && rules.max_swap_distance > 0));
    may_restage_ = skips && (cap_ * (problem.stages - 1) > count_ * (length_ - 1));
    free_placement_ = problem.placement.empty() && problem.nodes() > 1;
    const bool several = count_ > 1;
    const auto add = [&](Move move, int weight, bool possible) {
        moves_.insert(moves_.end(), possible ? at(weight) : 0, move);
    };
    add(Move::exchange_hops, 12, several && length_ > 1);
    add(Move::reorder, 2, may_reorder_);
    add(Move::exchange_data, 2, several && candidate_.stages[0].size() > 1);
    add(Move::exchange_priority, 3, several);
    add(Move::shift_priority, 2, several);
    add(Move::sibling, 4, length_ > 1 || !problem.balance_data_nodes);
    add(Move::exchange_nodes, 2, free_placement_);
    add(Move::restage, 2, may_restage_);
    const bool free_sizes =
        free_placement_ && problem.stage_sizes.empty() && problem.stages > 1 && problem.nodes() > problem.stages;
    add(Move::resize, 2, free_sizes);
    add(Move::turn_ring, 1,
        problem.placement.empty() && problem.charge_all_reduce &&
            std::any_of(candidate_.stages.begin(), candidate_.stages.end(),
                        [](const auto& ring) { return ring.size() > 2; }));
    may_move_blocks_ = own_ && problem.stages > 1;
    add(Move::move_blocks, 4, may_move_blocks_);
    add(Move::exchange_sizes, 3, several && problem.sizes.size() > 1);
}

void PathAnnealer::run(std::int64_t steps, const TemperatureSchedule& temperatures,
                       const std::function<double()>& clock_fraction, const std::function<bool(double)>& go_on) {
    if (moves_.empty() || !std::isfinite(best_s_)) return;
    cool_down(steps, count_ * (2 * length_ + 1), best_s_ * temperatures.first, temperatures.last / temperatures.first,
              clock_fraction, go_on, [this](double temperature_s) { step(temperature_s); });
}

bool PathAnnealer::step(double temperature_s) {
    ++steps_;
    Change change;
    if (!propose(change)) return false;
    const double threshold_s = current_.seconds() - temperature_s * std::log(1 - rng_.uniform());
    // Data nodes that end a tenth sooner on the mean, by one step, do not happen: past that, the iteration alone rules
    // a candidate out.
    const Cost proposed = cost(threshold_s - mean_weight * 0.9 * current_.mean_end_s);
    if (!(proposed.seconds() < threshold_s)) {
        undo(change);
        return false;
    }
    current_ = proposed;
    if (proposed.iteration_s < best_s_) keep_best();
    return true;
}

PathAnnealer::Cost PathAnnealer::cost(double cutoff_s) {
    if (tail_cost_) return robust_cost(cutoff_s);
    const double seconds = simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s;
    return {seconds, mean_end_s(candidate_.stages[0], simulator_.node_end_s())};
}

/// What takes longer on the network as drawn than it may in the worse half of the drawn networks is ruled out by that
/// alone.
PathAnnealer::Cost PathAnnealer::robust_cost(double cutoff_s) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (!std::isfinite(simulator_.times(candidate_.schedule, candidate_.stages, cutoff_s).iteration_s))
        return {infinite, 0};
    if (!simulator_.operation_ends(operation_end_s_)) return {infinite, 0};
    const auto value = (*tail_cost_)(candidate_, operation_end_s_);
    return {value.iteration_s, value.mean_end_s};
}

void PathAnnealer::keep_best() {
    best_s_ = current_.iteration_s;
    std::copy(candidate_.schedule.nodes.begin(), candidate_.schedule.nodes.end(), best_.schedule.nodes.begin());
    best_.schedule.stage_of = candidate_.schedule.stage_of;
    best_.stages = candidate_.stages;
    best_.blocks = candidate_.blocks;
    best_.schedule.microbatches = candidate_.schedule.microbatches;
}

bool PathAnnealer::propose(Change& change) {
    change.move = moves_[rng_.below(moves_.size())];
    switch (change.move) {
        case Move::exchange_hops: return propose_exchange(change);
        case Move::reorder: return propose_reorder(change);
        case Move::exchange_data: return propose_data(change);
        case Move::sibling: return propose_sibling(change);
        case Move::exchange_nodes: return propose_nodes(change);
        case Move::restage: return propose_restage(change);
        case Move::resize: return propose_resize();
        case Move::turn_ring: return propose_ring(change);
        case Move::move_blocks: return propose_blocks(change);
        case Move::exchange_sizes: return propose_sizes(change);
        case Move::exchange_priority:
            change.i = pick(at(count_));
            change.j = pick(at(count_));
            if (std::equal(path(change.i), path(change.i) + length_, path(change.j))) return false;
            std::swap_ranges(path(change.i), path(change.i) + length_, path(change.j));
            return true;
        case Move::shift_priority:
            change.i = pick(at(count_));
            change.j = pick(at(count_));
            if (change.i == change.j) return false;
            shift(change.i, change.j);
            return true;
    }
    return false;
}

bool PathAnnealer::propose_exchange(Change& change) {
    change.i = pick(at(count_));
    change.j = pick(at(count_));
    change.a = 1 + pick(at(length_ - 1));
    change.b = 1 + pick(at(length_ - 1));
    int &first = path(change.i)[change.a], &second = path(change.j)[change.b];
    if (change.i == change.j || first == second) return false;
    std::swap(first, second);
    if (fits(change.i) && fits(change.j)) return true;
    std::swap(first, second);
    return false;
}

bool PathAnnealer::propose_reorder(Change& change) {
    change.i = pick(at(count_));
    change.a = 1 + pick(at(length_ - 1));
    change.b = 1 + pick(at(length_ - 1));
    if (change.a == change.b) return false;
    int* nodes = path(change.i);
    std::swap(nodes[change.a], nodes[change.b]);
    if (fits(change.i)) return true;
    std::swap(nodes[change.a], nodes[change.b]);
    return false;
}

bool PathAnnealer::propose_data(Change& change) {
    change.i = pick(at(count_));
    change.j = pick(at(count_));
    int &first = path(change.i)[0], &second = path(change.j)[0];
    if (first == second) return false;
    std::swap(first, second);
    if (fits(change.i) && fits(change.j)) return true;
    std::swap(first, second);
    return false;
}

bool PathAnnealer::propose_sibling(Change& change) {
    change.i = pick(at(count_));
    const int first = problem_.balance_data_nodes ? 1 : 0;
    change.a = first + pick(at(length_ - first));
    int& node = path(change.i)[change.a];
    const auto& siblings = candidate_.stages[at(stage_of(node))];
    const int other = siblings[rng_.below(siblings.size())];
    if (other == node) return false;
    change.b = node;
    node = other;
    if (fits(change.i)) return true;
    node = change.b;
    return false;
}

bool PathAnnealer::propose_nodes(Change& change) {
    change.i = pick(all_nodes_.size());
    change.j = pick(all_nodes_.size());
    if (change.i == change.j || stage_of(change.i) == stage_of(change.j)) return false;
    exchange_nodes(change.i, change.j);
    if (!missing_lines_ || fits_everywhere(problem_, candidate_)) return true;
    exchange_nodes(change.i, change.j);
    return false;
}

bool PathAnnealer::propose_restage(Change& change) {
    change.i = pick(at(count_));
    change.a = 1 + pick(at(length_ - 1));
    const int stage = 1 + pick(at(problem_.stages - 1));
    int& node = path(change.i)[change.a];
    if (visits_[at(stage)] >= cap_ || stage == stage_of(node)) return false;
    const auto& nodes = candidate_.stages[at(stage)];
    change.b = node;
    node = nodes[rng_.below(nodes.size())];
    if (fits(change.i)) {
        --visits_[at(stage_of(change.b))];
        ++visits_[at(stage)];
        return true;
    }
    node = change.b;
    return false;
}

void PathAnnealer::undo(const Change& change) {
    switch (change.move) {
        case Move::exchange_hops: std::swap(path(change.i)[change.a], path(change.j)[change.b]); break;
        case Move::reorder: std::swap(path(change.i)[change.a], path(change.i)[change.b]); break;
        case Move::exchange_data: std::swap(path(change.i)[0], path(change.j)[0]); break;
        case Move::exchange_priority: std::swap_ranges(path(change.i), path(change.i) + length_, path(change.j)); break;
        case Move::shift_priority: shift(change.j, change.i); break;
        case Move::sibling: path(change.i)[change.a] = change.b; break;
        case Move::exchange_nodes: exchange_nodes(change.i, change.j); break;
        case Move::resize: restore(); break;
        case Move::turn_ring:
            std::swap(candidate_.stages[at(change.i)][at(change.a)], candidate_.stages[at(change.i)][at(change.b)]);
            set_places(change.i);
            break;
        case Move::move_blocks: move_blocks(change.j, change.i, change.a); break;
        case Move::exchange_sizes:
            std::swap(candidate_.schedule.microbatches[at(change.i)], candidate_.schedule.microbatches[at(change.j)]);
            break;
        case Move::restage: {
            int& node = path(change.i)[change.a];
            --visits_[at(stage_of(node))];
            ++visits_[at(stage_of(change.b))];
            node = change.b;
        }
    }
}

/// The two nodes change places: stage, ring place and every visit.
void PathAnnealer::exchange_nodes(int u, int v) {
    for (int& node : candidate_.schedule.nodes) node = node == u ? v : node == v ? u : node;
    const int stage_u = stage_of(u), stage_v = stage_of(v);
    if (stage_u >= 0) candidate_.stages[at(stage_u)][at(place_[at(u)])] = v;
    if (stage_v >= 0) candidate_.stages[at(stage_v)][at(place_[at(v)])] = u;
    std::swap(candidate_.schedule.stage_of[at(u)], candidate_.schedule.stage_of[at(v)]);
    std::swap(place_[at(u)], place_[at(v)]);
}

/// Moves a path to another place in the release order; what lies between moves up by one.
void PathAnnealer::shift(int from, int to) {
    const auto nodes = candidate_.schedule.nodes.begin();
    const auto row = [&](int index) { return nodes + static_cast<std::ptrdiff_t>(index) * length_; };
    if (from < to)
        std::rotate(row(from), row(from + 1), row(to + 1));
    else
        std::rotate(row(to), row(from), row(from + 1));
}

/// Whether a path that was changed is within CC1-CC3 and has its lines.
bool PathAnnealer::fits(int index) const {
    return fits_stages(problem_, candidate_.schedule, index) &&
           (!missing_lines_ || has_lines(problem_, candidate_.schedule, index));
}

}  // namespace skippipe
