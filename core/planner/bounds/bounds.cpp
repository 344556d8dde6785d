// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/bounds/lagrangian_bound.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// What is summed over microbatches and blocks whatever each of them is: the problem of the bounds itself has, where
/// microbatches differ in size, only the smallest, and where blocks are planned, the fewest.
class Totals {
public:
    explicit Totals(const Problem& problem) : sizes_(problem.sizes.empty() ? 0 : at(problem.microbatches)) {
        for (MicrobatchIndex m = 0; at(m) < sizes_.size(); ++m) sizes_[at(m)] = problem.samples_of(m);
        std::sort(sizes_.begin(), sizes_.end());
    }
    /// So many of the smallest microbatches are as much work as this many of the smallest one.
    double work_of(int microbatches) const {
        if (sizes_.empty()) return microbatches;
        return std::accumulate(sizes_.begin(), sizes_.begin() + microbatches, 0.0) / sizes_.front();
    }

    int spare = 0;  ///< blocks that the stages have together more than in the problem of the bounds

    /// Over the smallest, sorted; empty where all are alike.
    std::vector<double> relative_sizes() const {
        std::vector<double> relative;
        for (const double size : sizes_) relative.push_back(size / sizes_.front());
        return relative;
    }

private:
    std::vector<double> sizes_;  ///< sorted
};

/// Every microbatch `factor` times as large.
Problem resized(Problem problem, double factor) {
    problem.samples *= factor;
    problem.forward_bytes *= factor;
    problem.backward_bytes *= factor;
    for (auto& hop : problem.hops) {
        hop.seconds_per_forward *= factor;
        hop.seconds_per_backward *= factor;
    }
    problem.sizes.clear();
    return problem;
}

/// Shared figures of all bounds; where placement is free, whatever it could be at best.
class Bounds {
public:
    Bounds(const Problem& problem, int length, const Totals& totals)
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
        if (problem.charge_all_reduce && problem.placement.empty())
            edges_ = std::make_shared<const PerNode<std::vector<Edge>>>(best_edges());
    }

    /// No number of data nodes makes a plan shorter. `effort` > 0: with the bounds that take up to effort x 0.2 s, for
    /// those numbers that the others leave open.
    LowerBound best(double effort) const {
        std::vector<Bounds> choices;
        for (const int r : sizes_of_stage_0()) choices.push_back(with_data_nodes(r));
        std::vector<LowerBound> quick;
        std::vector<std::size_t> order(choices.size());
        for (std::size_t k = 0; k < choices.size(); ++k) {
            quick.push_back(choices[k].quick());
            order[k] = k;
        }
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return quick[a].seconds < quick[b].seconds; });
        LowerBound least{infinite, {}};
        for (const std::size_t k : order) {
            if (quick[k].seconds >= least.seconds) break;
            const auto bound =
                effort > 0 ? choices[k].sharpened(quick[k], effort / static_cast<double>(choices.size())) : quick[k];
            if (bound.seconds < least.seconds) least = bound;
        }
        least.seconds += problem_.step_seconds;  // whichever operation is the last, its stage steps after it
        // Sums in another order than the evaluator's: a hair below, so that rounding never breaks the bound.
        least.seconds *= 1 - 1e-12;
        return least;
    }

