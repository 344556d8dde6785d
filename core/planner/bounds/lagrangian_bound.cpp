// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/lagrangian_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/base/index.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::bounds {

namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

/// Stage of each node where placement is given, else empty.
PerNode<StageIndex> stages_given(const Problem& problem) {
    PerNode<StageIndex> stage_of;
    if (problem.placement.empty()) return stage_of;
    stage_of.assign(at(problem.nodes()), -1);
    for (StageIndex s = 0; at(s) < problem.placement.size(); ++s)
        for (const NodeIndex node : problem.placement[s]) stage_of[node] = s;
    return stage_of;
}

/// F of a node for a stage other than 0: the stage it is given, or the one with the fewest blocks.
double least_forward_s(const Problem& problem, NodeIndex node, const PerNode<StageIndex>& stage_of) {
    if (!stage_of.empty()) return stage_of[node] <= 0 ? infinite : problem.forward_s(node, stage_of[node]);
    double least_s = infinite;
    for (StageIndex s = 1; s < problem.stages; ++s) least_s = std::min(least_s, problem.forward_s(node, s));
    return least_s;
}

}  // namespace

ShortestCycles::ShortestCycles(const Problem& problem, int length, double besides_s)
    : problem_(problem),
      length_(length),
      besides_s_(besides_s),
      data_(at(problem.nodes()), false),
      free_(at(problem.nodes()), 0) {
    const int n = problem.nodes();
    const auto stage_of = stages_given(problem);
    // Where the backward is split, what a microbatch waits for on other nodes is I alone, half of it.
    const double way_factor = 1 + problem.backward_factor * (problem.split_backward ? 0.5 : 1);
    for (NodeIndex b = 0; b < n; ++b) visit_s_.push_back(least_forward_s(problem, b, stage_of) * way_factor);
    const auto seconds = [&](NodeIndex a, NodeIndex b) {
        if (a == b || !problem.reachable(a, b) || !problem.reachable(b, a)) return infinite;
        if (!stage_of.empty() && stage_of[a] == stage_of[b]) return infinite;
        const Hop &there = problem.hop(a, b), &back = problem.hop(b, a);
        return there.latency_s + there.seconds_per_forward + back.latency_s + back.seconds_per_backward +
               2 * problem.overhead_s;
    };
    for (NodeIndex a = 0; a < n; ++a)
        for (NodeIndex b = 0; b < n; ++b) edges_s_.push_back(seconds(a, b));
}

double ShortestCycles::own_s(NodeIndex data_node) const {
    return problem_.forward_s(data_node, 0) * (1 + problem_.backward_factor + problem_.loss_factor) + besides_s_;
}

double ShortestCycles::shortest_s(NodeIndex data_node) const {
    return length_ == 1 ? own_s(data_node) : cheapest(data_node, 1, free_).seconds;
}

