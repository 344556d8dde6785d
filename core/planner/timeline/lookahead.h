// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/timeline/fast_state.h"

namespace skippipe::fast {

/// Where no transfer waits for another node's: window after window. What a node starts at a time t cannot reach another
/// node before t + its shortest operation + its shortest way out; so every node whose next event comes before the least
/// of these sums knows all that it needs to know, and the nodes of a window can be taken in any order (conservative
/// parallel simulation in windows, as Lubachevsky's bounded lag, on one core: no search for the next event, and the
/// processor works on several nodes at once).
class Lookahead {
public:
    /// Runs what `state` was prepared for; no line may have several senders.
    FastOutcome run(FastState& state, double cutoff_s, PerNode<double>& node_end_s);

private:
    template <bool Lines, bool Sized>
    FastOutcome loop(FastState& state, double cutoff_s, PerNode<double>& node_end_s);

    std::vector<double> due_s_;  ///< [nodes, made even] next event
};

}  // namespace skippipe::fast
