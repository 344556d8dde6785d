// SPDX-License-Identifier: GPL-3.0-or-later
// How long the rest of an iteration takes: exact, for any paths.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "core/planner/replan/residual.h"
#include "core/planner/replan/residual_end.h"
#include "core/planner/timeline/passage.h"
#include "core/planner/timeline/reduction_machine.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

/// Who holds what, and in which order nodes work, while the rest is simulated.
struct ResidualPlan {
    std::vector<NodeIndex> nodes;             ///< [T x p]
    PerStage<std::vector<NodeIndex>> stages;  ///< ring order; a stage may have no node left
    PerNode<StageIndex> stage_of;             ///< of lost nodes too
    /// Operations left of each node, bound in this order (see ResidualSimulator::id); operations that it does not list
    /// run when they are ready and the node would otherwise wait, or are earlier. Empty: dispatch decides.
    PerNode<std::vector<int>> order;
    PerStage<Pieces> reductions;  ///< where they are planned, of every stage
    /// Forwards start only for as many unfinished microbatches as this: those that have come furthest first, then in
    /// release order.
    int window = std::numeric_limits<int>::max();
};

/// Simulates residuals; reuses its memory. The rules are those of a whole iteration (docs/semantics.md) and of what is
/// lost (residual.h).
class ResidualSimulator {
public:
    /// `network`: with its changes. `before`, the network and the stages as they were, tells which all-reduces run on.
    /// All outlive the simulator.
    ResidualSimulator(const Problem& network, const Residual& residual, const Problem& before,
                      const PerStage<std::vector<NodeIndex>>& stages_before);

    /// From the iteration's start; infinite where it deadlocks or is sure to last until `cutoff_s`. All forced hops
    /// must have living nodes, all hops lines. `timeline` (may be null) takes the spans of all that ends after at_s.
    SimulatedTimes times(const ResidualPlan& plan, double cutoff_s = std::numeric_limits<double>::infinity(),
                         Timeline* timeline = nullptr);

    /// The state at `at_s` of a rest that ends: going on from there gives what is left of it to the last tie.
    IterationProgress progress(const ResidualPlan& plan, double at_s);

    /// After times(): ids of the operations that each node started after at_s, in order.
    const PerNode<std::vector<int>>& started() const { return started_; }
    /// After times(): end of each microbatch's last operation, at_s where it had finished.
    const PerRelease<double>& microbatch_end_s() const { return microbatch_end_; }
    /// After times(): seconds that each node works.
    const PerNode<double>& busy_s() const { return busy_; }
    /// Operations simulated so far, over all calls, and a share of them for each call: what a search can be limited by
    /// and stay reproducible.
    std::int64_t operations() const { return operations_; }

    enum Variant { plain, weight, redo };  ///< the weight gradient after a redone input gradient is a `weight` too
    int id(ReleaseIndex index, int step, Variant variant = plain) const {
        return (index * steps_ + step) * 3 + variant;
    }
    ReleaseIndex index_of(int id) const { return ReleaseIndex(id / 3 / steps_); }
    double relative_size(ReleaseIndex index) const { return network_.relative_size(residual_.microbatches[index]); }
    int step_of(int id) const { return id / 3 % steps_; }
    static Variant variant_of(int id) { return static_cast<Variant>(id % 3); }

private:
    struct Item {
        double arrival_s;
        std::uint32_t number;
        int id;
        bool operator>(const Item& other) const {
            return arrival_s != other.arrival_s ? arrival_s > other.arrival_s : number > other.number;
        }
    };
    struct Event {
        double time_s;
        std::uint32_t number;
        NodeIndex node;
        int id;  ///< below 0: of no operation
        bool arrives;
        std::uint32_t slot = 0;  ///< of a planned reduction, whose part or sum arrives; of passing_: its head
        bool operator>(const Event& other) const {
            return time_s != other.time_s ? time_s > other.time_s : number > other.number;
        }
    };
    static constexpr int weights_id = -1, part_id = -2, head_id = -3;  ///< Event::id
    struct Node {
        int held = 0;
        bool busy = false;
        double ready_s = 0, start_s = 0;
        std::size_t order_next = 0;
        std::vector<Item> forward, other, own;  ///< heaps, earliest first
    };

    /// Handed over, but still to pass queues, where there are uplinks.
    struct Passing {
        Passage passage;
        int id;              ///< of the operation, or part_id
        std::uint32_t slot;  ///< of the reduction
        std::size_t span;
    };

