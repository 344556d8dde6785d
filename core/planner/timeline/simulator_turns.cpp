// SPDX-License-Identifier: GPL-3.0-or-later
// The quick simulation where transfers of several nodes wait for each other on a line: one event after the other, in
// the order of their times.
//
// A node's new event is rarely the next of all, which is a foreseen branch and lets the processor work on two events at
// once.
#include <bit>
#include <cstring>

#include "core/planner/timeline/simulator_bare.h"

namespace skippipe {

using namespace bare;

namespace {

/// An event's key: the bits of its time, which sort as times >= 0 do, the last of them naming the node. That two events
/// closer than 2^-40 of their time may change places is harmless, as every operation and every hop over a shared line
/// takes longer than that (checked).
using EventKey = std::uint64_t;
constexpr int node_bits = 12;
constexpr EventKey node_mask = (EventKey{1} << node_bits) - 1, never = std::bit_cast<EventKey>(never_s);
constexpr double key_grain = 0x1p-39;
constexpr std::size_t wide = 16;

inline EventKey earlier(EventKey a, EventKey b) { return a < b ? a : b; }

/// Rarely so, and foreseen: as a branch, so that the search for the next event need not wait for this one.
inline void bring_forward(EventKey& next, EventKey key) {
    if (key < next) [[unlikely]] {
        next = key;
        asm volatile("" : "+r"(next));
    }
}

/// The next event of each node, the least of each four of them, and where there are many nodes, of each 16 of those.
template <int Groups>
struct Agenda {
    static constexpr bool is_wide = Groups == 0;
    EventKey *const events, *const groups, *const tops;
    const std::size_t top_count;

    /// Later than all is any key from `never` on: a node's number may stand in its last bits.
    static EventKey key_of(double time_s, std::size_t n) { return (std::bit_cast<EventKey>(time_s) & ~node_mask) | n; }

    [[gnu::always_inline]] void set(std::size_t n, EventKey key) const {
        events[n] = key;
        const EventKey* four = events + (n & ~std::size_t{3});
        groups[n >> 2] = earlier(earlier(four[0], four[1]), earlier(four[2], four[3]));
        if constexpr (is_wide) {
            const EventKey* many = groups + ((n >> 2) & ~(wide - 1));
            EventKey low = many[0];
            for (std::size_t k = 1; k < wide; ++k) low = earlier(low, many[k]);
            tops[(n >> 2) / wide] = low;
        }
    }
    [[gnu::always_inline]] void advance(std::size_t n, EventKey key) const {
        events[n] = earlier(events[n], key);
        groups[n >> 2] = earlier(groups[n >> 2], key);
        if constexpr (is_wide) tops[(n >> 2) / wide] = earlier(tops[(n >> 2) / wide], key);
    }
    [[gnu::always_inline]] EventKey next() const {
        if constexpr (is_wide) {
            EventKey low = tops[0];
            for (std::size_t k = 1; k < top_count; ++k) low = earlier(low, tops[k]);
            return low;
        } else {
            const EventKey four = earlier(earlier(groups[0], groups[1]), earlier(groups[2], groups[3]));
            if constexpr (Groups == 4) return four;
            if constexpr (Groups == 5) return earlier(four, groups[4]);
            return earlier(four, earlier(earlier(groups[4], groups[5]), earlier(groups[6], groups[7])));
        }
    }
};

}  // namespace

/// Of the nodes whose events fall on `n`'s instant and that have a transfer to hand to a shared line, the one whose
/// turn it is.
std::size_t Simulator::first_pending(std::size_t n) const {
    const EventKey instant = bare_events_[n] & ~node_mask;
    for (std::size_t other = 0; other < nodes_.size(); ++other) {
        const BareNode &a = bare_nodes_[other], &b = bare_nodes_[n];
        if (other == n || (bare_events_[other] & ~node_mask) != instant || a.pending == 0) continue;
        if (a.free_s < b.free_s || (a.free_s == b.free_s && precedes({false, a.last}, {false, b.last}))) n = other;
    }
    return n;
}

template <bool Sized, int Groups>
Simulator::Outcome Simulator::run_in_turn(double cutoff_s) {
    const std::size_t node_count = nodes_.size(), tops = ((node_count + 3) / 4 + wide - 1) / wide;
    bare_events_.assign(tops * wide * 4 + tops * wide + tops, ~EventKey{0});
    const Agenda<Groups> agenda{bare_events_.data(), bare_events_.data() + tops * wide * 4,
                                bare_events_.data() + tops * wide * 5, tops};
    const BareRun<true, Sized> run(*this);
    // Work left is summed in another order than the timeline's: a hair of room, so that rounding never cuts too early.
    // Past coarse_s keys are too coarse for the shortest operation or hop.
    const double coarse_s = least(shortest_operation_s_, shortest_hop_s_) / key_grain,
                 sure_s = least(cutoff_s * (1 + 1e-9), coarse_s);
    int left = operations_left_;
    for (std::size_t n = 0; n < node_count; ++n) agenda.set(n, Agenda<Groups>::key_of(run.due_s(run.nodes[n]), n));
    EventKey next = agenda.next();
    const auto put = [&](std::size_t n, double time_s) __attribute__((always_inline)) {
        const EventKey key = Agenda<Groups>::key_of(time_s, n);
        bring_forward(next, key);
        agenda.advance(n, key);
    };
    // A node that still has a transfer to hand over finds out by itself.
    const auto wake = [&](std::size_t n, double time_s) __attribute__((always_inline)) {
        put(n, run.nodes[n].pending != 0 ? never_s : time_s);
    };
    while (next < never) {
        auto n = static_cast<std::size_t>(next & node_mask);
        const EventKey now = next;
        agenda.set(n, ~EventKey{0});
        next = agenda.next();
        if (run.nodes[n].pending != 0) {
            if ((now & ~node_mask) == (next & ~node_mask)) {
                agenda.events[n] = now;
                n = first_pending(n);
                agenda.set(now & node_mask, now);
                agenda.set(n, ~EventKey{0});
                next = agenda.next();
            }
            BareNode& node = run.nodes[n];
            const std::uint32_t slot = node.pending;
            node.pending = 0;
            run.hand_over(node, slot, wake);
            put(n, run.due_s(node));
            continue;
        }
        BareNode& node = run.nodes[n];
        const std::uint32_t running = run.start(node);
        --left;
        if (!(node.free_s + node.left_s < sure_s)) return sure_s < coarse_s ? Outcome::cut : Outcome::too_fine;
        if ((running & kind_mask) != last_kind) {
            const std::uint32_t slot = (running >> 2) + 1;
            if (node.hops[run.path_nodes[run.places[slot] >> 2]].waits) {
                node.pending = slot;
                put(n, node.free_s);
                continue;
            }
            run.hand_over(node, slot, wake);
        }
        put(n, run.due_s(node));
    }
    return finish_bare(left, cutoff_s);
}

template Simulator::Outcome Simulator::run_in_turn<false, 0>(double);
template Simulator::Outcome Simulator::run_in_turn<false, 4>(double);
template Simulator::Outcome Simulator::run_in_turn<false, 5>(double);
template Simulator::Outcome Simulator::run_in_turn<false, 8>(double);
template Simulator::Outcome Simulator::run_in_turn<true, 0>(double);
template Simulator::Outcome Simulator::run_in_turn<true, 4>(double);
template Simulator::Outcome Simulator::run_in_turn<true, 5>(double);
template Simulator::Outcome Simulator::run_in_turn<true, 8>(double);

}  // namespace skippipe