/// Dynamic programming by hops: for each node the best way to it, and the best one that comes from another node than
/// that.
ShortestCycles::Cycle ShortestCycles::cheapest(NodeIndex data_node, double time_price,
                                               const PerNode<double>& prices) const {
    struct Way {
        double price = infinite;
        NodeIndex from = -1;
        int rank = 0;  ///< node before, and which of its two ways
    };
    struct Ways {
        Way best[2];
        void offer(double price, NodeIndex from, int rank) {
            if (price < best[0].price) {
                if (from != best[0].from) best[1] = best[0];
                best[0] = {price, from, rank};
            } else if (from != best[0].from && price < best[1].price) {
                best[1] = {price, from, rank};
            }
        }
    };
    const int n = problem_.nodes();
    if (length_ == 1) return {time_price * own_s(data_node), own_s(data_node), {}};
    std::vector<NodeIndex> nodes;
    for (NodeIndex b = 0; b < n; ++b)
        if (b != data_node && !data_[b] && visit_s_[b] < infinite) nodes.push_back(b);
    const auto edge_s = [&](NodeIndex a, NodeIndex b) { return edges_s_[at(a) * at(n) + at(b)]; };
    std::vector<Ways> ways(at(length_) * at(n));
    const auto ways_to = [&](int hop, NodeIndex b) -> Ways& { return ways[at(hop) * at(n) + at(b)]; };
    for (int hop = 1; hop < length_; ++hop)
        for (const NodeIndex b : nodes) {
            Ways& to = ways_to(hop, b);
            const double visit = time_price * visit_s_[b] + prices[b];
            if (hop == 1) {
                if (edge_s(data_node, b) < infinite) to.offer(time_price * edge_s(data_node, b) + visit, data_node, 0);
                continue;
            }
            for (const NodeIndex a : nodes) {
                const auto& before = ways_to(hop - 1, a);
                const int rank = before.best[0].from == b ? 1 : 0;
                if (a != b && edge_s(a, b) < infinite && before.best[rank].price < infinite)
                    to.offer(before.best[rank].price + time_price * edge_s(a, b) + visit, a, rank);
            }
        }
    Cycle cycle{infinite, infinite, {}};
    NodeIndex last = -1;
    for (const NodeIndex a : nodes) {
        if (!(edge_s(a, data_node) < infinite)) continue;
        const double price =
            ways_to(length_ - 1, a).best[0].price + time_price * (edge_s(a, data_node) + own_s(data_node));
        if (price < cycle.price) {
            cycle.price = price;
            last = a;
        }
    }
    if (last < 0) return cycle;
    cycle.seconds = own_s(data_node) + edge_s(last, data_node);
    NodeIndex node = last;
    for (int hop = length_ - 1, rank = 0; hop >= 1; --hop) {
        const Way& way = ways_to(hop, node).best[rank];
        cycle.nodes.push_back(node);
        cycle.seconds += visit_s_[node] + edge_s(way.from, node);
        node = way.from;
        rank = way.rank;
    }
    return cycle;
}

/// Let S(1) <= S(2) .. be the starts of the node's F, E(1) <= E(2) .. the ends of its last B (of W, where split), m the
/// microbatches that it holds at a time. Then, as the node runs one operation at a time,
///   S(j) >= S(j-1) + F,  E(j) >= E(j-1) + B  and  E(j) >= S(j) + loop (of the j that end first, one is at least the
///   j-th to start).
/// At S(j) at least j - m have ended, so S(j) >= E(j-m). More: let i <= j - m. F number i+m and later start after E(i),
/// for the same reason, and those before F number j are through by S(j): j-m-i of them. Of the j-m that have ended by
/// S(j), j-m-i ended after E(i): so many B lie between. And as only i+m-1 started before E(i), at least (j-m) - (i+m-1)
/// of those that ended by S(j) have their L in between too. Hence
///   S(j) >= E(i) + (j-m-i) (F + B) + max(0, j-i-2m+1) L.
/// `work_s` and `work_loss_s` are the greatest of these right sides over i, without and with L, carried from j to j+1.
double data_node_s(const Problem& problem, NodeIndex node, int own, double loop_s) {
    const int m = std::min(problem.memory[node], own);
    if (m < 1) return 0;
    const double forward_s = problem.forward_s(node, 0), loss_s = problem.loss_s(node);
    const double backward_s =
        problem.backward_s(node, 0) * (problem.split_backward ? 0.5 : 1);  // of W; the I may be past
    const double pair_s = forward_s + backward_s;
    std::vector<double> end_s(at(own) + 1, 0);
    double start_s = 0, work_s = -infinite, work_loss_s = -infinite;
    for (int j = 1; j <= own; ++j) {
        if (j > 1) start_s += forward_s;
        if (j > m) work_s = std::max(work_s + pair_s, end_s[at(j - m)]);
        if (j > 2 * m)
            work_loss_s = std::max(work_loss_s + pair_s + loss_s, end_s[at(j - 2 * m)] + m * pair_s + loss_s);
        start_s = std::max({start_s, work_s, work_loss_s});
        end_s[at(j)] = std::max(start_s + loop_s, j > 1 ? end_s[at(j - 1)] + backward_s : 0);
    }
    return end_s[at(own)];
}

namespace {

/// Refutes that an iteration takes no longer than a given time, for every choice of data nodes:
///   a data node alone must be through in time (data_node_s with its shortest cycle past the other data nodes), and
///   all cycles together must fit (`overloaded`).
/// The first prunes the choices, one data node after another; the second is asked for each complete choice that is
/// left.
class Sharing {
public:
    Sharing(const Problem& problem, int length, int data_nodes, double finish_s, double besides_s, double effort)
        : problem_(problem),
          length_(length),
          data_nodes_(data_nodes),
          own_(problem.microbatches / data_nodes),
          finish_s_(finish_s),
          cycles_(problem, length, besides_s),
          stage_of_(stages_given(problem)),
          most_work_(static_cast<std::int64_t>(60e6 * effort)) {}

