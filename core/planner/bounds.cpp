// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/planner/bounds_sharing.h"
#include "core/planner/timeline.h"

namespace skippipe {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
std::size_t at(int index) { return static_cast<std::size_t>(index); }
int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// What is summed over microbatches and blocks whatever each of them is: the problem of the bounds itself has, where microbatches differ in size, only
/// the smallest, and where blocks are planned, the fewest.
class Totals {
public:
    explicit Totals(const Problem& problem) : sizes_(problem.sizes.empty() ? 0 : at(problem.microbatches)) {
        for (std::size_t m = 0; m < sizes_.size(); ++m) sizes_[m] = problem.samples_of(static_cast<int>(m));
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
    Bounds(const Problem& problem, int length, const Totals& totals) : problem_(problem), length_(length), totals_(totals) {
        const int n = problem.nodes();
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) {
                if (a == b || !problem.reachable(a, b)) continue;
                const Hop& hop = problem.hop(a, b);
                shortest_forward_s_ = std::min(shortest_forward_s_, arrival_s(hop, hop.seconds_per_forward));
                shortest_backward_s_ = std::min(shortest_backward_s_, arrival_s(hop, hop.seconds_per_backward));
            }
        work_factor_ = 1 + problem.backward_factor;
        // Where the backward is split, what a microbatch waits for on other nodes is I alone, half of it.
        way_factor_ = problem.split_backward ? 1 + problem.backward_factor / 2 : work_factor_;
        for (int s = 1; s < problem.stages; ++s) fewest_blocks_ = fewest_blocks_ == 0 ? problem.blocks[at(s)] : std::min(fewest_blocks_, problem.blocks[at(s)]);
    }

    /// The bounds that cost little to compute, and with `effort` > 0 those that take up to effort x 0.2 s.
    LowerBound best(double effort) const {
        LowerBound bound{0, "nothing"};
        const auto offer = [&](double seconds, const char* which, int node = -1) {
            if (seconds > bound.seconds && seconds < infinite) bound = {seconds, which, node};
        };
        offer(all_work_s(), "work of all nodes");
        for (int s = 0; s < problem_.stages; ++s)
            offer(stage_work_s(s), s == 0 ? "work of the data nodes" : "work of a stage, with the shortest head and tail");
        const auto loops = loops_s();
        offer(data_nodes_s(loops, false), "shortest path of a microbatch", slowest_data_node(loops, false));
        offer(data_nodes_s(loops, true), "memory and work of the data nodes, with the shortest paths", slowest_data_node(loops, true));
        offer(holding_s(), "memory of the data nodes, with the shortest path of each microbatch");
        if (effort > 0) offer(shared_s(bound.seconds, effort), "memory and work of the data nodes, with what the other nodes can serve");
        bound.seconds += problem_.step_seconds;  // whichever operation is the last, its stage steps after it
        // Sums in another order than the evaluator's: a hair below, so that rounding never breaks the bound.
        bound.seconds *= 1 - 1e-12;
        return bound;
    }

private:
    static constexpr std::size_t most_sizes = 16;

    double arrival_s(const Hop& hop, double transfer_s) const { return hop.latency_s + problem_.overhead_s + transfer_s; }
    double sample_block_s(int node) const { return problem_.samples * problem_.seconds_per_sample_per_block[at(node)]; }

