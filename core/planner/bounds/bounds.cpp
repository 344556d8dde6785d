// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/planner/bounds/bound_terms.h"
#include "core/planner/bounds/reduction_ways.h"

namespace skippipe {

namespace bounds {

Bounds::Bounds(const Problem& problem, int length, const Totals& totals)
    : problem_(problem), length_(length), totals_(totals) {
    const int n = problem.nodes();
    for (NodeIndex a = 0; a < n; ++a)
        for (NodeIndex b = 0; b < n; ++b) {
            if (a == b || !problem.reachable(a, b)) continue;
            const Hop& hop = problem.hop(a, b);
            shortest_forward_s_ = std::min(shortest_forward_s_, arrival_s(hop, hop.seconds_per_forward));
            shortest_backward_s_ = std::min(shortest_backward_s_, arrival_s(hop, hop.seconds_per_backward));
        }
    work_factor_ = 1 + problem.backward_factor;
    // Where the backward is split, what a microbatch waits for on other nodes is I alone, half of it.
    way_factor_ = problem.split_backward ? 1 + problem.backward_factor / 2 : work_factor_;
    for (StageIndex s = 1; s < problem.stages; ++s)
        fewest_blocks_ = fewest_blocks_ == 0 ? problem.blocks[s] : std::min(fewest_blocks_, problem.blocks[s]);
    loops_s_ = loops_s();
    hold();
    if (length > 1) ways_ = std::make_shared<const Approaches>(problem, length - 1);
    if (problem.charge_all_reduce && problem.placement.empty())
        edges_ = std::make_shared<const PerNode<std::vector<Edge>>>(best_edges());
    if (problem.plan_reductions && problem.placement.empty()) {
        sendings_ = std::make_shared<const PerNode<Sending>>(sendings(problem));
        receivings_ = std::make_shared<const PerNode<Sending>>(receivings(problem));
    }
}

LowerBound Bounds::best(double effort) const {
    struct Choice {
        Bounds bounds;
        LowerBound bound;
        bool placed = false;
    };
    std::vector<Choice> choices;
    for (const int r : sizes_of_stage_0()) {
        auto bounds = with_data_nodes(r);
        auto bound = bounds.quick();
        choices.push_back({std::move(bounds), std::move(bound)});
    }
    // The least first; what takes long is worked out for those alone that may still be the least.
    std::set<std::pair<double, std::size_t>> open;
    for (std::size_t k = 0; k < choices.size(); ++k) open.insert({choices[k].bound.seconds, k});
    LowerBound least{infinite, {}};
    while (!open.empty() && open.begin()->first < least.seconds) {
        const std::size_t k = open.begin()->second;
        open.erase(open.begin());
        auto& [bounds, bound, placed] = choices[k];
        if (!std::exchange(placed, true)) {
            bound = bounds.with_places(bound);
            open.insert({bound.seconds, k});
            continue;
        }
        const double share = open.empty() ? effort : 0.5 * effort;  // most for the first, which are the least so far
        effort -= share;
        if (share > 0) bound = bounds.sharpened(bound, share);
        if (bound.seconds < least.seconds) least = bound;
    }
    least.seconds += problem_.step_seconds;  // whichever operation is the last, its stage steps after it
    // Sums in another order than the evaluator's: a hair below, so that rounding never breaks the bound.
    least.seconds *= 1 - 1e-12;
    return least;
}

Bounds Bounds::with_data_nodes(int count) const {
    Bounds bounds(*this);
    bounds.data_nodes_ = count;
    bounds.reduce_ = shortest_reduce(0, count);
    if (problem_.plan_reductions && !problem_.placement.empty() && count > 1) {
        bounds.spreads_ = spreads(problem_, problem_.placement[0], occupying_bytes(problem_, 0));
        bounds.lone_s_ = lone_reduction_bound_s(problem_, problem_.placement[0], 0);
    }
    return bounds;
}

LowerBound Bounds::quick() const {
    LowerBound bound{0, "nothing"};
    const auto offer = [&](double seconds, const char* which, const std::string& sum = {}, NodeIndex node = -1) {
        raise(bound, seconds, which, sum, node);
    };
    const auto offer_data_nodes = [&](By by, const char* which) {
        const NodeIndex slowest = slowest_data_node(by);
        const auto nodes = candidates(0);
        const auto own = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), slowest) - nodes.begin());
        offer(data_nodes_s(by), which, own < spreads_.size() ? spreads_[own].which : reduce_.which, slowest);
    };
    offer(all_work_s(), "work of all nodes");
    offer(others_work_s(), "work of all nodes but the data nodes, with the shortest head and tail");
    for (StageIndex s = 0; s < problem_.stages; ++s) {
        const Spread work = stage_work(s);
        offer(work.seconds, s == 0 ? "work of the data nodes" : "work of a stage, with the shortest head and tail",
              work.which);
    }
    offer_data_nodes(By::path, "shortest path of a microbatch");
    offer_data_nodes(By::memory, "memory and work of the data nodes, with the shortest paths");
    offer(reduction_after_first_s(By::memory), "memory and work of the data node that can be done first",
          "all of them, alone on the lines");
    offer(holding_s(), "memory of the data nodes, with the shortest path of each microbatch", reduce_.which);
    return bound;
}

