// SPDX-License-Identifier: GPL-3.0-or-later
// The simulators' common case, as tight as it gets, for the files of FastSimulator alone: dispatch by arrival, no
// split, every hop to another node. The same numbers and sums as EventSimulator, but an operation is handled whole when
// it starts: its end is known then, so it is handed over at once, and a node's next event is the start of its next
// operation, never an end or an arrival that starts nothing (270 events instead of 435 for 20 nodes x 30 microbatches).
// Events have no numbers: where two fall on one instant and their order decides something, it is found from which of
// them was created first, back to the instant at which they part (precedes).
//
// What counts here is instructions, branches that cannot be predicted and chains of dependent loads: choices are made
// without branches.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/index.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/rules.h"

namespace skippipe {

/// How a run ended: all ran; cut off, or blocked for good; or times lie too close together for its arithmetic.
enum class FastOutcome { done, cut, too_fine };

namespace fast {

inline constexpr double never_s = std::numeric_limits<double>::infinity();
/// Kinds of an operation in the low bits of an item: forward, loss, backward, and the last backward of a microbatch.
inline constexpr std::uint32_t kind_mask = 3, last_kind = 3;
/// What an operation of each kind does to the microbatches that its node may still take.
inline constexpr std::ptrdiff_t room_freed[] = {-1, 0, 1, 1};

/// std::min takes references, which compilers turn into a choice between addresses.
inline double least(double a, double b) { return a < b ? a : b; }
inline double most(double a, double b) { return a < b ? b : a; }

/// An operation whose input has been handed over.
struct Item {
    double arrival_s;       ///< infinite behind the last
    std::uint32_t running;  ///< slot (release index x (2p+1) + step) and kind
    int slot() const { return static_cast<int>(running >> 2); }
};

/// From the nodes of one group to those of another.
struct HopCosts {
    double latency_s, transfer_s[2];  ///< forward, backward
    std::uint32_t line;
    bool waits;  ///< other nodes hand to this line too: in the order in which their operations end
    bool pairs;  ///< every pair has a line of its own (PairLines)
};

/// Of each node, for the lines between it and others of its group (Hops).
struct PairLines {
    std::uint32_t group, place, first;  ///< `first`: the number of the line to the first other node
};

struct alignas(64) Node {
    Item* head[3];  ///< queues: F from upstream; L and B; its own microbatches, which are there from the start
    Item* tail[2];  ///< of the first two
    const double*
        gate[2];    ///< 0 where the queue is open, infinite while memory is full (TC1): moves along gates; always 0
    double free_s;  ///< end of the last operation it started
    double duration_s[4];   ///< of each kind: forward, loss, backward, last backward
    double left_s;          ///< work not yet started, and the least that follows it on other nodes
    const HopCosts* hops;   ///< of its group's row
    int last;               ///< slot of the last operation it started, -1 before the first
    std::uint32_t pending;  ///< slot to hand to a shared line when the last operation ends; 0: none
};

/// What was: when an operation ran, and after which other one on its node (-1: none). `woken`: both that one's end and
/// the operation's own arrival fell on its start, and the arrival let it start.
struct Record {
    double start_s, end_s;
    int previous;
    bool woken;
};

/// The end of an operation, or the arrival of its input.
struct Event {
    bool arrives;
    int slot;
    bool operator==(const Event&) const = default;
};

/// The nodes of one simulation, their queues and what has run. Keeps a reference to the problem.
class FastState {
public:
    explicit FastState(const Problem& problem);

    /// Makes ready for a plan. `relative_sizes`: empty where all are alike.
    void prepare(const FlatPlan& flat, const PerRelease<double>& relative_sizes);
    bool sized() const { return sized_; }
    int operations() const { return operations_; }

    /// Whether one event comes before another at the same instant: the one that was created by the earlier event. An
    /// `end` is created when its operation is dispatched, by the event that let it start; an `arrive` when its
    /// operation's predecessor ends; one event creates its `arrive` first. The arrivals of the start precede all, in
    /// release order.
    [[gnu::noinline]] bool precedes(Event x, Event y) const;

