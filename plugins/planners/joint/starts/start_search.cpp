// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/starts/start_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/plan/timeline.h"
#include "plugins/planners/joint/starts/role_placement.h"

namespace skippipe::planners::joint {

namespace {

/// Nodes from which on these starts are tried.
constexpr int many_nodes = 50;
/// Of the mean end of all microbatches, in what is minimised: when the last one ends is much of it chance.
constexpr double mean_share = 1;
/// A change is given up where microbatches come back so much later than in the best, seen from an eighth of them on.
constexpr double slower = 0.02;
constexpr std::size_t first_seen = 2;  ///< sixteenths
/// Beginnings of a path that are followed.
constexpr double most_width = 8;
/// A change is kept that is so much worse than the best at the beginning, at the end none (record-to-record travel,
/// Dueck 1993): with a limit by what it changes, many of them would lead ever further off.
constexpr double first_worse = 0.015;
/// The usual number of data nodes is tried, and those up to so many times as many, and as few.
constexpr double data_nodes_range = 2.5;
/// How much longer than its way alone a microbatch may be under way, for placements by roles.
constexpr double waits[] = {1.3, 1};
/// How much larger than the last the first of the inner stages is tried to be, in their mean size.
constexpr double leans[] = {0.5, 0.8, 0};

}  // namespace

bool wants_timed_starts(const Problem& problem) {
    return problem.nodes() > many_nodes && problem.stages > 1 && problem.path_length > 1;
}

StartSearch::StartSearch(const Problem& problem, const Network& network, std::uint64_t seed, std::uint64_t stream)
    : problem_(problem),
      network_(network),
      rng_(seed, stream),
      groups_(near_groups(problem, network)),
      counts_(data_node_counts()),
      paths_(problem, network, groups_) {
    if (problem.plan_reductions) reductions_.emplace(problem);
}

/// The stages that paths visit first hold microbatches for longest: `towards_first` gives them so much more.
PerStage<int> StartSearch::sizes_with(int data_nodes, double towards_first) const {
    PerStage<int> sizes = problem_.stage_sizes_with(data_nodes);
    const int inner = problem_.stages - 1;
    const int most = static_cast<int>(towards_first * sizes.back() / 2);
    for (int k = 0; k < inner / 2; ++k) {
        const int shift = static_cast<int>(std::lround(most * (1 - 2.0 * k / std::max(1, inner - 1))));
        sizes[StageIndex(1 + k)] += shift;
        sizes[StageIndex(inner - k)] -= shift;
    }
    return sizes;
}

/// The usual number first, then those that divide the microbatches.
std::vector<int> StartSearch::data_node_counts() const {
    const int usual = stage_sizes(problem_)[0];
    std::vector<int> counts{usual};
    for (int r = 1; problem_.stage_sizes.empty() && r <= problem_.nodes() - (problem_.stages - 1); ++r)
        if (r != usual && problem_.microbatches % r == 0 && r <= usual * data_nodes_range &&
            r * data_nodes_range >= usual)
            counts.push_back(r);
    return counts;
}

TimedStart StartSearch::unfilled(const Placement& placement, double waiting) const {
    return {.candidate = candidate_without_pieces(problem_, placement, problem_.path_length), .waiting = waiting};
}

bool StartSearch::consider(TimedStart start, const std::function<bool(double)>& go_on) {
    time(start, std::numeric_limits<double>::infinity());
    if (std::isfinite(start.rank_s) && (!best_ || start.rank_s < best_->rank_s)) best_ = std::move(start);
    return !best_ || go_on(best_->seconds);
}

/// By roles for every number of data nodes first, as these are mostly shorter.
void StartSearch::consider_all(const std::function<bool(double)>& go_on) {
    if (!problem_.placement.empty()) {
        consider(unfilled(problem_.placement), go_on);
        return;
    }
    constexpr DataNodes both[] = {DataNodes::of_each_group, DataNodes::anywhere};
    for (const double waiting : waits)
        for (const int r : counts_)
            for (const auto which : both)
                if (!consider(unfilled(placement_by_roles(problem_, network_, groups_,
                                                          data_nodes_in_groups(problem_, groups_, r, which), waiting),
                                       waiting),
                              go_on))
                    return;
    if (reductions_ && problem_.stage_sizes.empty())
        for (const int r : counts_)
            if (!consider(unfilled(placement_by_groups(problem_, groups_, sizes_with(r, 0))), go_on)) return;
    for (const int r : counts_)
        for (const double lean : leans) {
            const bool given = !problem_.stage_sizes.empty();
            const auto sizes = given ? problem_.stage_sizes : sizes_with(r, lean);
            for (const auto which : both)
                if (!consider(unfilled(placement_in_groups(problem_, groups_, sizes, which)), go_on)) return;
            if (given) break;
        }
}

const std::optional<TimedStart>& StartSearch::begin(const std::function<bool(double)>& go_on) {
    consider_all(go_on);
    now_ = best_;
    return best_;
}

void StartSearch::time(TimedStart& start, double cutoff_s, const Pace& at_most) {
    ++tried_;
    const double end_s = paths_.fill(start.candidate, start.weights, cutoff_s, at_most);
    start.pace = paths_.pace();
    auto& reductions = start.candidate.schedule.reductions;
    reductions.clear();
    if (reductions_ && std::isfinite(end_s))
        for (StageIndex s = 0; s < problem_.stages; ++s)
            reductions.push_back(reductions_->quick(start.candidate.stages[s], s));
    start.seconds = std::isfinite(end_s) ? iteration_s(problem_, start.candidate) : end_s;
    start.rank_s = start.seconds + (std::isfinite(end_s) ? mean_share * start.pace.back() : 0);
}

void StartSearch::run(std::int64_t changes, const std::function<double()>& clock_fraction,
                      const std::function<bool(double, double)>& go_on) {
    if (!best_) return;
    TimedStart next;
    for (std::int64_t k = 0; k < changes; ++k) {
        const double fraction =
            clock_fraction ? clock_fraction() : static_cast<double>(k) / static_cast<double>(changes);
        if (!go_on(fraction, best_->seconds)) return;
        next = *now_;
        if (!problem_.placement.empty() || rng_.below(4) == 0 || !change_placement(next)) change_weights(next);
        const double most_s = best_->rank_s * (1 + first_worse * std::max(0.0, 1 - fraction));
        time(next, most_s, slowest());
        if (!(next.rank_s <= most_s)) continue;
        std::swap(*now_, next);
        if (now_->rank_s < best_->rank_s) best_ = now_;
    }
}

/// Of a change that may be kept.
Pace StartSearch::slowest() const {
    Pace pace = best_->pace;
    for (std::size_t k = 0; k < pace.size(); ++k)
        pace[k] = k < first_seen ? std::numeric_limits<double>::infinity() : pace[k] * (1 + slower);
    return pace;
}

void StartSearch::change_weights(TimedStart& start) {
    double PathWeights::*const all[] = {&PathWeights::home, &PathWeights::work, &PathWeights::rest,
                                        &PathWeights::width};
    double& weight = start.weights.*all[rng_.below(std::size(all))];
    weight = std::max(0.01, weight) * std::exp2(2 * rng_.uniform() - 1);
    start.weights.width = std::clamp(start.weights.width, 1.0, most_width);
}

bool StartSearch::change_placement(TimedStart& start) {
    switch (rng_.below(12)) {
        case 0: return place_anew(start);
        case 1:
        case 2: return deal_group_anew(start);
        default: return problem_.stage_sizes.empty() && rng_.below(3) == 0 ? move(start) : exchange(start);
    }
}

/// By roles, with another number of data nodes or another share of waiting.
bool StartSearch::place_anew(TimedStart& start) {
    const auto now = std::find(counts_.begin(), counts_.end(), static_cast<int>(start.candidate.stages[0].size()));
    auto at_count = now == counts_.end() ? std::size_t{0} : static_cast<std::size_t>(now - counts_.begin());
    if (rng_.below(2) == 0) at_count = rng_.below(counts_.size());
    const auto which = rng_.below(2) == 0 ? DataNodes::of_each_group : DataNodes::anywhere;
    start.waiting = std::clamp(start.waiting * std::exp2(rng_.uniform() - 0.5), 0.5, 4.0);
    start.candidate = candidate_without_pieces(
        problem_,
        placement_by_roles(problem_, network_, groups_,
                           data_nodes_in_groups(problem_, groups_, counts_[at_count], which), start.waiting),
        problem_.path_length);
    return true;
}

/// The nodes of a group that are no data nodes, dealt out to the same places in another order: those with more memory
/// for their speed rather to the earlier stages.
bool StartSearch::deal_group_anew(TimedStart& start) {
    auto& stages = start.candidate.stages;
    auto& stage_of = start.candidate.schedule.stage_of;
    const int group = groups_[rng_.below(groups_.size())];
    std::vector<std::pair<double, NodeIndex>> nodes;
    std::vector<NodeIndex*> places;
    for (StageIndex s = 1; s < problem_.stages; ++s)
        for (NodeIndex& node : stages[s])
            if (groups_[at(node)] == group) {
                const double role = static_cast<double>(problem_.memory[node]) *
                                    problem_.seconds_per_sample_per_block[node] * std::exp2(rng_.uniform() - 0.5);
                nodes.emplace_back(role, node);
                places.push_back(&node);
            }
    if (nodes.size() < 3) return false;
    std::sort(nodes.rbegin(), nodes.rend());
    for (std::size_t k = 0; k < nodes.size(); ++k) *places[k] = nodes[k].second;
    for (StageIndex s = 1; s < problem_.stages; ++s) {
        for (const NodeIndex node : stages[s]) stage_of[node] = s;
        moved(start, s);
    }
    return true;
}

/// Two nodes of different stages, mostly of the same group.
bool StartSearch::exchange(TimedStart& start) {
    auto& stages = start.candidate.stages;
    auto& stage_of = start.candidate.schedule.stage_of;
    for (int k = 0; k < 50; ++k) {
        const NodeIndex a(rng_.below(at(problem_.nodes()))), b(rng_.below(at(problem_.nodes())));
        const StageIndex s = stage_of[a], t = stage_of[b];
        if (s < 0 || s == t || (k < 40 && groups_[at(a)] != groups_[at(b)])) continue;
        *std::find(stages[s].begin(), stages[s].end(), a) = b;
        if (t >= 0) *std::find(stages[t].begin(), stages[t].end(), b) = a;
        std::swap(stage_of[a], stage_of[b]);
        moved(start, s);
        if (t >= 0) moved(start, t);
        return true;
    }
    return false;
}

/// A node to another stage; none to or from the data nodes, each of which starts as many microbatches.
bool StartSearch::move(TimedStart& start) {
    auto& stages = start.candidate.stages;
    auto& stage_of = start.candidate.schedule.stage_of;
    const NodeIndex node(rng_.below(at(problem_.nodes())));
    const StageIndex from = stage_of[node], to(1 + rng_.below(at(problem_.stages) - 1));
    if (from == 0 || from == to || (from > 0 && stages[from].size() < 2)) return false;
    if (from > 0) std::erase(stages[from], node);
    stages[to].push_back(node);
    stage_of[node] = to;
    if (from > 0) moved(start, from);
    moved(start, to);
    return true;
}

void StartSearch::moved(TimedStart& start, StageIndex stage) {
    order_ring(problem_, start.candidate.stages[stage], stage);
}

}  // namespace skippipe::planners::joint