    void prepare(const ResidualPlan& plan);
    void begin_passage(const Passage& passage, int id, std::uint32_t slot, double now_s);
    void enter_next_queue(std::uint32_t passing, std::uint32_t number, double now_s);
    std::vector<std::pair<std::uint32_t, OpenOperation>> arrivals_of_heads(std::vector<double>& line_free_s) const;
    // Planned reductions (residual_reductions.cpp).
    void prepare_reductions();
    void start_reductions();
    void own_part_there(NodeIndex node, double now_s);
    void part_or_sum_there(const Event& event);
    void hand_over_part(NodeIndex from, NodeIndex to, StageIndex stage, double bytes, std::uint32_t slot, double now_s);
    void sums_there(NodeIndex node, double now_s);
    double reduced_iteration_s();
    void capture_reductions(IterationProgress& progress) const;
    void restore_open();
    void release_fresh();
    void send_again();
    void release_joined();
    void handle(const Event& event);
    void finish(const Event& event);
    void finish_operation(ReleaseIndex index, int step, Variant variant, const Event& event);
    void capture(IterationProgress& progress) const;
    void capture_waiting(IterationProgress& progress, std::vector<std::pair<std::uint32_t, OpenOperation>>& open) const;
    OpenOperation open_of(int id, double ready_s) const;
    void dispatch(NodeIndex node, double now_s);
    const Item* first_listed(NodeIndex node) const;
    std::vector<Item>* first_unlisted(Node& node, bool admits) const;
    bool bring_to_front(std::vector<Item>& items) const;
    bool in_window(int id) const { return !windowed_ || rank_[static_cast<std::size_t>(index_of(id))] < window_end_; }
    void start(NodeIndex node, const Item& item, double now_s);
    void ready(NodeIndex node, const Item& item);
    void arrive(NodeIndex node, int id, double now_s, std::uint32_t number);
    void check_linked(NodeIndex from, NodeIndex to) const;
    void send(NodeIndex from, ReleaseIndex index, int step, Variant variant, double now_s);
    void push(const Event& event);
    NodeIndex node_of(ReleaseIndex index, int step) const {
        return step_node(plan_->nodes.data() + static_cast<std::ptrdiff_t>(index) * residual_.length, residual_.length,
                         step);
    }
    double duration_s(NodeIndex node, int id) const;
    bool is_forward(int id) const { return variant_of(id) != weight && step_of(id) < residual_.length; }
    bool is_fresh(int id) const { return variant_of(id) == plain && step_of(id) == 0; }
    void record(NodeIndex node, int id, double now_s);
    RestEnd end(const ResidualPlan& plan) const { return {network_, residual_, before_, stages_before_, plan.stages}; }
    std::size_t slot(ReleaseIndex index, int step) const { return at(index) * at(steps_) + at(step); }
    /// The step after which a backward may run: its node's own forward.
    int forward_of(int step) const { return 2 * residual_.length - step; }

    const Problem& network_;
    const Residual& residual_;
    const Problem& before_;
    const PerStage<std::vector<NodeIndex>>& stages_before_;
    const ResidualPlan* plan_ = nullptr;
    Timeline* timeline_ = nullptr;
    int steps_ = 1, left_at_start_ = 0, left_ = 0;
    bool windowed_ = false;
    std::vector<int> left_of_at_start_;
    int window_end_ = 0;     ///< ranks below it may start forwards
    std::vector<int> rank_;  ///< of each microbatch: how soon the window reaches it
    std::uint32_t number_ = 0;
    double makespan_ = 0;
    std::int64_t operations_ = 0;
    PerNode<Node> nodes_;
    std::vector<Event> events_;
    std::vector<char> listed_;        ///< of each id: bound by the order
    std::vector<Item> listed_ready_;  ///< of each id: its arrival; id < 0: not yet
    static constexpr char pending = 1, gradient_waits = 2, input_sent = 4;
    std::vector<char> redo_;                ///< [T x (2p + 1)] of each step that is redone: these
    std::vector<int> left_of_;              ///< [T] steps left, plain and redone
    IterationProgress* capture_ = nullptr;  ///< where to put the state once its instant is over
    std::vector<double> line_free_;
    PassageQueues queues_;
    std::vector<Passing> passing_;
    PerStage<double> stage_end_;
    PerRelease<double> microbatch_end_;
    PerNode<double> busy_;
    PerNode<std::vector<int>> started_;
    ReductionMachine reductions_;
    PerNode<int> operations_left_;  ///< where reductions are planned
    PerNode<double> own_part_s_, sums_s_;
    PerStage<char> reduces_;  ///< that have not reduced before the rest
};

}  // namespace skippipe
