// SPDX-License-Identifier: GPL-3.0-or-later
// How long a plan with bound orders takes, where no line is shared by several senders: then what waits for what is
// known beforehand, and the times are maxima and sums along a graph without circles. Where lines are unlimited, only
// what a change reaches is computed anew.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/planner/timeline/rules.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/anneal/journal.h"

namespace skippipe::planners::joint {

/// How a candidate differs from the accepted one.
struct OrderChange {
    bool blocks = false, sizes = false;  ///< of stages moved; of microbatches exchanged: everything is computed anew
    std::vector<NodeIndex> orders;       ///< nodes whose order has changed: the k-th was journal->order_before(k)
    std::vector<ReleaseIndex> paths;     ///< whose path or microbatch has changed
    std::vector<NodeIndex> nodes;        ///< that host something else; rings change with them
    const Journal* journal = nullptr;

    bool reaches_all() const { return blocks || sizes; }
    void clear() {
        blocks = sizes = false;
        orders.clear();
        paths.clear();
        nodes.clear();
    }
};

class OrderTimes {
public:
    /// The times are exact where has_dedicated_lines(); else they are those of unlimited lines. Keeps a reference to
    /// the problem.
    OrderTimes(const Problem& problem, const PlanCandidate& candidate);

    /// What a change says of paths, nodes and blocks, before iteration_s(), and again once the candidate is what it
    /// was.
    void follow(const PlanCandidate& candidate, const OrderChange& change);
    /// Of a changed candidate that was followed, seconds, to the last bit as Simulator::times; infinite where the
    /// orders wait for each other, or where it lasts until `cutoff_s` or is taken to. To be followed by accept or
    /// reject.
    double iteration_s(const PlanCandidate& candidate, double cutoff_s, const OrderChange& change);
    /// After a finite iteration_s(): of each node's last operation, negative where it has none.
    const PerNode<double>& node_end_s() const { return node_end_s_; }
    /// Takes the last candidate as the one that later ones are changed from.
    void accept(const PlanCandidate& candidate);
    /// Goes back to the accepted candidate, which is `candidate` again.
    void reject(const PlanCandidate& candidate, const OrderChange& change);
    /// Whether these are the times that it has from the beginning.
    bool are_those_of(const PlanCandidate& candidate) const;

    /// When an operation started in the accepted candidate.
    double start_s(std::uint32_t operation) const { return start_s_[slot(operation)]; }
    double duration_s(NodeIndex node, std::uint32_t operation) const {
        return duration_s_[at(node) * 4 + kind(operation)] * size_[packed_index(operation)];
    }

private:
    /// The transfer to an operation's node, seconds; nothing where it stays on the node.
    struct Transfer {
        double latency_s = 0, overhead_s = 0, transfer_s = 0;
        bool operator==(const Transfer&) const = default;
    };
    struct Undo {
        std::size_t slot;
        double start_s;
    };

    std::size_t row(std::uint32_t operation) const {
        return at(packed_index(operation)) * at(steps_) + at(packed_step(operation) & ~weight_gradient_bit);
    }
    std::size_t slot(std::uint32_t operation) const {
        return row(operation) * 2 + (packed_step(operation) & weight_gradient_bit ? 1 : 0);
    }
    std::size_t kind(std::uint32_t operation) const {
        return static_cast<std::size_t>(kind_of_step(packed_step(operation) & ~weight_gradient_bit, length_));
    }
    double end_s(std::uint32_t operation) const { return start_s_[slot(operation)] + row_duration_s_[row(operation)]; }
    void set_path(const PlanCandidate& candidate, ReleaseIndex index);
    void set_node(const PlanCandidate& candidate, NodeIndex node);
    void set_rings(const PlanCandidate& candidate);
    void set_stages(const PlanCandidate& candidate);
    bool spread(const PlanCandidate& candidate, double cutoff_s, const OrderChange& change);
    void mark(std::uint32_t operation);
    void mark_change(const PlanCandidate& candidate, const OrderChange& change);
    bool work_off(const PlanCandidate& candidate, double cutoff_s);
    void set_positions(const PlanCandidate& candidate, NodeIndex node);
    void sort(const PlanCandidate& candidate);
    double last_s(const PlanCandidate& candidate);

    const Problem& problem_;
    int length_, steps_, operations_;
    Simulator simulator_;             ///< of everything from the beginning
    std::vector<double> duration_s_;  ///< [nodes x 4] forward, loss, backward (half of it where split), of a microbatch
                                      ///< of Problem::samples
    PerRelease<double> size_;         ///< Problem::relative_size
    std::vector<double> after_s_;  ///< [T x (2p + 1)] the least time from the end of a step to that of the microbatch
    std::vector<double> row_duration_s_;     ///< [T x (2p + 1)]
    std::vector<Transfer> transfers_;        ///< [T x (2p + 1)]
    PerStage<double> reduce_s_;              ///< all-reduce and step
    std::vector<double> start_s_, trial_s_;  ///< [slot]; what is tried anew as a whole
    bool whole_ = false;                     ///< the last iteration_s() was of everything
    // What a change reaches:
    std::vector<Undo> undo_;
    std::vector<int> position_;  ///< [slot] in its node's order
    std::vector<int> rank_;      ///< [slot] about in the order of starts, so that an operation is mostly computed once
    std::vector<std::uint32_t> ranked_;  ///< operations by rank
    std::vector<std::uint64_t> marked_;  ///< bit for each rank: to be computed
    std::size_t word_ = 0;               ///< no bit is set before this word
    int accepted_ = 0;                   ///< since the last sort
    PerNode<double> node_end_s_;
};

}  // namespace skippipe::planners::joint
