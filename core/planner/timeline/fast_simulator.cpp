// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/timeline/fast_simulator.h"

namespace skippipe {

FastOutcome FastSimulator::run(const FlatPlan& flat, const PerRelease<double>& relative_sizes, double cutoff_s,
                               PerNode<double>& node_end_s) {
    node_end_s.resize(state_.nodes.size());
    state_.prepare(flat, relative_sizes);
    return state_.lines_wait ? event_order_.run(state_, cutoff_s, node_end_s)
                             : lookahead_.run(state_, cutoff_s, node_end_s);
}

void FastSimulator::operation_ends(std::vector<double>& end_s) const {
    end_s.resize(state_.records.size());
    for (std::size_t slot = 0; slot < end_s.size(); ++slot) end_s[slot] = state_.records[slot].end_s;
}

}  // namespace skippipe