    /// True: no plan ends its iteration by `time_s`. False: not shown.
    bool refuted(double time_s) {
        set_capacities(time_s);
        chosen_.clear();
        data_.assign(at(problem_.nodes()), false);
        if (!problem_.placement.empty()) {
            chosen_ = problem_.placement[0];
            for (const NodeIndex d : chosen_) data_[d] = true;
            return !in_time(time_s) || overloaded(time_s);
        }
        candidates_.clear();
        cycles_.set_data_nodes(data_);
        for (NodeIndex d = 0; d < problem_.nodes(); ++d)
            if (data_node_s(problem_, d, own_, cycles_.shortest_s(d)) + finish_s_ <= time_s) candidates_.push_back(d);
        return all_refuted(0, time_s);
    }
    bool out_of_work() const { return work_ > most_work_; }

private:
    std::int64_t cycle_work() const { return std::int64_t{problem_.nodes()} * problem_.nodes() * length_; }
    static constexpr int most_rounds = 100;

    bool all_refuted(std::size_t next, double time_s) {
        if (out_of_work()) return false;
        if (!chosen_.empty() && !in_time(time_s)) return true;
        if (static_cast<int>(chosen_.size()) == data_nodes_) return overloaded(time_s);
        for (std::size_t k = next; k + at(data_nodes_) <= candidates_.size() + chosen_.size(); ++k) {
            chosen_.push_back(candidates_[k]);
            data_[candidates_[k]] = true;
            const bool refuted = all_refuted(k + 1, time_s);
            data_[candidates_[k]] = false;
            chosen_.pop_back();
            if (!refuted) return false;
        }
        return true;
    }

    bool in_time(double time_s) {
        cycles_.set_data_nodes(data_);
        work_ += static_cast<std::int64_t>(chosen_.size()) * cycle_work();
        return std::all_of(chosen_.begin(), chosen_.end(), [&](NodeIndex d) {
            return data_node_s(problem_, d, own_, cycles_.shortest_s(d)) + finish_s_ <= time_s;
        });
    }

    /// Visits that each node can serve: its first F comes after an F on a data node and a hop, and its last B is
    /// followed by a hop and a B on a data node (split: its last W by nothing); between them it runs one operation at a
    /// time. And no stage is visited more often than CC2 says.
    void set_capacities(double time_s) {
        const int n = problem_.nodes();
        double forward_s = infinite, backward_s = infinite;
        for (NodeIndex d = 0; d < n; ++d) {
            if (!stage_of_.empty() && stage_of_[d] != 0) continue;
            forward_s = std::min(forward_s, problem_.forward_s(d, 0));
            backward_s = std::min(backward_s, problem_.backward_s(d, 0));
        }
        const int most = problem_.constraints.uniform_execution && length_ < problem_.stages
                             ? problem_.visits_cap(length_)
                             : problem_.microbatches;
        capacity_.assign(at(n), 0);
        for (NodeIndex x = 0; x < n; ++x) {
            double in_s = infinite, out_s = infinite;
            for (NodeIndex a = 0; a < n; ++a) {
                if (a == x) continue;
                const Hop &in = problem_.hop(a, x), &out = problem_.hop(x, a);
                if (problem_.reachable(a, x))
                    in_s =
                        std::min(in_s, arrival_seconds(0, in.latency_s, problem_.overhead_s, in.seconds_per_forward));
                if (problem_.reachable(x, a))
                    out_s = std::min(out_s,
                                     arrival_seconds(0, out.latency_s, problem_.overhead_s, out.seconds_per_backward));
            }
            const double visit_s = least_forward_s(problem_, x, stage_of_) * (1 + problem_.backward_factor);
            const double tail_s = problem_.split_backward ? 0 : out_s + backward_s;
            const double visits = (time_s - problem_.step_seconds - forward_s - in_s - tail_s) / visit_s;
            if (visits > 0)
                capacity_[x] =
                    std::min(most, static_cast<int>(std::min(visits * (1 + 1e-9), 1e9)));  // infinite / infinite: 0
        }
    }

