// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <vector>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

/// How a list scheduler picks each node's next operation. Losses and backwards always come before forwards.
struct ListRules {
    PerNode<int> limit;  ///< microbatches each node may hold
    bool weights_last =
        false;  ///< a weight gradient only when nothing else can run (it fills the bubbles); else right after its I
    /// A microbatch starts only when every node of its path has memory for it, and takes it on all of them at once:
    /// never a deadlock.
    bool reserve = false;
};

/// Binding order of each node, found by running the schedule once under these rules. Empty where it deadlocks, which
/// needs paths that go back to an earlier stage and `reserve` off.
PerNode<std::vector<std::uint32_t>> list_order(const Problem& problem, const FlatPlan& schedule,
                                               const ListRules& rules);

/// GPipe's order: waves in which no node holds more than its memory takes; all forwards of a wave, its losses, its
/// backwards.
PerNode<std::vector<std::uint32_t>> wave_order(const Problem& problem, const FlatPlan& schedule);

}  // namespace skippipe::planners
