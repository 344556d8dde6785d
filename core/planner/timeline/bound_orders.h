// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "core/planner/plan/problem.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

/// Bound orders, where no transfer waits for another node's: what waits for what is known beforehand, so that there are
/// no events; each node runs its order as far as its inputs are there, and the next node goes on from there. Reuses its
/// memory; keeps a reference to the problem.
class BoundOrders {
public:
    explicit BoundOrders(const Problem& problem) : problem_(problem), line_free_s_(problem.line_names.size()) {}

    /// Simulates a plan that has orders. `relative_sizes`: empty where all are alike. `lines`: whether
    /// transfers wait for theirs. Gives the end of each node's last operation, negative where nothing ran. False where
    /// the orders wait for each other, or as soon as the end is sure to reach `cutoff_s`.
    bool run(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines, double cutoff_s,
             PerNode<double>& node_end_s);
    /// The same; notes in `start_s` when what starts, and cuts off by `after_s` as well (Simulator::follow_orders).
    bool follow(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines, double cutoff_s,
                const double* after_s, double* start_s, PerNode<double>& node_end_s);

private:
    struct Node {
        const std::uint32_t *next, *end;  ///< what is left of its order
        double free_s;                    ///< end of the last operation it ran
        double duration_s[3];             ///< of each kind (kind_of_step)
        int room;                         ///< microbatches that it may still take
    };
    struct Microbatch {
        double arrival_s;        ///< of the input of its next step
        const NodeIndex* nodes;  ///< its path
        int step;                ///< next
    };

    void prepare(const FlatPlan& flat, const PerRelease<double>& relative_sizes, LinkRule lines);
    NodeIndex hand_over(NodeIndex from, Microbatch& microbatch, double size, double now_s);
    template <bool Noted>
    bool run_node(NodeIndex n, double cutoff_s, const double* after_s, double* start_s);
    template <bool Noted>
    bool run_all(double cutoff_s, const double* after_s, double* start_s, PerNode<double>& node_end_s);

    const Problem& problem_;
    const FlatPlan* flat_ = nullptr;
    const PerRelease<double>* sizes_ = nullptr;
    int length_ = 0;  ///< p
    bool split_ = false, sized_ = false;
    bool queue_ = false;  ///< transfers wait for their line
    int operations_left_ = 0;
    PerNode<Node> nodes_;
    PerRelease<Microbatch> microbatches_;
    std::vector<NodeIndex> ready_;  ///< nodes whose next operation has its input
    std::vector<double> line_free_s_;
};

}  // namespace skippipe
