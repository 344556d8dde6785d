// SPDX-License-Identifier: GPL-3.0-or-later
// The exact timeline as fast as it can be had: what planners ask tens of thousands of times a second.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

/// What one simulation gives; times in seconds. Incomplete (deadlock) or cut off: infinite.
struct SimulatedTimes {
    double makespan_s = std::numeric_limits<double>::infinity();
    double iteration_s = std::numeric_limits<double>::infinity();
};

/// Reuses its memory from call to call; one a thread. Keeps a reference to the problem.
class Simulator {
public:
    explicit Simulator(const Problem& problem);

    /// Times of a plan; stops early, with infinite times, as soon as the makespan is sure to reach `cutoff_s`.
    /// `stages`: nodes of each stage in ring order, for the all-reduce.
    SimulatedTimes times(const FlatPlan& flat, const std::vector<std::vector<int>>& stages,
                         double cutoff_s = std::numeric_limits<double>::infinity());

    /// The whole timeline, every span recorded; what is blocked is named where it is incomplete.
    Timeline timeline(const FlatPlan& flat, const Plan& plan);

    /// After times(): end of each stage's last operation, negative where it was not visited.
    const std::vector<double>& stage_end_s() const { return stage_end_; }
    /// After times(): end of each node's last operation, negative where nothing ran.
    const std::vector<double>& node_end_s() const { return last_end_; }
    /// After times() that were finite, of a plan without order and split: end of each operation, [release index x
    /// (2p+1) + step]. False, and `end_s` as it was, where that is not known (other plans; times too small for the
    /// quick way).
    bool operation_ends(std::vector<double>& end_s) const;

    /// Follows the orders of a plan that has them, and notes in `start_s` [(release index x (2p+1) + step) x 2, + 1
    /// for W] when what starts. `after_s` [release index x (2p+1) + step]: the least time from an operation's end to
    /// that of all. False where the orders wait for each other, or as soon as the end is sure to reach `cutoff_s`. Then
    /// node_end_s() holds. Where lines are not apart, as if they were unlimited.
    bool follow_orders(const FlatPlan& flat, double cutoff_s, const double* after_s, double* start_s);

private:
    /// (time, number, operation or node) in one integer that sorts as the events do: the bits of a time >= 0 sort as it
    /// does.
    __extension__ using Key = unsigned __int128;

    /// Waiting operations of a node, sorted, in a slice of a shared array that ends with a key later than all.
    struct Queue {
        int head = 0, tail = 0;
    };
    struct NodeState {
        Queue forward, other, local;  ///< F from upstream; L, B, I; made ready on this node itself
        int held = 0, memory = 0, own_next = 0, own_end = 0, order_next = 0;
        bool busy = false;
        std::uint32_t running = 0;
        double duration_s[3] = {};  ///< forward, loss, backward (half of it where split)
        double ready_s = 0, started_s = 0, last_end_s = -1;
    };

    /// The same for what planners ask for most: dispatch by arrival, no split, every hop to another node
    /// (simulator_bare.h).
    struct BareItem {
        double arrival_s;       ///< infinite behind the last
        std::uint32_t running;  ///< slot (release index x (2p+1) + step) and kind
        int slot() const { return static_cast<int>(running >> 2); }
    };
    struct BareHop {
        double latency_s, transfer_s[2];  ///< forward, backward
        std::uint32_t line;
        bool waits;  ///< other nodes hand to this line too: in the order in which their operations end
    };
    struct alignas(64) BareNode {
        BareItem* head[3];  ///< queues in bare_items_: F from upstream; L and B; its own microbatches, which are there
                            ///< from the start
        BareItem* tail[2];  ///< of the first two
        const double* gate[2];  ///< 0 where the queue is open, infinite while memory is full (TC1): moves along
                                ///< bare_gates_; always 0
        double free_s;          ///< end of the last operation it started
        double duration_s[4];   ///< of each kind: forward, loss, backward, last backward
        double left_s;          ///< work not yet started, and the least that follows it on other nodes
        const BareHop* hops;    ///< of its row
        int last;               ///< slot of the last operation it started, -1 before the first
        std::uint32_t pending;  ///< slot to hand to a shared line when the last operation ends; 0: none
    };
    /// What was: when an operation ran, and after which other one on its node (-1: none). `woken`: both that one's end
    /// and the operation's own arrival fell on its start, and the arrival let it start.
    struct BareRecord {
        double start_s, end_s;
        int previous;
        bool woken;
    };
    /// The end of an operation, or the arrival of its input.
    struct BareEvent {
        bool arrives;
        int slot;
        bool operator==(const BareEvent&) const = default;
    };
    /// For the quick simulation of bound orders (simulator_ordered.cpp).
    struct OrderedNode {
        const std::uint32_t *next, *end;  ///< what is left of its order
        const Hop* hops;                  ///< of its row
        double free_s;                    ///< end of the last operation it ran
        double duration_s[3];             ///< forward, loss, backward (half of it where split)
        int room;                         ///< microbatches that it may still take
    };
    struct OrderedPath {
        double arrival_s;  ///< of the input of its next step
        const int* nodes;
        int step;  ///< next
    };
    enum class Outcome { done, cut, too_fine };
    static constexpr int most_in_turn = 4096;  ///< nodes whose number fits into an event's key
    template <bool Lines, bool Sized>
    struct BareRun;

