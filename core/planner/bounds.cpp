// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/planner/timeline.h"

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
        // Where the backward is split, what a microbatch waits for on other nodes is I alone, half of it.
        way_factor_ = problem.split_backward ? 1 + problem.backward_factor / 2 : work_factor_;
        if (!problem.placement.empty()) {
            stage_of_.assign(at(n), -1);
            for (std::size_t s = 0; s < problem.placement.size(); ++s)
                for (const int node : problem.placement[s]) stage_of_[at(node)] = static_cast<int>(s);
        }
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
        offer(data_nodes_s(loops, true), "memory and work of the data nodes, with the shortest paths");
        bound.seconds += problem_.step_seconds;  // whichever operation is the last, its stage steps after it
        // Sums in another order than the evaluator's: a hair below, so that rounding never breaks the bound.
        bound.seconds *= 1 - 1e-12;
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

    /// For each possible data node the shortest time of a microbatch from the start of its first F until its memory is free: the cheapest
    /// closed walk of `length` nodes, each edge with an activation one way and a gradient the other. The walk may repeat nodes, though not
    /// at once nor with one between: still a bound, and the cheap way to and fro between two near nodes is ruled out.
    std::vector<double> loops_s() const {
        std::vector<double> loops;
        const auto own_s = [&](int d) { return problem_.forward_s(d, 0) * (work_factor_ + problem_.loss_factor); };
        const int n = problem_.nodes();
        std::vector<double> visit(at(n));
        for (int b = 0; b < n; ++b) visit[at(b)] = visit_s(b);
        if (length_ > 1 && n > 300) {  // cubic otherwise
            const double fastest = *std::min_element(visit.begin(), visit.end());
            for (const int d : candidates(0))
                loops.push_back(own_s(d) + (length_ - 1) * fastest + length_ * (shortest_forward_s_ + shortest_backward_s_));
            return loops;
        }
        std::vector<double> edges(at(n) * at(n));
        for (int a = 0; a < n; ++a)
            for (int b = 0; b < n; ++b) edges[at(a) * at(n) + at(b)] = edge_s(a, b);
        for (const int d : candidates(0)) loops.push_back(own_s(d) + (length_ == 1 ? 0 : walk_s(d, edges, visit)));
        return loops;
    }

    /// What a microbatch spends on a node of another stage than 0, at least.
    double visit_s(int node) const {
        if (problem_.placement.empty()) return sample_block_s(node) * fewest_blocks_ * way_factor_;
        const int stage = stage_of_[at(node)];
        return stage <= 0 ? infinite : problem_.forward_s(node, stage) * way_factor_;
    }

    double edge_s(int a, int b) const {
        if (a == b || !problem_.reachable(a, b) || !problem_.reachable(b, a)) return infinite;
        if (!problem_.placement.empty() && stage_of_[at(a)] == stage_of_[at(b)]) return infinite;
        return arrival_s(problem_.hop(a, b), problem_.hop(a, b).seconds_per_forward) + arrival_s(problem_.hop(b, a), problem_.hop(b, a).seconds_per_backward);
    }

    /// The cheapest walk from d over length - 1 nodes and back, by dynamic programming: for each node the best way to it, and the best one
    /// that comes from another node than that.
    double walk_s(int d, const std::vector<double>& edges, const std::vector<double>& visit) const {
        struct Way {
            double seconds = infinite;
            int from = -1;
        };
        struct Best {
            Way first, second;
            void offer(double seconds, int from) {
                if (seconds < first.seconds) {
                    if (from != first.from) second = first;
                    first = {seconds, from};
                } else if (from != first.from && seconds < second.seconds) {
                    second = {seconds, from};
                }
            }
            double but_from(int node) const { return first.from == node ? second.seconds : first.seconds; }
        };
        const std::size_t n = visit.size();
        std::vector<Best> reach(n), next(n);
        for (std::size_t b = 0; b < n; ++b)
            if (b != at(d)) reach[b].offer(edges[at(d) * n + b] + visit[b], d);
        for (int hop = 2; hop < length_; ++hop) {
            std::fill(next.begin(), next.end(), Best{});
            for (std::size_t a = 0; a < n; ++a)
                for (std::size_t b = 0; b < n; ++b)
                    if (b != at(d)) next[b].offer(reach[a].but_from(static_cast<int>(b)) + edges[a * n + b] + visit[b], static_cast<int>(a));
            reach.swap(next);
        }
        double loop_s = infinite;
        for (std::size_t a = 0; a < n; ++a)
            if (a != at(d)) loop_s = std::min(loop_s, reach[a].first.seconds + edges[a * n + at(d)]);
        return loop_s;
    }

    /// No data node with c microbatches of its own, of which it holds M at a time, is through with them sooner, if each of them holds its
    /// place for at least `loop_s`. Let S(1) <= S(2) .. be the starts of their F, E(1) <= E(2) .. the ends of their last B (of W, where
    /// split). Then, as the node runs one operation at a time,
    ///   S(j) >= S(j-1) + F,  E(j) >= E(j-1) + B  and  E(j) >= S(j) + loop (of the j that end first, one is at least the j-th to start).
    /// At S(j) at least j - M have ended, so S(j) >= E(j-M). More: let i <= j - M. F number i+M and later start after E(i), for the same
    /// reason, and those before F number j are through by S(j): j-M-i of them. Of the j-M that have ended by S(j), j-M-i ended after
    /// E(i): so many B lie between. And as only i+M-1 started before E(i), at least (j-M) - (i+M-1) of those that ended by S(j) have
    /// their L in between too. Hence S(j) >= E(i) + (j-M-i) (F + B) + max(0, j-i-2M+1) L. `work` and `work_loss` are the greatest of
    /// these right sides over i, without and with L, from j to j+1.
    double own_s(int node, int c, double loop_s) const {
        const int m = std::min(problem_.memory[at(node)], c);
        if (m < 1) return 0;  // check_solvable's business
        const double forward_s = problem_.forward_s(node, 0), loss_s = problem_.loss_s(node);
        const double backward_s = problem_.backward_s(node, 0) * (problem_.split_backward ? 0.5 : 1);  // W, the I may be past
        std::vector<double> end_s(at(c) + 1, 0);
        double start_s = 0, work_s = -infinite, work_loss_s = -infinite;
        for (int j = 1; j <= c; ++j) {
            if (j > 1) start_s += forward_s;
            if (j > m) work_s = std::max(work_s + forward_s + backward_s, end_s[at(j - m)]);
            if (j > 2 * m) work_loss_s = std::max(work_loss_s + forward_s + backward_s + loss_s, end_s[at(j - 2 * m)] + m * (forward_s + backward_s) + loss_s);
            start_s = std::max({start_s, work_s, work_loss_s});
            end_s[at(j)] = std::max(start_s + loop_s, j > 1 ? end_s[at(j - 1)] + backward_s : 0);
        }
        return end_s[at(c)];
    }

    /// Whatever nodes stage 0 gets, its worst one is at least the r-th best. Where they need not share evenly, one of them has at least
    /// its share, and may be the best.
    double data_nodes_s(const std::vector<double>& loops, bool memory) const {
        const auto nodes = candidates(0);
        const auto with = [&](int r) {
            const int own = ceil_div(problem_.microbatches, r);
            std::vector<double> bounds;
            for (std::size_t i = 0; i < loops.size(); ++i) bounds.push_back(memory ? own_s(nodes[i], own, loops[i]) : loops[i]);
            std::sort(bounds.begin(), bounds.end());
            const std::size_t worst = problem_.balance_data_nodes ? at(r - 1) : 0;
            return worst < bounds.size() ? bounds[worst] + shortest_reduce_s(0, r) : 0.0;
        };
        if (const int r = size(0); r > 0) return with(r);
        double least_s = infinite;
        for (int r = 1; r <= problem_.nodes() - problem_.stages + 1; ++r)
            if (!problem_.balance_data_nodes || problem_.microbatches % r == 0) least_s = std::min(least_s, with(r));
        return least_s < infinite ? least_s : 0;
    }

    const Problem& problem_;
    int length_;
    double shortest_forward_s_ = infinite, shortest_backward_s_ = infinite, work_factor_ = 1, way_factor_ = 1;
    std::vector<int> stage_of_;  ///< of each node, -1: left out; empty where placement is free
    int fewest_blocks_ = 0;
};

}  // namespace

LowerBound lower_bound(const Problem& problem, int length) { return Bounds(problem, length).best(); }

}  // namespace skippipe
