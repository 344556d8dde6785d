// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/event_key.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/passage.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

/// Every plan, event by event, as docs/semantics.md has it: the measure of all other simulators. Reuses its memory;
/// keeps a reference to the problem.
///
/// One event a node suffices: the end of what it runs, or, while it is free, the arrival that could start something. An
/// arrival at a busy node starts nothing and creates no event, so it need not be one; numbers, and with them ties, stay
/// those of the full event list. Arrivals of planned reductions, which start nothing either but hand over more, are
/// events of their own, and so are the heads of transfers that pass uplinks and downlinks.
class EventSimulator {
public:
    explicit EventSimulator(const Problem& problem);

    /// Simulates a plan. `stages`: their nodes, for planned reductions; `relative_sizes`: empty where all are alike.
    /// Gives the end of each node's last operation, negative where nothing ran. False where it deadlocks or would reach
    /// `cutoff_s`.
    bool run(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
             const PerRelease<double>& relative_sizes, double cutoff_s, PerNode<double>& node_end_s);
    /// The same without cutoff; adds spans of operations, transfers and planned reductions, busy_s, and what is blocked
    /// where it deadlocks.
    bool record(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                const PerRelease<double>& relative_sizes, Timeline& timeline, PerNode<double>& node_end_s);
    /// After a run that was done: when the last node had the sums of its planned reductions.
    double reduced_s() const { return reduced_s_; }

private:
    /// Waiting operations of a node, sorted, in a slice of a shared array that ends with a key later than all.
    struct Queue {
        int head = 0, tail = 0;
    };
    struct Node {
        Queue forward, other, local;  ///< F from upstream; L, B, I; made ready on this node itself
        int held = 0, memory = 0, own_next = 0, own_end = 0, order_next = 0;
        bool busy = false;
        std::uint32_t running = 0;
        double duration_s[3] = {};  ///< of each kind (kind_of_step)
        double ready_s = 0, started_s = 0, last_end_s = -1;
        int operations_left = 0;  ///< where reductions are planned
    };

    // What is an event of its own on its way: where reductions are planned, and where there are uplinks.
    struct Passing {
        Passage passage;
        std::uint32_t payload;  ///< an operation, or the slot of a reduction
        bool reduction;
        std::size_t span;  ///< of the record, whose times are known at the last queue
    };

    void prepare(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                 const PerRelease<double>& relative_sizes);
    void prepare_nodes();
    void prepare_order();
    bool simulate(double cutoff_s, PerNode<double>& node_end_s);
    /// `Transit`: there are planned reductions, or uplinks and downlinks.
    template <bool Ordered, bool Local, bool Record, bool Transit>
    bool loop(double cutoff_s);
    template <bool Ordered, bool Local, bool Record, bool Transit>
    void handle(NodeIndex node, EventKey now);
    template <bool Ordered, bool Local>
    void dispatch(NodeIndex node, EventKey now);
    template <bool Ordered, bool Record, bool Transit>
    void hand_over(NodeIndex from, std::uint32_t operation, double now_s);
    template <bool Ordered>
    void deliver(NodeIndex to, std::uint32_t operation, EventKey key);
    template <bool Ordered>
    void handle_transit();
    template <bool Ordered>
    void ready_at_once(NodeIndex node, std::uint32_t operation, double now_s);
    void insert(Queue& queue, EventKey key);
    void set_event(NodeIndex node, EventKey key);
    void start(NodeIndex node, std::uint32_t operation, double ready_s, EventKey now);
    /// Place of an operation in the table of the ordered simulation: two (itself and its W) a step.
    std::size_t slot(std::uint32_t operation) const {
        const int step = packed_step(operation);
        return (at(packed_index(operation)) * at(2 * length_ + 1) + at(step & ~weight_gradient_bit)) * 2 +
               ((step & weight_gradient_bit) != 0 ? 1 : 0);
    }
    void record_operation(NodeIndex node, double now_s);
    void prepare_reductions(const PerStage<std::vector<NodeIndex>>& stages);
    void start_idle_replicas();
    void own_part_there(NodeIndex node, double now_s);
    void part_or_sum_there(EventKey now);
    void hand_over_part(NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot, double now_s);
    void sums_there(NodeIndex node, double now_s);
    void push_transit(EventKey key);
    std::uint32_t begin_passage(const Passage& passage, std::uint32_t payload, bool reduction, double now_s);
    bool enter_next_queue(std::uint32_t index, std::uint32_t number, double now_s);
    void record_passage(Passing& passing, double handed_s);
    std::string name_of(std::uint32_t operation) const;
    void describe_blocked(Timeline& timeline) const;

    const Problem& problem_;
    const FlatPlan* flat_ = nullptr;
    const PerRelease<double>* sizes_ = nullptr;
    Timeline* record_ = nullptr;
    int length_ = 0;  ///< p
    bool split_ = false, sized_ = false;
    PerNode<Node> nodes_;
    std::vector<EventKey> events_;        ///< of each node the next
    std::vector<EventKey> group_events_;  ///< the least of each group of 4 << group_shift_ nodes
    int group_shift_ = 0;
    std::vector<EventKey> items_;       ///< storage of all queues
    std::vector<EventKey> order_keys_;  ///< ordered: when each operation's input arrives, `never` until handed over
    std::vector<ReleaseIndex> own_;     ///< release indices of each data node's own microbatches
    std::vector<NodeIndex> route_;      ///< [T x (2p+1)] node of each step
    std::vector<double> line_free_s_;
    PerNode<int> visits_;
    std::uint32_t number_ = 0;
    int operations_left_ = 0;
    /// In a payload: not the slot of a reduction that has arrived, but an index of passing_, whose head is at a queue.
    static constexpr std::uint32_t head_bit = 1u << 31;
    PassageQueues queues_;
    std::vector<Passing> passing_;
    std::vector<EventKey> transit_events_;  ///< a heap, earliest first
    const PerStage<std::vector<NodeIndex>>* stages_ = nullptr;
    ReductionMachine reductions_;
    double reduced_s_ = 0;
};

}  // namespace skippipe
