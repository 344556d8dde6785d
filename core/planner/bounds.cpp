// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace skippipe {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
std::size_t at(int index) { return static_cast<std::size_t>(index); }
int ceil_div(int a, int b) { return (a + b - 1) / b; }

/// Shared figures of all bounds; where placement is free, whatever it could be at best.
class Bounds {
public:
    Bounds(const Problem& problem, int length) : problem_(problem), length_(length) {
        const int n = problem.nodes();
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) {
                if (a == b || !problem.reachable(a, b)) continue;
                const Hop& hop = problem.hop(a, b);
                shortest_forward_s_ = std::min(shortest_forward_s_, arrival_s(hop, hop.seconds_per_forward));
                shortest_backward_s_ = std::min(shortest_backward_s_, arrival_s(hop, hop.seconds_per_backward));
            }
        work_factor_ = 1 + problem.backward_factor;
        for (int s = 1; s < problem.stages; ++s) fewest_blocks_ = fewest_blocks_ == 0 ? problem.blocks[at(s)] : std::min(fewest_blocks_, problem.blocks[at(s)]);
    }

    LowerBound best() const {
        LowerBound bound{0, "nothing"};
        const auto offer = [&](double seconds, const char* which) {
            if (seconds > bound.seconds && seconds < infinite) bound = {seconds, which};
        };
        offer(all_work_s(), "work of all nodes");
        for (int s = 0; s < problem_.stages; ++s) offer(stage_work_s(s), s == 0 ? "work of the data nodes" : "work of a stage, with the shortest head and tail");
        const auto loops = loops_s();
        offer(data_nodes_s(loops, false), "shortest path of a microbatch");
        offer(data_nodes_s(loops, true), "memory of the data nodes and the shortest paths");
        bound.seconds += problem_.step_seconds;  // stage 0 ends last and steps
        return bound;
    }

private:
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
        return problem_.microbatches * (problem_.blocks[0] * (work_factor_ + problem_.loss_factor) + others * work_factor_) / rate;
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
        const double work_s = std::max(visits / rate, ceil_div(visits, r) * seconds.front());
        if (stage == 0) return work_s;
        double first_forward_s = infinite, last_backward_s = infinite;
        for (const int n : candidates(0)) {
            first_forward_s = std::min(first_forward_s, problem_.forward_s(n, 0));
            last_backward_s = std::min(last_backward_s, problem_.backward_s(n, 0));
        }
        return first_forward_s + shortest_forward_s_ + work_s + shortest_backward_s_ + last_backward_s;
    }

    /// For each possible data node the shortest time of a microbatch from the start of its first F to the end of its last B: the cheapest
    /// closed walk of `length` nodes, each edge with an activation one way and a gradient the other (a node may repeat: still a bound).
    std::vector<double> loops_s() const {
        const int n = problem_.nodes();
        std::vector<double> loops;
        const auto own_s = [&](int d) { return problem_.forward_s(d, 0) * (work_factor_ + problem_.loss_factor); };
        if (length_ == 1) {
            for (const int d : candidates(0)) loops.push_back(own_s(d));
            return loops;
        }
        const auto edge_s = [&](int a, int b) {
            if (a == b || !problem_.reachable(a, b) || !problem_.reachable(b, a)) return infinite;
            return arrival_s(problem_.hop(a, b), problem_.hop(a, b).seconds_per_forward) + arrival_s(problem_.hop(b, a), problem_.hop(b, a).seconds_per_backward);
        };
        std::vector<double> visit(at(n));
        for (int b = 0; b < n; ++b) visit[at(b)] = sample_block_s(b) * fewest_blocks_ * work_factor_;
        if (n > 300) {  // cubic otherwise
            const double fastest = *std::min_element(visit.begin(), visit.end());
            for (const int d : candidates(0))
                loops.push_back(own_s(d) + (length_ - 1) * fastest + length_ * (shortest_forward_s_ + shortest_backward_s_));
            return loops;
        }
        std::vector<double> edges(at(n) * at(n));
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) edges[at(a) * at(n) + at(b)] = edge_s(a, b);
        for (const int d : candidates(0)) {
            std::vector<double> reach(at(n), infinite), next(at(n));
            for (int b = 0; b < n; ++b) reach[at(b)] = edges[at(d) * at(n) + at(b)] + visit[at(b)];
            for (int hop = 2; hop < length_; ++hop) {
                std::fill(next.begin(), next.end(), infinite);
                for (int a = 0; a < n; ++a)
                    for (int b = 0; b < n; ++b)
                        if (b != d) next[at(b)] = std::min(next[at(b)], reach[at(a)] + edges[at(a) * at(n) + at(b)] + visit[at(b)]);
                reach.swap(next);
                reach[at(d)] = infinite;
            }
            double loop_s = infinite;
            for (int a = 0; a < n; ++a) loop_s = std::min(loop_s, reach[at(a)] + edges[at(a) * at(n) + at(d)]);
            // Sums in another order than the evaluator's: a hair below, so that rounding never breaks the bound.
            loops.push_back((own_s(d) + loop_s) * (1 - 1e-12));
        }
        return loops;
    }

    /// Whatever nodes stage 0 gets, its worst one is at least the r-th best. A node that holds M of its own c microbatches at a time
    /// works off ceil(c / M) of them one after the other.
    double data_nodes_s(const std::vector<double>& loops, bool memory) const {
        const auto nodes = candidates(0);
        const auto with = [&](int r) {
            const int own = problem_.balance_data_nodes ? problem_.microbatches / r : 1;
            std::vector<double> bounds;
            for (std::size_t i = 0; i < loops.size(); ++i) {
                const int m = problem_.memory[at(nodes[i])];
                bounds.push_back(memory && m < own ? ceil_div(own, m) * loops[i] : loops[i]);
            }
            std::sort(bounds.begin(), bounds.end());
            return at(r) <= bounds.size() ? bounds[at(problem_.balance_data_nodes ? r - 1 : 0)] : 0.0;
        };
        if (const int r = size(0); r > 0) return with(r);
        double least_s = infinite;
        for (int r = 1; r <= std::min(problem_.nodes() - problem_.stages + 1, problem_.microbatches); ++r)
            if (!problem_.balance_data_nodes || problem_.microbatches % r == 0) least_s = std::min(least_s, with(r));
        return least_s < infinite ? least_s : 0;
    }

    const Problem& problem_;
    int length_;
    double shortest_forward_s_ = infinite, shortest_backward_s_ = infinite, work_factor_ = 1;
    int fewest_blocks_ = 0;
};

}  // namespace

LowerBound lower_bound(const Problem& problem, int length) { return Bounds(problem, length).best(); }

}  // namespace skippipe