    std::vector<int> candidates(int stage) const {
        if (!problem_.placement.empty()) return problem_.placement[at(stage)];
        std::vector<int> all(at(problem_.nodes()));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    /// Nodes of the stage, or -1 where that is free.
    int size(int stage) const {
        if (!problem_.placement.empty()) return static_cast<int>(problem_.placement[at(stage)].size());
        return problem_.stage_sizes.empty() ? -1 : problem_.stage_sizes[at(stage)];
    }

    /// All work at the speed of all nodes together.
    double all_work_s() const {
        double rate = 0;
        for (int n = 0; n < problem_.nodes(); ++n) rate += 1 / sample_block_s(n);
        std::vector<int> blocks(problem_.blocks.begin() + 1, problem_.blocks.end());
        std::sort(blocks.begin(), blocks.end());
        const double others = std::accumulate(blocks.begin(), blocks.begin() + std::max(0, length_ - 1), 0.0);
        const double work = totals_.work_of(problem_.microbatches) * (problem_.blocks[0] * (work_factor_ + problem_.loss_factor) + others * work_factor_);
        return (work + spare_work()) / rate;
    }

    /// The spare blocks all on the stage that is passed over most often: none is visited as often as stage 0.
    double spare_work() const { return totals_.spare * totals_.work_of(fewest_visits(problem_.stages - 1)) * work_factor_; }

    /// The same of one microbatch that visits every stage, seconds on the fastest node.
    double spare_way_s() const {
        if (totals_.spare == 0 || length_ < problem_.stages) return 0;
        double fastest_s = infinite;
        for (int n = 0; n < problem_.nodes(); ++n) fastest_s = std::min(fastest_s, sample_block_s(n));
        return totals_.spare * fastest_s * way_factor_;
    }

    int fewest_visits(int stage) const {
        if (stage == 0) return problem_.microbatches;
        if (length_ == problem_.stages) return problem_.microbatches;
        if (!problem_.constraints.uniform_execution) return 0;
        return std::max(0, problem_.microbatches * (length_ - 1) - (problem_.stages - 2) * problem_.visits_cap(length_));
    }

    double stage_work_s(int stage) const {
        const int r = size(stage), visits = fewest_visits(stage);
        if (r <= 0 || visits == 0) return 0;
        const double factor = problem_.blocks[at(stage)] * (work_factor_ + (stage == 0 ? problem_.loss_factor : 0));
        std::vector<double> seconds;
        for (const int n : candidates(stage)) seconds.push_back(sample_block_s(n) * factor);
        std::sort(seconds.begin(), seconds.end());
        if (static_cast<int>(seconds.size()) < r) return 0;
        double rate = 0;
        for (int i = 0; i < r; ++i) rate += 1 / seconds[at(i)];
        const double work_s = std::max(totals_.work_of(visits) / rate, totals_.work_of(ceil_div(visits, r)) * seconds.front());
        if (stage == 0) return work_s + shortest_reduce_s(0, r);
        double first_forward_s = infinite, last_backward_s = infinite;
        for (const int n : candidates(0)) {
            first_forward_s = std::min(first_forward_s, problem_.forward_s(n, 0));
            last_backward_s = std::min(last_backward_s, problem_.backward_s(n, 0));
        }
        // Split: the stage's last operation may be a weight gradient, which nothing follows.
        const double tail_s = problem_.split_backward ? 0 : shortest_backward_s_ + last_backward_s;
        return first_forward_s + shortest_forward_s_ + work_s + std::max(tail_s, shortest_reduce_s(stage, r));
    }

    /// The all-reduce of a stage of r nodes takes no less. Where the ring is free: each of its nodes sends to another one, so that its
    /// slowest edge is at least the r-th of all candidates' fastest edges.
    double shortest_reduce_s(int stage, int r) const {
        if (!problem_.charge_all_reduce || r <= 1) return 0;
        if (!problem_.placement.empty()) return all_reduce_seconds(problem_, problem_.placement[at(stage)], stage);
        std::vector<double> fastest;
        for (int a = 0; a < problem_.nodes(); ++a) {
            double least_s = infinite;
            for (int b = 0; b < problem_.nodes(); ++b) {
                if (a == b || !problem_.reachable(a, b)) continue;
                const Hop& hop = problem_.hop(a, b);
                least_s = std::min(least_s, hop.latency_s + problem_.overhead_s + problem_.gradient_bytes[at(stage)] / r / hop.bandwidth_bytes_per_s);
            }
            if (least_s < infinite) fastest.push_back(least_s);
        }
        if (static_cast<int>(fastest.size()) < r) return 0;
        std::nth_element(fastest.begin(), fastest.begin() + (r - 1), fastest.end());
        return 2 * (r - 1) * fastest[at(r - 1)];
    }

    /// For each possible data node the shortest time of a microbatch from the start of its first F until its memory is free.
    std::vector<double> loops_s() const {
        std::vector<double> loops;
        if (length_ > 1 && problem_.nodes() > 300) {  // cubic otherwise
            double fastest_s = infinite;
            for (int b = 0; b < problem_.nodes(); ++b) fastest_s = std::min(fastest_s, sample_block_s(b) * fewest_blocks_ * way_factor_);
            for (const int d : candidates(0))
                loops.push_back(problem_.forward_s(d, 0) * (work_factor_ + problem_.loss_factor) + (length_ - 1) * fastest_s + spare_way_s() +
                                length_ * (shortest_forward_s_ + shortest_backward_s_));
            return loops;
        }
        const bounds::Walks walks(problem_, length_, spare_way_s());
        for (const int d : candidates(0)) loops.push_back(walks.shortest_s(d));
        return loops;
    }

    std::vector<double> data_node_bounds_s(const std::vector<double>& loops, bool memory, int own) const {
        if (!memory) return loops;
        const auto nodes = candidates(0);
        std::vector<double> bounds;
        for (std::size_t i = 0; i < loops.size(); ++i) bounds.push_back(bounds::data_node_s(problem_, nodes[i], own, loops[i]));
        return bounds;
    }

    /// Whose bound is that of all; -1 where it is not known who the data nodes are, or what each of them gets.
    int slowest_data_node(const std::vector<double>& loops, bool memory) const {
        if (problem_.placement.empty() || !problem_.balance_data_nodes) return -1;
        const auto bounds = data_node_bounds_s(loops, memory, ceil_div(problem_.microbatches, static_cast<int>(loops.size())));
        return candidates(0)[static_cast<std::size_t>(std::max_element(bounds.begin(), bounds.end()) - bounds.begin())];
    }

    /// Whatever nodes stage 0 gets, its worst one is at least the r-th best. Where they need not share evenly, one of them has at least
    /// its share, and may be the best.
    double data_nodes_s(const std::vector<double>& loops, bool memory) const {
        const auto with = [&](int r) {
            const int own = ceil_div(problem_.microbatches, r);
            auto bounds = data_node_bounds_s(loops, memory, own);
            std::sort(bounds.begin(), bounds.end());
            const std::size_t worst = problem_.balance_data_nodes ? at(r - 1) : 0;
            return worst < bounds.size() ? bounds[worst] + shortest_reduce_s(0, r) : 0.0;
        };
        double least_s = infinite;
        for (const int r : sizes_of_stage_0()) least_s = std::min(least_s, with(r));
        return least_s < infinite ? least_s : 0;
    }

    /// Where microbatches differ in size: each holds a place on a data node for its own shortest path, and r nodes have no more places than the r largest
    /// of them. And the largest is on its way at least that long.
    double holding_s() const {
        const auto relative = totals_.relative_sizes();
        if (relative.empty()) return 0;
        auto sizes = relative;
        sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
        const std::size_t stride = (sizes.size() + most_sizes - 1) / most_sizes;  // of many sizes, those between count as the next smaller one taken
        double all_s = 0, longest_s = 0;
        std::size_t next = 0;
        for (const double size : relative) {
            if (next < sizes.size() && size >= sizes[next]) {
                const Problem alike = resized(problem_, sizes[next]);
                const auto loops = Bounds(alike, length_, totals_).loops_s();
                longest_s = *std::min_element(loops.begin(), loops.end());
                next += stride;
            }
            all_s += longest_s;
        }
        std::vector<double> places;
        for (const int d : candidates(0)) places.push_back(std::min(problem_.memory[at(d)], problem_.microbatches));
        std::sort(places.rbegin(), places.rend());
        double least_s = infinite;
        for (const int r : sizes_of_stage_0()) {
            const double held = std::accumulate(places.begin(), places.begin() + std::min<std::ptrdiff_t>(r, std::ssize(places)), 0.0);
            if (held > 0) least_s = std::min(least_s, std::max(longest_s, all_s / held) + shortest_reduce_s(0, r));
        }
        return least_s;
    }

    /// How many data nodes there may be.
    std::vector<int> sizes_of_stage_0() const {
        if (const int r = size(0); r > 0) return {r};
        std::vector<int> sizes;
        for (int r = 1; r <= problem_.nodes() - problem_.stages + 1; ++r)
            if (!problem_.balance_data_nodes || problem_.microbatches % r == 0) sizes.push_back(r);
        return sizes;
    }

    double shared_s(double from_s, double effort) const {
        const auto sizes = sizes_of_stage_0();
        double least_s = infinite;
        for (const int r : sizes) {
            const double finish_s = shortest_reduce_s(0, r) + problem_.step_seconds;
            const double share = effort / static_cast<double>(sizes.size());
            least_s = std::min(least_s, bounds::sharing_s(problem_, length_, r, finish_s, spare_way_s(), from_s + problem_.step_seconds, share));
        }
        return least_s - problem_.step_seconds;
    }

    const Problem& problem_;
    int length_;
    const Totals& totals_;
    double shortest_forward_s_ = infinite, shortest_backward_s_ = infinite, work_factor_ = 1, way_factor_ = 1;
    int fewest_blocks_ = 0;
};

/// Over all numbers of blocks that stage 0 may hold, in as many ranges as time allows: no plan is shorter than the least of their bounds.
LowerBound over_blocks(Problem problem, int length, Totals totals) {
    const int all = std::accumulate(problem.blocks.begin(), problem.blocks.end(), 0), choices = all - problem.stages + 1;
    const double once = std::pow(problem.nodes(), 3) * length;
    const int ranges = std::clamp(static_cast<int>(2e8 / once), 1, choices);
    struct Range {
        int first = 1;
        Totals totals;
        LowerBound bound;
    };
    std::vector<Range> found;
    std::vector<int> blocks(at(problem.stages), 1);
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
    std::stable_sort(found.begin(), found.end(), [](const Range& a, const Range& b) { return a.bound.seconds < b.bound.seconds; });
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