    /// Seconds that the cycles of a data node may take together, if it is to be through in time. With m places, its c
    /// holds end at E(1) <= ..
    /// <= E(c) and start at S(1) <= .. <= S(c); as S(j+m) >= E(j), all holds together are sum E - sum S <= the last m E
    /// - the first m S, and these lie at least B and F apart.
    double budget_s(NodeIndex d, double time_s) const {
        const int m = std::min(problem_.memory[d], own_);
        const double backward_s = problem_.backward_s(d, 0) * (problem_.split_backward ? 0.5 : 1);
        return m * (time_s - finish_s_) - 0.5 * m * (m - 1) * (problem_.forward_s(d, 0) + backward_s);
    }

    /// Whether the chosen data nodes' microbatches need more than there is. If there were a plan in time, its cycles
    /// would visit no node x more than capacity(x) times, and take each data node d no more than budget(d). So for any
    /// prices >= 0 of a visit and of a second
    ///   sum over d of (own x least price of a cycle of d - price of a second of d x budget(d)) - sum over x of
    ///   price(x) x capacity(x) <= 0.
    /// Prices that break this refute the plan; they are looked for by a subgradient method, in units of the shortest
    /// cycle.
    bool overloaded(double time_s) {
        const int n = problem_.nodes();
        cycles_.set_data_nodes(data_);
        PerNode<double> prices(at(n), 0), slope(at(n));
        std::vector<double> second(chosen_.size(), 1), second_slope(chosen_.size());
        double unit_s = infinite;
        for (const NodeIndex d : chosen_) unit_s = std::min(unit_s, cycles_.shortest_s(d));
        if (!(unit_s < infinite)) return true;
        for (int round = 0; round < most_rounds && !out_of_work(); ++round) {
            double excess = 0, size = 0;
            for (NodeIndex x = 0; x < n; ++x) {
                slope[x] = data_[x] ? 0 : -capacity_[x];
                excess += slope[x] * prices[x];
                size += -slope[x] * prices[x];
            }
            for (std::size_t k = 0; k < chosen_.size(); ++k) {
                const auto cycle = cycles_.cheapest(chosen_[k], second[k], prices);
                work_ += cycle_work();
                if (!(cycle.price < infinite)) return true;
                const double budget = budget_s(chosen_[k], time_s);
                excess += own_ * cycle.price - second[k] * budget;
                size += own_ * cycle.price + second[k] * std::abs(budget);
                second_slope[k] = (own_ * cycle.seconds - budget) / unit_s;
                for (const NodeIndex x : cycle.nodes) slope[x] += own_;
            }
            if (excess > 1e-9 * size) return true;
            double norm = 1e-30;
            for (const double s : slope) norm += s * s;
            for (const double s : second_slope) norm += s * s;
            const double step = 0.5 / std::sqrt(norm * (1 + round));
            for (NodeIndex x = 0; x < n; ++x) prices[x] = std::max(0.0, prices[x] + step * unit_s * slope[x] * 0.1);
            for (std::size_t k = 0; k < second.size(); ++k)
                second[k] = std::max(0.0, second[k] + step * second_slope[k]);
        }
        return false;
    }

    const Problem& problem_;
    int length_, data_nodes_, own_;
    double finish_s_;
    ShortestCycles cycles_;
    PerNode<StageIndex> stage_of_;
    PerNode<int> capacity_;
    std::vector<NodeIndex> candidates_, chosen_;
    PerNode<bool> data_;
    std::int64_t most_work_, work_ = 0;  ///< hops looked at
};

}  // namespace

double lagrangian_bound_s(const Problem& problem, int length, int data_nodes, double finish_s, double besides_s,
                          double from_s, double effort) {
    if (!problem.balance_data_nodes || problem.nodes() > 64 || length < 2 || !(from_s > 0)) return from_s;
    Sharing sharing(problem, length, data_nodes, finish_s, besides_s, effort);
    double refuted_s = from_s, open_s = 1.5 * from_s;
    for (int round = 0; round < 11 && !sharing.out_of_work(); ++round) {
        const double middle_s = 0.5 * (refuted_s + open_s);
        (sharing.refuted(middle_s) ? refuted_s : open_s) = middle_s;
    }
    return refuted_s;
}

}  // namespace skippipe::bounds
