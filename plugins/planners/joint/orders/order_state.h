// SPDX-License-Identifier: GPL-3.0-or-later
// A candidate with a binding order on every node: what annealing over orders, paths and placement changes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/planners/joint/anneal/search_state.h"
#include "plugins/planners/joint/orders/order_times.h"

namespace skippipe::planners::joint {

class OrderState : public SearchState {
public:
    /// The greater, the more chains come out of the iterations that one data node holds up (found by trial).
    static constexpr double mean_end_weight = 1;
    /// The data nodes' mean end gains no more in one step than a hundredth and the temperature.
    static double cutoff_s(double threshold_s, const AnnealingCost& current, double temperature_s) {
        return threshold_s - mean_end_weight * (0.99 * current.mean_end_s - temperature_s);
    }

    /// `start` has a binding order on every node and is complete.
    OrderState(const Problem& problem, const PlanCandidate& start);

    AnnealingCost cost(double cutoff_s);
    void accept();
    void undo();
    /// What is wrong with the candidate, of which `claimed` was said; empty: nothing.
    std::string fault(const AnnealingCost& claimed);

    const std::vector<std::uint32_t>& order(NodeIndex node) const { return candidate_.schedule.order[node]; }
    /// Of the accepted candidate.
    double start_s(std::uint32_t operation) const { return times_.start_s(operation); }
    double duration_s(NodeIndex node, std::uint32_t operation) const { return times_.duration_s(node, operation); }
    /// A random part of a forward, either way, seconds.
    double jitter_s(NodeIndex node, Rng& rng) const { return (2 * rng.uniform() - 1) * duration_s(node, pack(0, 0)); }
    /// Whether a path is within CC1, CC3 and has its lines.
    bool fits(ReleaseIndex index) const;
    /// Whether memory takes a node's order up to its `last` operation (TC1).
    bool holds(NodeIndex node, int last) const;
    bool holds(NodeIndex node) const { return holds(node, static_cast<int>(order(node).size()) - 1); }

    /// Moves an operation to another position in its node's order. False where a microbatch's operations are not in
    /// sequence then, or memory does not take them.
    bool shift(NodeIndex node, int from, int to);
    /// Takes a microbatch's operations at a hop out of its node's order.
    void take_out(ReleaseIndex index, int hop);
    /// Puts them into the order of the node that is there now, where they would start as long after what they started
    /// after as before, and `shift_s` later. False where memory does not take them.
    bool put_in(ReleaseIndex index, int hop, double shift_s);
    /// Gives the positions of one microbatch's hop in a node's order to another's.
    void hand_on(NodeIndex node, ReleaseIndex from_index, int from_hop, ReleaseIndex to_index, int to_hop);
    void set_hop(ReleaseIndex index, int hop, NodeIndex node);
    /// The two nodes exchange everything: stage, visits and order.
    void swap_nodes(NodeIndex u, NodeIndex v);
    /// After swap_nodes: whether both have memory for their orders, and every path and ring its lines.
    bool nodes_fit(NodeIndex u, NodeIndex v) const;
    /// Whether reductions have their lines.
    bool lines_fit() const;
    void move_blocks(StageIndex from, StageIndex to, int count);
    void swap_microbatches(ReleaseIndex i, ReleaseIndex j);

private:
    std::vector<std::uint32_t>& edit(NodeIndex node);
    void note_path(ReleaseIndex index);
    bool in_sequence(NodeIndex node, int first, int last) const;

    OrderTimes times_;
    bool exact_;  ///< times_ are; else the simulator's count, and times_ only say about when what runs
    Simulator simulator_;
    OrderChange change_;     ///< since the accepted candidate
    bool followed_ = false;  ///< times_ have followed it
};

}  // namespace skippipe::planners::joint