    /// Once nothing is left that could start: the end of each node's last operation, negative where nothing ran.
    /// `left`: operations that did not run.
    FastOutcome finish(int left, double cutoff_s, PerNode<double>& node_end_s) const;

    const Problem& problem;
    const FlatPlan* flat = nullptr;
    bool lines_wait = false;  ///< some line has several senders, which wait for each other
    PerNode<Node> nodes;
    std::vector<HopCosts> hops;  ///< [from x groups + to]
    std::vector<PairLines> pair_lines;
    /// Of each slot: where in FlatPlan::nodes its node is, and in the low bits its kind: 0 forward, 1 loss, 2 backward,
    /// 3 the last backward of a microbatch.
    std::vector<std::uint32_t> places;
    std::vector<Record> records;      ///< of each slot
    std::vector<double> slot_sizes;   ///< of each slot, where microbatches differ in size
    std::vector<double> line_free_s;  ///< of each line, where they are shared
    std::vector<double> ahead_s;  ///< [nodes, made even] how long after it starts something a node reaches another at
                                  ///< the earliest
    double shortest_operation_s = 0;  ///< of all nodes
    double shortest_hop_s = 0;        ///< over lines with several senders

private:
    void prepare_hops();
    void prepare_slots(int count, int length);
    void prepare_nodes(const PerRelease<double>& relative_sizes);
    bool starts_by_arrival(int slot) const;

    int length_ = 0;  ///< p
    bool sized_ = false;
    int operations_ = 0, slots_count_ = -1, slots_length_ = -1;
    double open_ = 0;            ///< gate of a queue that memory does not limit
    std::vector<double> gates_;  ///< infinite, then 0 for as many microbatches as a node may still take
    std::vector<Item> items_;    ///< storage of the queues
    PerNode<int> visits_;
    PerNode<double> shortest_way_out_s_;
};

/// What happens on the nodes, apart from when it is whose turn. `Lines`: transfers queue for their line; `Sized`:
/// microbatches differ in size.
template <bool Lines, bool Sized>
class Steps {
public:
    explicit Steps(FastState& of)
        : nodes(of.nodes.data()),
          state(of),
          path_nodes(of.flat->nodes.data()),
          places(of.places.data()),
          records(of.records.data()),
          line_free_s(of.line_free_s.data()),
          pair_lines(of.pair_lines.data()),
          slot_sizes(of.slot_sizes.data()),
          overhead_s(of.problem.overhead_s) {}

    /// When a node can start something, given what is known.
    [[gnu::always_inline]] double due_s(const Node& node) const {
        const double gate_s = *node.gate[0];
        const double arrived_s = least(most(node.head[0]->arrival_s, gate_s), node.head[1]->arrival_s);
        return most(node.free_s, least(arrived_s, most(node.head[2]->arrival_s, gate_s)));
    }

    /// Starts what is due: the earliest arrival that the node admits, or else a microbatch of its own. Returns its slot
    /// and kind.
    [[gnu::always_inline]] std::uint32_t start(Node& node) const {
        const double free_s = node.free_s, gate_s = *node.gate[0];
        const double forward_s = most(node.head[0]->arrival_s, gate_s), other_s = node.head[1]->arrival_s;
        const double own_s = most(most(node.head[2]->arrival_s, free_s), gate_s), best_s = least(other_s, forward_s);
        Choice choice{other_s < forward_s ? 1u : 0u, own_s < best_s, false};
        if ((best_s == free_s) | ((other_s == forward_s) & (other_s != never_s))) [[unlikely]]
            choice = settle(node, forward_s, other_s, own_s);
        // Mostly foreseen: waiting for the comparison would take longer than its mistakes.
        const std::size_t from = choice.own ? 2 : choice.arrived;
        const std::uint32_t running = node.head[from]->running, kind = running & kind_mask;
        ++node.head[from];
        node.gate[0] += room_freed[kind];
        double duration_s = node.duration_s[kind];
        if constexpr (Sized) duration_s *= slot_sizes[running >> 2];
        const double start_s = most(free_s, least(own_s, best_s)), end_s = start_s + duration_s;
        node.free_s = end_s;
        node.left_s -= duration_s;
        const int slot = static_cast<int>(running >> 2);
        records[slot] = {start_s, end_s, node.last, choice.woken};
        node.last = slot;
        return running;
    }

