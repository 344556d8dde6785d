// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/event_order.h"

#include <bit>
#include <cstring>

namespace skippipe::fast {

namespace {

/// An event's key: the bits of its time, which sort as times >= 0 do, the last of them naming the node. That two events
/// closer than 2^-40 of their time may change places is harmless, as every operation and every hop over a shared line
/// takes longer than that (checked).
using TurnKey = std::uint64_t;
constexpr int node_bits = 12;
static_assert(EventOrder::most_nodes == 1 << node_bits);
constexpr TurnKey node_mask = (TurnKey{1} << node_bits) - 1, never = std::bit_cast<TurnKey>(never_s);
constexpr double key_grain = 0x1p-39;
constexpr std::size_t wide = 16;

inline TurnKey earlier(TurnKey a, TurnKey b) { return a < b ? a : b; }

/// Rarely so, and foreseen: as a branch, so that the search for the next event need not wait for this one.
inline void bring_forward(TurnKey& next, TurnKey key) {
    if (key < next) [[unlikely]] {
        next = key;
        asm volatile("" : "+r"(next));
    }
}

}  // namespace

/// The next event of each node, the least of each four of them, and where there are many nodes, of each 16 of those.
template <int Groups>
struct Agenda {
    static constexpr bool is_wide = Groups == 0;
    TurnKey *const events, *const groups, *const tops;
    const std::size_t top_count;

    /// Later than all is any key from `never` on: a node's number may stand in its last bits.
    static TurnKey key_of(double time_s, std::size_t n) { return (std::bit_cast<TurnKey>(time_s) & ~node_mask) | n; }

    [[gnu::always_inline]] void set(std::size_t n, TurnKey key) const {
        events[n] = key;
        const TurnKey* four = events + (n & ~std::size_t{3});
        groups[n >> 2] = earlier(earlier(four[0], four[1]), earlier(four[2], four[3]));
        if constexpr (is_wide) {
            const TurnKey* many = groups + ((n >> 2) & ~(wide - 1));
            TurnKey low = many[0];
            for (std::size_t k = 1; k < wide; ++k) low = earlier(low, many[k]);
            tops[(n >> 2) / wide] = low;
        }
    }
    [[gnu::always_inline]] void advance(std::size_t n, TurnKey key) const {
        events[n] = earlier(events[n], key);
        groups[n >> 2] = earlier(groups[n >> 2], key);
        if constexpr (is_wide) tops[(n >> 2) / wide] = earlier(tops[(n >> 2) / wide], key);
    }
    [[gnu::always_inline]] TurnKey next() const {
        if constexpr (is_wide) {
            TurnKey low = tops[0];
            for (std::size_t k = 1; k < top_count; ++k) low = earlier(low, tops[k]);
            return low;
        } else {
            const TurnKey four = earlier(earlier(groups[0], groups[1]), earlier(groups[2], groups[3]));
            if constexpr (Groups == 4) return four;
            if constexpr (Groups == 5) return earlier(four, groups[4]);
            return earlier(four, earlier(earlier(groups[4], groups[5]), earlier(groups[6], groups[7])));
        }
    }
};

std::size_t EventOrder::first_pending(const FastState& state, std::size_t n) const {
    const TurnKey instant = events_[n] & ~node_mask;
    for (std::size_t other = 0; other < state.nodes.size(); ++other) {
        const Node &a = state.nodes[other], &b = state.nodes[n];
        if (other == n || (events_[other] & ~node_mask) != instant || a.pending == 0) continue;
        if (a.free_s < b.free_s || (a.free_s == b.free_s && state.precedes({false, a.last}, {false, b.last})))
            n = other;
    }
    return n;
}

template <bool Sized, int Groups>
FastOutcome EventOrder::loop(FastState& state, double cutoff_s, PerNode<double>& node_end_s) {
    const std::size_t node_count = state.nodes.size(), tops = ((node_count + 3) / 4 + wide - 1) / wide;
    events_.assign(tops * wide * 4 + tops * wide + tops, ~TurnKey{0});
    const Agenda<Groups> agenda{events_.data(), events_.data() + tops * wide * 4, events_.data() + tops * wide * 5,
                                tops};
    const Steps<true, Sized> run(state);
    // Work left is summed in another order than the timeline's: a hair of room, so that rounding never cuts too early.
    // Past coarse_s keys are too coarse for the shortest operation or hop.
    const double coarse_s = least(state.shortest_operation_s, state.shortest_hop_s) / key_grain,
                 sure_s = least(cutoff_s * (1 + 1e-9), coarse_s);
    int left = state.operations();
    for (std::size_t n = 0; n < node_count; ++n) agenda.set(n, Agenda<Groups>::key_of(run.due_s(run.nodes[n]), n));
    TurnKey next = agenda.next();
    const auto put = [&](std::size_t n, double time_s) __attribute__((always_inline)) {
        const TurnKey key = Agenda<Groups>::key_of(time_s, n);
        bring_forward(next, key);
        agenda.advance(n, key);
    };
    // A node that still has a transfer to hand over finds out by itself.
    const auto wake = [&](std::size_t n, double time_s) __attribute__((always_inline)) {
        put(n, run.nodes[n].pending != 0 ? never_s : time_s);
    };
    while (next < never) {
        auto n = static_cast<std::size_t>(next & node_mask);
        const TurnKey now = next;
        agenda.set(n, ~TurnKey{0});
        next = agenda.next();
        if (run.nodes[n].pending != 0) {
            if ((now & ~node_mask) == (next & ~node_mask)) {
                agenda.events[n] = now;
                n = first_pending(state, n);
                agenda.set(now & node_mask, now);
                agenda.set(n, ~TurnKey{0});
                next = agenda.next();
            }
            Node& node = run.nodes[n];
            const std::uint32_t slot = node.pending;
            node.pending = 0;
            run.hand_over(node, slot, wake);
            put(n, run.due_s(node));
            continue;
        }
        Node& node = run.nodes[n];
        const std::uint32_t running = run.start(node);
        --left;
        if (!(node.free_s + node.left_s < sure_s)) return sure_s < coarse_s ? FastOutcome::cut : FastOutcome::too_fine;
        if ((running & kind_mask) != last_kind) {
            const std::uint32_t slot = (running >> 2) + 1;
            if (node.hops[run.pair_lines[at(run.path_nodes[run.places[slot] >> 2])].group].waits) {
                node.pending = slot;
                put(n, node.free_s);
                continue;
            }
            run.hand_over(node, slot, wake);
        }
        put(n, run.due_s(node));
    }
    return state.finish(left, cutoff_s, node_end_s);
}

FastOutcome EventOrder::run(FastState& state, double cutoff_s, PerNode<double>& node_end_s) {
    const std::size_t groups = (state.nodes.size() + 3) / 4;
    if (state.nodes.size() > most_nodes) return FastOutcome::too_fine;
    const auto run = [&]<bool Sized>() {
        if (groups <= 4) return loop<Sized, 4>(state, cutoff_s, node_end_s);
        if (groups <= 5) return loop<Sized, 5>(state, cutoff_s, node_end_s);
        return groups <= 8 ? loop<Sized, 8>(state, cutoff_s, node_end_s) : loop<Sized, 0>(state, cutoff_s, node_end_s);
    };
    return state.sized() ? run.template operator()<true>() : run.template operator()<false>();
}

}  // namespace skippipe::fast