private:
    static constexpr std::size_t most_sizes = 16;

    struct Edge {
        double latency_s, bandwidth_bytes_per_s;  ///< latency with the overhead
    };

    Bounds with_data_nodes(int count) const {
        Bounds bounds(*this);
        bounds.data_nodes_ = count;
        bounds.reduce_s_ = shortest_reduce_s(0, count);
        return bounds;
    }

    static void raise(LowerBound& bound, double seconds, const char* which, NodeIndex node = -1) {
        if (seconds > bound.seconds && seconds < infinite) bound = {seconds, which, node};
    }

    /// Of so many data nodes, before the step; what costs little to compute.
    LowerBound quick() const {
        LowerBound bound{0, "nothing"};
        const auto offer = [&](double seconds, const char* which, NodeIndex node = -1) {
            raise(bound, seconds, which, node);
        };
        offer(all_work_s(), "work of all nodes");
        offer(others_work_s(), "work of all nodes but the data nodes, with the shortest head and tail");
        for (StageIndex s = 0; s < problem_.stages; ++s)
            offer(stage_work_s(s),
                  s == 0 ? "work of the data nodes" : "work of a stage, with the shortest head and tail");
        offer(data_nodes_s(false), "shortest path of a microbatch", slowest_data_node(false));
        offer(data_nodes_s(true), "memory and work of the data nodes, with the shortest paths",
              slowest_data_node(true));
        offer(holding_s(), "memory of the data nodes, with the shortest path of each microbatch");
        return bound;
    }

    LowerBound sharpened(LowerBound bound, double effort) const {
        raise(bound, shared_s(bound.seconds, effort),
              "memory and work of the data nodes, with what the other nodes can serve");
        return bound;
    }

    double arrival_s(const Hop& hop, double transfer_s) const {
        return arrival_seconds(0, hop.latency_s, problem_.overhead_s, transfer_s);
    }
    double sample_block_s(NodeIndex node) const {
        return problem_.samples * problem_.seconds_per_sample_per_block[node];
    }

    std::vector<NodeIndex> candidates(StageIndex stage) const {
        if (!problem_.placement.empty()) return problem_.placement[stage];
        std::vector<NodeIndex> all(at(problem_.nodes()));
        std::iota(all.begin(), all.end(), NodeIndex(0));
        return all;
    }
    /// Nodes of the stage, or -1 where that is free.
    int size(StageIndex stage) const {
        if (stage == 0 && data_nodes_ > 0) return data_nodes_;
        if (!problem_.placement.empty()) return static_cast<int>(problem_.placement[stage].size());
        return problem_.stage_sizes.empty() ? -1 : problem_.stage_sizes[stage];
    }

    /// All work at the speed of all nodes together.
    double all_work_s() const {
        double rate = 0;
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) rate += 1 / sample_block_s(n);
        const double work =
            totals_.work_of(problem_.microbatches) *
            (problem_.blocks[0] * (work_factor_ + problem_.loss_factor) + fewest_others() * work_factor_);
        return (work + spare_work()) / rate;
    }

    /// Blocks of a microbatch's path besides stage 0, at least.
    double fewest_others() const {
        std::vector<int> blocks(problem_.blocks.begin() + 1, problem_.blocks.end());
        std::sort(blocks.begin(), blocks.end());
        return std::accumulate(blocks.begin(), blocks.begin() + std::max(0, length_ - 1), 0.0);
    }

    /// The work that no data node does, at the speed of all nodes that may be left for it: the fastest.
    double others_work_s() const {
        if (length_ < 2 || !problem_.placement.empty()) return 0;
        std::vector<double> seconds;
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) seconds.push_back(sample_block_s(n));
        std::sort(seconds.begin(), seconds.end());
        double rate = 0;
        for (int i = 0; i < problem_.nodes() - data_nodes_; ++i) rate += 1 / seconds[at(i)];
        const auto [head_s, tail_s] = around_s();
        return rate > 0
                   ? head_s + totals_.work_of(problem_.microbatches) * fewest_others() * work_factor_ / rate + tail_s
                   : 0;
    }

    /// Before the first operation of any other stage than 0, and after its last one.
    std::pair<double, double> around_s() const {
        double first_forward_s = infinite, last_backward_s = infinite;
        for (const NodeIndex n : candidates(0)) {
            first_forward_s = std::min(first_forward_s, problem_.forward_s(n, 0));
            last_backward_s = std::min(last_backward_s, problem_.backward_s(n, 0));
        }
        // Split: the last operation may be a weight gradient, which nothing follows.
        return {first_forward_s + shortest_forward_s_,
                problem_.split_backward ? 0 : shortest_backward_s_ + last_backward_s};
    }

    /// The spare blocks all on the stage that is passed over most often: none is visited as often as stage 0.
    double spare_work() const {
        return totals_.spare * totals_.work_of(fewest_visits(StageIndex(problem_.stages - 1))) * work_factor_;
    }

    /// The same of one microbatch that visits every stage, seconds on the fastest node.
    double spare_way_s() const {
        if (totals_.spare == 0 || length_ < problem_.stages) return 0;
        double fastest_s = infinite;
        for (NodeIndex n = 0; n < problem_.nodes(); ++n) fastest_s = std::min(fastest_s, sample_block_s(n));
        return totals_.spare * fastest_s * way_factor_;
    }

    int fewest_visits(StageIndex stage) const {
        if (stage == 0) return problem_.microbatches;
        if (length_ == problem_.stages) return problem_.microbatches;
        if (!problem_.constraints.uniform_execution) return 0;
        return std::max(0,
                        problem_.microbatches * (length_ - 1) - (problem_.stages - 2) * problem_.visits_cap(length_));
    }

    double stage_work_s(StageIndex stage) const {
        const int r = size(stage), visits = fewest_visits(stage);
        if (r <= 0 || visits == 0) return 0;
        const double factor = problem_.blocks[stage] * (work_factor_ + (stage == 0 ? problem_.loss_factor : 0));
        std::vector<double> seconds;
        for (const NodeIndex n : candidates(stage)) seconds.push_back(sample_block_s(n) * factor);
        std::sort(seconds.begin(), seconds.end());
        if (static_cast<int>(seconds.size()) < r) return 0;
        double rate = 0;
        for (int i = 0; i < r; ++i) rate += 1 / seconds[at(i)];
        const double work_s =
            std::max(totals_.work_of(visits) / rate, totals_.work_of(ceil_div(visits, r)) * seconds.front());
        if (stage == 0) return work_s + reduce_s_;
        const auto [head_s, tail_s] = around_s();
        return head_s + work_s + std::max(tail_s, shortest_reduce_s(stage, r));
    }

    /// The all-reduce of a stage of r nodes takes no less. Where the ring is free: each of its nodes sends to another
    /// one, so that its slowest edge is at least the r-th of all candidates' fastest edges.
    double shortest_reduce_s(StageIndex stage, int r) const {
        if (!problem_.charge_all_reduce || r <= 1) return 0;
        if (!problem_.placement.empty()) return all_reduce_seconds(problem_, problem_.placement[stage], stage);
        std::vector<double> fastest;
        for (const auto& edges : *edges_) {
            double least_s = infinite;
            for (const Edge& edge : edges)
                least_s =
                    std::min(least_s, edge.latency_s + problem_.gradient_bytes[stage] / r / edge.bandwidth_bytes_per_s);
            if (least_s < infinite) fastest.push_back(least_s);
        }
        if (static_cast<int>(fastest.size()) < r) return 0;
        std::nth_element(fastest.begin(), fastest.begin() + (r - 1), fastest.end());
        return 2 * (r - 1) * fastest[at(r - 1)];
    }

    /// Of each node, those that are the fastest for some number of bytes: by latency, each with more bandwidth than the
    /// one before.
    PerNode<std::vector<Edge>> best_edges() const {
        PerNode<std::vector<Edge>> best(at(problem_.nodes()));
        std::vector<Edge> edges;
        for (NodeIndex a = 0; a < problem_.nodes(); ++a) {
            edges.clear();
            for (NodeIndex b = 0; b < problem_.nodes(); ++b)
                if (a != b && problem_.reachable(a, b))
                    edges.push_back(
                        {problem_.hop(a, b).latency_s + problem_.overhead_s, problem_.hop(a, b).bandwidth_bytes_per_s});
            std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) {
                return std::pair(x.latency_s, -x.bandwidth_bytes_per_s) <
                       std::pair(y.latency_s, -y.bandwidth_bytes_per_s);
            });
            for (const Edge& edge : edges)
                if (best[a].empty() || edge.bandwidth_bytes_per_s > best[a].back().bandwidth_bytes_per_s)
                    best[a].push_back(edge);
        }
        return best;
    }

    /// For each possible data node the shortest time of a microbatch from the start of its first F until its memory is
    /// free.
    std::vector<double> loops_s() const {
        std::vector<double> loops;
        if (length_ > 1 && problem_.nodes() > 300) {  // cubic otherwise
            double fastest_s = infinite;
            for (NodeIndex b = 0; b < problem_.nodes(); ++b)
                fastest_s = std::min(fastest_s, sample_block_s(b) * fewest_blocks_ * way_factor_);
            for (const NodeIndex d : candidates(0))
                loops.push_back(problem_.forward_s(d, 0) * (work_factor_ + problem_.loss_factor) +
                                (length_ - 1) * fastest_s + spare_way_s() +
                                length_ * (shortest_forward_s_ + shortest_backward_s_));
            return loops;
        }
        const bounds::ShortestCycles cycles(problem_, length_, spare_way_s());
        for (const NodeIndex d : candidates(0)) loops.push_back(cycles.shortest_s(d));
        return loops;
    }

    std::vector<double> data_node_bounds_s(bool memory) const {
        if (!memory) return loops_s_;
        const auto nodes = candidates(0);
        std::vector<double> bounds;
        for (std::size_t i = 0; i < loops_s_.size(); ++i)
            bounds.push_back(
                bounds::data_node_s(problem_, nodes[i], ceil_div(problem_.microbatches, data_nodes_), loops_s_[i]));
        return bounds;
    }

    /// The data node with the greatest bound, which is that of stage 0; -1 where it is not known which nodes are data
    /// nodes, or how many microbatches each of them starts.
    NodeIndex slowest_data_node(bool memory) const {
        if (problem_.placement.empty() || !problem_.balance_data_nodes) return -1;
        const auto bounds = data_node_bounds_s(memory);
        return candidates(0)[static_cast<std::size_t>(std::max_element(bounds.begin(), bounds.end()) - bounds.begin())];
    }

    /// Whatever nodes stage 0 gets, its worst one is at least the r-th best. Where they need not share evenly, one of
    /// them has at least its share, and may be the best.
    double data_nodes_s(bool memory) const {
        auto bounds = data_node_bounds_s(memory);
        std::sort(bounds.begin(), bounds.end());
        const std::size_t worst = problem_.balance_data_nodes ? at(data_nodes_ - 1) : 0;
        return worst < bounds.size() ? bounds[worst] + reduce_s_ : 0;
    }

    /// Where microbatches differ in size: how long each holds a place on a data node at least, for its own shortest
    /// path.
    void hold() {
        const auto relative = totals_.relative_sizes();
        auto sizes = relative;
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        const std::size_t stride = (sizes.size() + most_sizes - 1) /
                                   most_sizes;  // of many sizes, those between count as the next smaller one taken
        std::size_t next = 0;
        for (const double size : relative) {
            if (next < sizes.size() && size >= sizes[next]) {
                const Problem alike = resized(problem_, sizes[next]);
                Totals totals(alike);
                totals.spare = totals_.spare;
                const auto loops = Bounds(alike, length_, totals).loops_s_;
                longest_hold_s_ = *std::min_element(loops.begin(), loops.end());
                next += stride;
            }
            all_holds_s_ += longest_hold_s_;
        }
    }

    /// The data nodes have no more places than the largest ones. And the largest microbatch is on its way at least that
    /// long.
    double holding_s() const {
        std::vector<double> places;
        for (const NodeIndex d : candidates(0)) places.push_back(std::min(problem_.memory[d], problem_.microbatches));
        std::sort(places.rbegin(), places.rend());
        const double held = std::accumulate(
            places.begin(), places.begin() + std::min<std::ptrdiff_t>(data_nodes_, std::ssize(places)), 0.0);
        return all_holds_s_ > 0 && held > 0 ? std::max(longest_hold_s_, all_holds_s_ / held) + reduce_s_ : 0;
    }

    /// How many data nodes there may be.
    std::vector<int> sizes_of_stage_0() const {
        if (const int r = size(0); r > 0) return {r};
        std::vector<int> sizes{1};  // divides always
        for (int r = 2; r <= problem_.nodes() - problem_.stages + 1; ++r)
            if (!problem_.balance_data_nodes || problem_.microbatches % r == 0) sizes.push_back(r);
        return sizes;
    }

    double shared_s(double from_s, double effort) const {
        const double finish_s = reduce_s_ + problem_.step_seconds;
        return bounds::lagrangian_bound_s(problem_, length_, data_nodes_, finish_s, spare_way_s(),
                                          from_s + problem_.step_seconds, effort) -
               problem_.step_seconds;
    }

    const Problem& problem_;
    int length_;
    const Totals& totals_;
    double shortest_forward_s_ = infinite, shortest_backward_s_ = infinite, work_factor_ = 1, way_factor_ = 1;
    int fewest_blocks_ = 0;
    std::vector<double> loops_s_;
    double all_holds_s_ = 0, longest_hold_s_ = 0;
    std::shared_ptr<const PerNode<std::vector<Edge>>>
        edges_;            ///< of each node, where an all-reduce takes time and placement is free
    int data_nodes_ = -1;  ///< as many are assumed
    double reduce_s_ = 0;  ///< of stage 0 with them, at least
};

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
