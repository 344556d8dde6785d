// SPDX-License-Identifier: GPL-3.0-or-later
// Paths chosen while the iteration runs: as each F ends, its microbatch goes on to the node that then promises to have
// it back soonest.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/starts/sequence_tree.h"

namespace skippipe::planners::joint {

/// What a next node is chosen by: how much each of these counts beside the seconds of the hop there and back.
struct PathWeights {
    double slots = 1;   ///< places spoken for over M, in mean round trips of a microbatch
    double work = 1;    ///< seconds of F and B there
    double home = 0.5;  ///< seconds from there to the microbatch's data node and back
    double queue = 1;   ///< seconds of F and B of the microbatches that are spoken for there
    double visits = 0;  ///< visits so far over M, in mean round trips over the visits that M should have by then
};

/// Reuses its memory from call to call; one a thread. Keeps references. Microbatches take ascending stages, so that
/// dispatch by arrival never deadlocks.
class TimedPaths {
public:
    /// `groups`: of near nodes, the number of each node's. Where there are many, a next node is looked for in the group
    /// where the microbatch is, in its data node's, and in some of the others in turn.
    TimedPaths(const Problem& problem, const Network& network, std::vector<int> groups);

    /// Fills the paths of a candidate whose placement is complete. Returns when the last operation ends, seconds;
    /// infinite, and paths that are to be forgotten, where a microbatch finds no line to go on, or the end is sure to
    /// reach `cutoff_s`. Uplinks and planned reductions are not heeded: the time is exact where there are none.
    double fill(PlanCandidate& candidate, const PathWeights& weights,
                double cutoff_s = std::numeric_limits<double>::infinity());
    /// After fill(): end of each stage's last operation, negative where it was not visited.
    const PerStage<double>& stage_end_s() const { return stage_end_s_; }
    /// After fill(): mean end of these nodes' last operations.
    double mean_end_s(const std::vector<NodeIndex>& nodes) const;

private:
    /// Arrival of an operation's input at its node, or its end.
    struct Event {
        double time_s = 0;
        std::uint32_t number = 0;     ///< in the order in which they are made, twice; odd: an end
        std::uint32_t operation = 0;  ///< packed

        bool operator<(const Event& other) const {  // the last one first, as heaps go
            return time_s > other.time_s || (time_s == other.time_s && number > other.number);
        }
    };
    /// What has arrived at a node, in the order it did.
    class Queue {
    public:
        struct Item {
            std::uint32_t operation = 0;  ///< packed
            std::int64_t rank = 0;        ///< of all arrivals
        };
        bool waits() const { return next_ < items_.size(); }
        const Item& first() const { return items_[next_]; }
        const Item& take() { return items_[next_++]; }
        void add(Item item) { items_.push_back(item); }
        void clear() { items_.clear(), next_ = 0; }

    private:
        std::vector<Item> items_;
        std::size_t next_ = 0;
    };
    struct Worker {
        Queue forward, other;  ///< F; L and B
        double forward_s = 0, backward_s = 0, loss_s = 0;
        int memory = 0, held = 0, spoken_for = 0, visits = 0;
        double per_memory = 0;  ///< 1 / M
        double end_s = 0;       ///< of its last operation
        bool busy = false;
    };

    void reset(const PlanCandidate& candidate);
    void add(double time_s, std::uint32_t operation, bool ends);
    void dispatch(NodeIndex node, double now_s);
    bool hand_over(NodeIndex node, ReleaseIndex index, int step, double now_s);
    bool choose_next(NodeIndex node, ReleaseIndex index, int hop, double now_s);
    /// The nearest by cost_s of those left, of one group or (-1) of all.
    struct Choice {
        double cost_s = unreachable_s;
        NodeIndex node = -1;
        SequenceTree::Branch* way = nullptr;
    };
    void look(Choice& choice, NodeIndex from, NodeIndex home, int branch, bool last, double now_s, int group);
    const std::vector<NodeIndex>& nodes_of(StageIndex stage, int group) const;
    double cost_s(NodeIndex from, NodeIndex to, NodeIndex home, bool last, double now_s) const;

    const Problem& problem_;
    const Network& network_;
    const SequenceTree all_;
    const std::vector<int> groups_;
    const int group_count_;
    PathWeights weights_;
    SequenceTree left_;
    PlanCandidate* candidate_ = nullptr;
    PerRelease<int> branch_;
    PerRelease<double> size_;
    PerNode<Worker> workers_;
    std::vector<std::vector<NodeIndex>> in_group_;  ///< [stage x groups + group], where there are many
    int turn_ = 0;                                  ///< the next of the other groups
    std::vector<double> line_free_s_;
    std::vector<Event> events_;  ///< a heap
    PerStage<double> stage_end_s_;
    double round_trip_s_ = 0, visits_a_place_ = 1;
    std::uint32_t numbers_ = 0;
    std::int64_t arrivals_ = 0;
};

}  // namespace skippipe::planners::joint
