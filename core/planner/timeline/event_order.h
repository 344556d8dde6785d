// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/planner/timeline/fast_state.h"

namespace skippipe::fast {

/// Where transfers of several nodes wait for each other on a line: one event after the other, in the order of their
/// times. A node's new event is rarely the next of all, which is a foreseen branch and lets the processor work on two
/// events at once.
class EventOrder {
public:
    static constexpr std::size_t most_nodes = 4096;  ///< whose numbers fit into an event's key

    /// Runs what `state` was prepared for; false outcomes: cut, too_fine (also for more than most_nodes).
    FastOutcome run(FastState& state, double cutoff_s, PerNode<double>& node_end_s);

private:
    template <bool Sized, int Groups>
    FastOutcome loop(FastState& state, double cutoff_s, PerNode<double>& node_end_s);
    /// Of the nodes whose events fall on `n`'s instant and that have a transfer to hand to a shared line, the one whose
    /// turn it is.
    [[gnu::noinline]] std::size_t first_pending(const FastState& state, std::size_t n) const;

    std::vector<std::uint64_t> events_;  ///< next event of each node, least of each 4 nodes, least of each 16 of those
};

}  // namespace skippipe::fast