LowerBound Bounds::with_places(LowerBound bound) const {
    raise(bound, places_s(bound.seconds), "visits that the nodes can serve, each of one stage, wherever they stand",
          reduce_.which);
    return bound;
}

LowerBound Bounds::sharpened(LowerBound bound, double effort) const {
    raise(bound, shared_s(bound.seconds, effort),
          "memory and work of the data nodes, with what the other nodes can serve", reduce_.which);
    return bound;
}

std::vector<NodeIndex> Bounds::candidates(StageIndex stage) const {
    if (!problem_.placement.empty()) return problem_.placement[stage];
    std::vector<NodeIndex> all(at(problem_.nodes()));
    std::iota(all.begin(), all.end(), NodeIndex(0));
    return all;
}

int Bounds::size(StageIndex stage) const {
    if (stage == 0 && data_nodes_ > 0) return data_nodes_;
    if (!problem_.placement.empty()) return static_cast<int>(problem_.placement[stage].size());
    return problem_.stage_sizes.empty() ? -1 : problem_.stage_sizes[stage];
}

std::vector<int> Bounds::sizes_of_stage_0() const {
    if (const int r = size(0); r > 0) return {r};
    std::vector<int> sizes{1};  // divides always
    for (int r = 2; r <= problem_.nodes() - problem_.stages + 1; ++r)
        if (!problem_.balance_data_nodes || problem_.microbatches % r == 0) sizes.push_back(r);
    return sizes;
}

namespace {

/// Over all numbers of blocks that stage 0 may hold, in as many ranges as time allows: no plan is shorter than the
/// least of their bounds.
LowerBound over_blocks(Problem problem, int length, Totals totals) {
    const int all = std::accumulate(problem.blocks.begin(), problem.blocks.end(), 0),
              choices = all - problem.stages + 1;
    const double once = std::pow(problem.nodes(), 3) * length;
    const int ranges = std::clamp(static_cast<int>(2e8 / once), 1, choices);
    struct Range {
        int first = 1;
        Totals totals;
        LowerBound bound;
    };
    std::vector<Range> found;
    PerStage<int> blocks(at(problem.stages), 1);
    const auto with = [&](const Range& range, double effort) {
        blocks[0] = range.first;
        problem.set_blocks(blocks);
        return Bounds(problem, length, range.totals).best(effort);
    };
    for (int k = 0; k < ranges; ++k) {
        Range range{1 + static_cast<int>(std::int64_t{k} * choices / ranges), totals, {}};
        range.totals.spare = choices - range.first;
        range.bound = with(range, 0);
        found.push_back(range);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Range& a, const Range& b) { return a.bound.seconds < b.bound.seconds; });
    LowerBound least{infinite, {}};
    for (const auto& range : found) {
        if (range.bound.seconds >= least.seconds) break;
        if (const auto bound = with(range, 1.0 / ranges); bound.seconds < least.seconds) least = bound;
    }
    least.which += ", however the blocks are divided";
    return least;
}

}  // namespace

}  // namespace bounds

using namespace bounds;

LowerBound lower_bound(const Problem& problem, int length) {
    const Totals totals(problem);
    if (problem.sizes.empty() && !problem.plan_blocks) return Bounds(problem, length, totals).best(1);
    Problem least = problem.sizes.empty() ? problem : resized(problem, problem.smallest_size());
    return problem.plan_blocks ? over_blocks(std::move(least), length, totals) : Bounds(least, length, totals).best(1);
}

LowerBound placed_bound(const Problem& problem, const Plan& plan) {
    Problem placed = PlannedProblem(problem, plan.blocks).get();
    placed.placement = plan.stages;
    placed.stage_sizes.clear();
    placed.plan_blocks = false;
    placed.split_backward = plan.split_backward;
    return lower_bound(placed, static_cast<int>(plan.paths.front().nodes.size()));
}

}  // namespace skippipe