    Outcome run_bare(double cutoff_s);
    template <bool Sized, int Groups>
    Outcome run_in_turn(double cutoff_s);
    template <bool Lines, bool Sized>
    Outcome run_windows(double cutoff_s);
    Outcome finish_bare(int left, double cutoff_s);
    void prepare_bare(const FlatPlan& flat);
    void prepare_sizes();
    void prepare_bare_hops();
    bool starts_by_arrival(int slot) const;
    [[gnu::noinline]] bool precedes(BareEvent x, BareEvent y) const;
    [[gnu::noinline]] std::size_t first_pending(std::size_t n) const;
    void prepare_bare_slots(int count, int length);
    void prepare_bare_nodes();

    bool orders_decide();
    void prepare_ordered();
    int hand_over_ordered(const OrderedNode& node, OrderedPath& path, double size, double now_s);
    template <bool Noted>
    bool run_ordered_node(int n, double cutoff_s, const double* after_s, double* start_s);
    template <bool Noted>
    bool run_ordered(double cutoff_s, const double* after_s, double* start_s);
    bool simulate_ordered(double cutoff_s);

    template <bool Ordered, bool Local, bool Record>
    bool run(double cutoff_s);
    template <bool Ordered, bool Local, bool Record>
    void handle(int node, Key now);
    template <bool Ordered, bool Local>
    void dispatch(int node, Key now);
    template <bool Ordered, bool Record>
    void hand_over(int from, std::uint32_t operation, double now_s);
    template <bool Ordered>
    void ready_at_once(int node, std::uint32_t operation, double now_s);
    bool simulate(const FlatPlan& flat, double cutoff_s);
    void set_stage_ends();
    void prepare(const FlatPlan& flat);
    void prepare_nodes();
    void prepare_order();
    void insert(Queue& queue, Key key);
    void set_event(int node, Key key);
    void start(int node, std::uint32_t operation, double ready_s, Key now);
    std::size_t slot(std::uint32_t operation) const;
    void record_operation(int node, double now_s);
    void describe_blocked(Timeline& timeline) const;

    const Problem& problem_;
    const FlatPlan* flat_ = nullptr;
    Timeline* record_ = nullptr;
    int length_ = 0;  ///< p
    bool split_ = false;
    bool sized_ = false;        ///< microbatches differ in size
    std::vector<double> size_;  ///< [release index] relative, where they do
    std::vector<NodeState> nodes_;
    std::vector<Key> events_;        ///< [nodes] the node's next event
    std::vector<Key> group_events_;  ///< the least of each group of 4 << group_shift_ nodes
    int group_shift_ = 0;
    std::vector<Key> items_;       ///< storage of all queues
    std::vector<Key> order_keys_;  ///< ordered: when each operation's input arrives, `never` until handed over
    std::vector<int> own_;         ///< release indices of each data node's own microbatches
    std::vector<int> route_;       ///< [T x (2p+1)] node of each step
    std::vector<double> line_free_s_, stage_end_;
    std::vector<int> visits_;
    std::vector<BareNode> bare_nodes_;
    std::vector<BareHop> bare_hops_;  ///< [from * nodes + to]
    std::vector<std::uint64_t>
        bare_events_;  ///< in turn: next event of each node, least of each 4 nodes, least of each 16 of those
    std::vector<double> due_s_,
        ahead_s_;  ///< in windows: [nodes] next event; how long after it the node could reach another at the earliest
    std::vector<BareItem> bare_items_;  ///< storage of the queues
    std::vector<double> bare_gates_;    ///< infinite, then 0 for as many microbatches as a node may still take
    double open_ = 0;                   ///< gate of a queue that memory does not limit
    bool lines_wait_ = false;           ///< some line has several sources, which wait for each other
    /// Of each slot: where in FlatPlan::nodes its node is, and in the low bits its kind: 0 forward, 1 loss, 2 backward,
    /// 3 the last backward of a microbatch.
    std::vector<std::uint32_t> slot_place_;
    std::vector<BareRecord> bare_records_;  ///< of each slot
    std::vector<double> slot_size_;         ///< of each slot, where microbatches differ in size
    std::vector<double> last_end_, shortest_way_out_s_;
    double shortest_operation_s_ = 0, shortest_hop_s_ = 0;
    int slots_count_ = -1, slots_length_ = -1;
    std::vector<OrderedNode> ordered_nodes_;
    std::vector<OrderedPath> ordered_paths_;  ///< [T]
    std::vector<int> ordered_ready_;          ///< nodes whose next operation has its input
    std::optional<bool> apart_;               ///< has_dedicated_lines(), once it was asked for
    bool queue_ = false;                      ///< transfers of bound orders wait for their line
    bool bare_done_ = false;                  ///< bare_records_ are those of the last run
    std::uint32_t number_ = 0;
    int operations_left_ = 0;
    double makespan_ = 0;
};

}  // namespace skippipe
