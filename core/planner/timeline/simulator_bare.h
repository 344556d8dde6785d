// SPDX-License-Identifier: GPL-3.0-or-later
// The simulator's common case once more, as tight as it gets, for the files of the simulator alone: dispatch by
// arrival, no split, every hop to another node. The same numbers and sums as Simulator::run, but an operation is
// handled whole when it starts: its end is known then, so it is handed over at once, and a node's next event is the
// start of its next operation, never an end or an arrival that starts nothing (270 events instead of 435 for 20 nodes x
// 30 microbatches). Events have no numbers: where two fall on one instant and their order decides something, it is
// found from which of them was created first, back to the instant at which they part (precedes).
//
// What counts here is instructions, branches that cannot be predicted and chains of dependent loads: choices are made
// without branches.
#pragma once
#include "core/base/index.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

namespace bare {

inline constexpr double never_s = std::numeric_limits<double>::infinity();
/// Kinds of an operation in the low bits of an item: forward, loss, backward, and the last backward of a microbatch.
inline constexpr std::uint32_t kind_mask = 3, last_kind = 3;
/// What an operation of each kind does to the microbatches that its node may still take.
inline constexpr std::ptrdiff_t room_freed[] = {-1, 0, 1, 1};

/// std::min takes references, which compilers turn into a choice between addresses.
inline double least(double a, double b) { return a < b ? a : b; }
inline double most(double a, double b) { return a < b ? b : a; }

}  // namespace bare

/// What happens on the nodes, apart from when it is whose turn. `Lines`: transfers queue for their line; `Sized`:
/// microbatches differ in size.
template <bool Lines, bool Sized>
struct Simulator::BareRun {
    explicit BareRun(Simulator& of)
        : simulator(of),
          nodes(of.bare_nodes_.data()),
          path_nodes(of.flat_->nodes.data()),
          places(of.slot_place_.data()),
          records(of.bare_records_.data()),
          line_free_s(of.line_free_s_.data()),
          slot_sizes(of.slot_size_.data()),
          overhead_s(of.problem_.overhead_s) {}

    /// When a node can start something, given what is known.
    [[gnu::always_inline]] double due_s(const BareNode& node) const {
        const double gate_s = *node.gate[0];
        const double arrived_s = bare::least(bare::most(node.head[0]->arrival_s, gate_s), node.head[1]->arrival_s);
        return bare::most(node.free_s, bare::least(arrived_s, bare::most(node.head[2]->arrival_s, gate_s)));
    }

    /// Starts what is due: the earliest arrival that the node admits, or else a microbatch of its own. Returns its slot
    /// and kind.
    [[gnu::always_inline]] std::uint32_t start(BareNode& node) const {
        const double free_s = node.free_s, gate_s = *node.gate[0];
        const double forward_s = bare::most(node.head[0]->arrival_s, gate_s), other_s = node.head[1]->arrival_s;
        const double own_s = bare::most(bare::most(node.head[2]->arrival_s, free_s), gate_s),
                     best_s = bare::least(other_s, forward_s);
        Choice choice{other_s < forward_s ? 1u : 0u, own_s < best_s, false};
        if ((best_s == free_s) | ((other_s == forward_s) & (other_s != bare::never_s))) [[unlikely]]
            choice = settle(node, forward_s, other_s, own_s);
        // Mostly foreseen: waiting for the comparison would take longer than its mistakes.
        const std::size_t from = choice.own ? 2 : choice.arrived;
        const std::uint32_t running = node.head[from]->running, kind = running & bare::kind_mask;
        ++node.head[from];
        node.gate[0] += bare::room_freed[kind];
        double duration_s = node.duration_s[kind];
        if constexpr (Sized) duration_s *= slot_sizes[running >> 2];
        const double start_s = bare::most(free_s, bare::least(own_s, best_s)), end_s = start_s + duration_s;
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
    [[gnu::always_inline]] void hand_over(const BareNode& node, std::uint32_t slot, const Wake& wake) const {
        const std::uint32_t place = places[slot], kind = place & bare::kind_mask, queue = kind > 0 ? 1 : 0;
        const auto to = at(path_nodes[place >> 2]);
        const BareHop& hop = node.hops[to];
        double transfer_s = hop.transfer_s[kind >> 1];
        if constexpr (Sized) transfer_s *= slot_sizes[slot];
        double arrival_s;
        if constexpr (Lines) {
            double& free_s = line_free_s[hop.line];
            free_s = bare::most(free_s, node.free_s) + transfer_s;
            arrival_s = free_s + hop.latency_s + overhead_s;
        } else {
            arrival_s = node.free_s + hop.latency_s + overhead_s + transfer_s;
        }
        BareNode& target = nodes[to];
        // What was dispatched before arrived earlier, and so does the guard before the first: no need to look for the
        // head.
        BareItem* spot = target.tail[queue]++;
        spot[1].arrival_s = bare::never_s;
        if (arrival_s <= spot[-1].arrival_s) [[unlikely]]
            spot = make_place(spot, arrival_s, static_cast<int>(slot));
        *spot = {arrival_s, slot << 2 | kind};
        wake(to, bare::most(bare::most(arrival_s, target.free_s), *target.gate[queue]));
    }

private:
    /// What a node starts: the first of the queue of arrivals, 0 or 1, or a microbatch of its own; and
    /// BareRecord::woken.
    struct Choice {
        std::size_t arrived;
        bool own, woken;
    };

    /// The choice where events fall on one instant.
    [[gnu::noinline]] Choice settle(const BareNode& node, double forward_s, double other_s, double own_s) const {
        const double best_s = bare::least(other_s, forward_s);
        std::size_t arrived = other_s < forward_s ? 1 : 0;
        if (other_s == forward_s)
            arrived = precedes({true, node.head[1]->slot()}, {true, node.head[0]->slot()}) ? 1 : 0;
        if (best_s != node.free_s) return {arrived, own_s < best_s, false};
        const bool ends_first = precedes({false, node.last}, {true, node.head[arrived]->slot()}),
                   own = ends_first && own_s != bare::never_s;
        return {arrived, own, ends_first && !own};
    }

    [[gnu::always_inline]] bool precedes(BareEvent x, BareEvent y) const { return simulator.precedes(x, y); }

    /// Moves what comes after an arrival along.
    BareItem* make_place(BareItem* spot, double arrival_s, int slot) const {
        for (; arrival_s < spot[-1].arrival_s ||
               (arrival_s == spot[-1].arrival_s && precedes({true, slot}, {true, spot[-1].slot()}));
             --spot)
            *spot = spot[-1];
        return spot;
    }

public:
    Simulator& simulator;
    BareNode* const nodes;
    const int* const path_nodes;
    const std::uint32_t* const places;
    BareRecord* const records;
    double* const line_free_s;
    const double* const slot_sizes;
    const double overhead_s;
};

}  // namespace skippipe
