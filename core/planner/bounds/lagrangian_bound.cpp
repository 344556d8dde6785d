// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/lagrangian_bound.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/base/index.h"
#include "core/base/infinite.h"
#include "core/planner/bounds/data_node.h"
#include "core/planner/bounds/shortest_cycles.h"
#include "core/planner/timeline/rules.h"

namespace skippipe::bounds {

namespace {

/// Refutes that an iteration takes no longer than a given time, for every choice of data nodes:
///   a data node alone must be through in time (data_node_s with its shortest cycle past the other data nodes), and
///   all cycles together must fit (`overloaded`).
/// The first prunes the choices, one data node after another; the second is asked for each complete choice that is
/// left.
class Sharing {
public:
    Sharing(const Problem& problem, int length, int data_nodes, const SharedNodes& nodes, double effort)
        : problem_(problem),
          length_(length),
          data_nodes_(data_nodes),
          own_(problem.microbatches / data_nodes),
          nodes_(nodes),
          finish_s_(nodes.finish_s),
          cycles_(problem, length, nodes.besides_s),
          most_work_(static_cast<std::int64_t>(60e6 * effort)) {}

    /// True: no plan ends its iteration by `time_s`. False: not shown.
    bool refuted(double time_s) {
        capacity_ = nodes_.visits(time_s);
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
    const SharedNodes& nodes_;
    double finish_s_;
    ShortestCycles cycles_;
    PerNode<int> capacity_;  ///< visits that each node can serve in the time looked at
    std::vector<NodeIndex> candidates_, chosen_;
    PerNode<bool> data_;
    std::int64_t most_work_, work_ = 0;  ///< hops looked at
};

}  // namespace

double lagrangian_bound_s(const Problem& problem, int length, int data_nodes, const SharedNodes& nodes, double from_s,
                          double effort) {
    if (!problem.balance_data_nodes || problem.nodes() > 64 || length < 2 || !(from_s > 0)) return from_s;
    Sharing sharing(problem, length, data_nodes, nodes, effort);
    // From below in steps first: the later a time, the more work it may take to refute, and what is refuted stays.
    constexpr int steps = 8, halvings = 13;
    double refuted_s = from_s, open_s = 1.5 * from_s;
    for (int step = 1; step <= steps && !sharing.out_of_work(); ++step) {
        const double time_s = from_s * (1 + 0.5 * step / steps);
        if (!sharing.refuted(time_s)) {
            open_s = time_s;
            break;
        }
        refuted_s = time_s;
    }
    for (int halving = 0; halving < halvings && refuted_s < open_s && !sharing.out_of_work(); ++halving) {
        const double middle_s = 0.5 * (refuted_s + open_s);
        (sharing.refuted(middle_s) ? refuted_s : open_s) = middle_s;
    }
    return refuted_s;
}

}  // namespace skippipe::bounds
