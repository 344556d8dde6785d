// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/lookahead.h"

#include <bit>

namespace skippipe::fast {

namespace {

/// Two numbers that one instruction handles on every x86-64 and ARM64.
using Pair = double __attribute__((vector_size(16)));
using Bits = long __attribute__((vector_size(16)));
static_assert(sizeof(long) == sizeof(double));

inline Pair least(Pair a, Pair b) { return a < b ? a : b; }
inline Pair pair(const double* of) {
    double a = of[0], b = of[1];
    asm("" : "+x"(a));
    asm("" : "+x"(b));
    return Pair{a, b};
}

/// The least of due_s + ahead_s over an even number of nodes.
double next_reach_s(const double* due_s, const double* ahead_s, std::size_t count) {
    Pair low = {never_s, never_s};
    for (std::size_t n = 0; n < count; n += 2) low = least(low, pair(due_s + n) + pair(ahead_s + n));
    return fast::least(low[0], low[1]);
}

/// Of `count` <= 64 nodes, an even number, those whose event comes before `bound_s`.
std::uint64_t before(const double* due_s, std::size_t count, double bound_s) {
    Bits found = {0, 0}, node = {1, 2};
    for (std::size_t n = 0; n < count; n += 2, node <<= 2) found |= (pair(due_s + n) < Pair{bound_s, bound_s}) & node;
    return static_cast<std::uint64_t>(found[0] | found[1]);
}

}  // namespace

template <bool Lines, bool Sized>
FastOutcome Lookahead::loop(FastState& state, double cutoff_s, PerNode<double>& node_end_s) {
    // Sums of another order may differ by roundings.
    constexpr double hair = 1 - 0x1p-40;
    due_s_.resize(state.ahead_s.size(), never_s);
    const std::size_t count = due_s_.size();
    double* const due_s = due_s_.data();
    const Steps<Lines, Sized> run(state);
    const double sure_s = cutoff_s * (1 + 1e-9);
    int left = state.operations();
    for (std::size_t n = 0; n < state.nodes.size(); ++n) due_s[n] = run.due_s(run.nodes[n]);
    const auto wake = [&](std::size_t n, double time_s) __attribute__((always_inline)) {
        due_s[n] = fast::least(due_s[n], time_s);
    };
    while (left > 0) {
        const double bound_s = next_reach_s(due_s, state.ahead_s.data(), count) * hair;
        if (!(bound_s < never_s)) return FastOutcome::cut;
        bool any = false;
        for (std::size_t base = 0; base < count; base += 64) {
            std::uint64_t nodes = before(due_s + base, count - base < 64 ? count - base : 64, bound_s);
            any |= nodes != 0;
            for (; nodes != 0; nodes &= nodes - 1) {
                const std::size_t n = base + static_cast<std::size_t>(std::countr_zero(nodes));
                Node& node = run.nodes[n];
                const std::uint32_t running = run.start(node);
                --left;
                if (!(node.free_s + node.left_s < sure_s)) return FastOutcome::cut;
                if ((running & kind_mask) != last_kind) run.hand_over(node, (running >> 2) + 1, wake);
                due_s[n] = run.due_s(node);
            }
        }
        if (!any) return FastOutcome::too_fine;
    }
    return state.finish(left, cutoff_s, node_end_s);
}

FastOutcome Lookahead::run(FastState& state, double cutoff_s, PerNode<double>& node_end_s) {
    const bool lines = state.problem.shared_links;
    if (state.sized())
        return lines ? loop<true, true>(state, cutoff_s, node_end_s) : loop<false, true>(state, cutoff_s, node_end_s);
    return lines ? loop<true, false>(state, cutoff_s, node_end_s) : loop<false, false>(state, cutoff_s, node_end_s);
}

}  // namespace skippipe::fast
