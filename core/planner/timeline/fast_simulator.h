// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/timeline/event_order.h"
#include "core/planner/timeline/fast_state.h"
#include "core/planner/timeline/lookahead.h"

namespace skippipe {

/// Plans without order and split whose hops all go to another node, as EventSimulator would, several times as fast: by
/// EventOrder where some line has several senders, else by Lookahead. Reuses its memory; keeps a reference to the
/// problem.
class FastSimulator {
public:
    explicit FastSimulator(const Problem& problem) : state_(problem) {}

    /// Simulates a plan. `relative_sizes`: empty where all are alike. Gives the end of each node's last
    /// operation, negative where nothing ran; nothing where times are too fine for it.
    FastOutcome run(const FlatPlan& flat, const PerRelease<double>& relative_sizes, double cutoff_s,
                    PerNode<double>& node_end_s);

    /// After a run that was done: end of each operation, [release index x (2p+1) + step].
    void operation_ends(std::vector<double>& end_s) const;

private:
    fast::FastState state_;
    fast::EventOrder event_order_;
    fast::Lookahead lookahead_;
};

}  // namespace skippipe