    /// Hands `slot` from a node, whose last operation ended just then, to the node of that step; `wake(n, time)` is
    /// told when that one could start something.
    template <typename Wake>
    [[gnu::always_inline]] void hand_over(const Node& node, std::uint32_t slot, const Wake& wake) const {
        const std::uint32_t place = places[slot], kind = place & kind_mask, queue = kind > 0 ? 1 : 0;
        const auto to = at(path_nodes[place >> 2]);
        const PairLines& there = pair_lines[to];
        const HopCosts& hop = node.hops[there.group];
        double transfer_s = hop.transfer_s[kind >> 1];
        if constexpr (Sized) transfer_s *= slot_sizes[slot];
        double arrival_s;
        if constexpr (Lines) {
            std::uint32_t line = hop.line;
            if (hop.pairs) {
                const PairLines& here = pair_lines[&node - nodes];
                line = here.first + there.place - (there.place > here.place ? 1 : 0);
            }
            double& free_s = line_free_s[line];
            take_line(node.free_s, transfer_s, free_s);
            arrival_s = shared_arrival_seconds(free_s, hop.latency_s, overhead_s);
        } else {
            arrival_s = arrival_seconds(node.free_s, hop.latency_s, overhead_s, transfer_s);
        }
        Node& target = nodes[to];
        // What was dispatched before arrived earlier, and so does the guard before the first: no need to look for the
        // head.
        Item* spot = target.tail[queue]++;
        spot[1].arrival_s = never_s;
        if (arrival_s <= spot[-1].arrival_s) [[unlikely]]
            spot = make_place(spot, arrival_s, static_cast<int>(slot));
        *spot = {arrival_s, slot << 2 | kind};
        wake(to, most(most(arrival_s, target.free_s), *target.gate[queue]));
    }

private:
    /// What a node starts: the first of the queue of arrivals, 0 or 1, or a microbatch of its own; and
    /// Record::woken.
    struct Choice {
        std::size_t arrived;
        bool own, woken;
    };

    /// The choice where events fall on one instant.
    [[gnu::noinline]] Choice settle(const Node& node, double forward_s, double other_s, double own_s) const {
        const double best_s = least(other_s, forward_s);
        std::size_t arrived = other_s < forward_s ? 1 : 0;
        if (other_s == forward_s)
            arrived = precedes({true, node.head[1]->slot()}, {true, node.head[0]->slot()}) ? 1 : 0;
        if (best_s != node.free_s) return {arrived, own_s < best_s, false};
        const bool ends_first = precedes({false, node.last}, {true, node.head[arrived]->slot()}),
                   own = ends_first && own_s != never_s;
        return {arrived, own, ends_first && !own};
    }

    [[gnu::always_inline]] bool precedes(Event x, Event y) const { return state.precedes(x, y); }

    /// Moves what comes after an arrival along.
    Item* make_place(Item* spot, double arrival_s, int slot) const {
        for (; arrival_s < spot[-1].arrival_s ||
               (arrival_s == spot[-1].arrival_s && precedes({true, slot}, {true, spot[-1].slot()}));
             --spot)
            *spot = spot[-1];
        return spot;
    }

public:
    Node* const nodes;
    FastState& state;
    const NodeIndex* const path_nodes;
    const std::uint32_t* const places;
    Record* const records;
    double* const line_free_s;
    const PairLines* const pair_lines;
    const double* const slot_sizes;
    const double overhead_s;
};

}  // namespace fast
}  // namespace skippipe
