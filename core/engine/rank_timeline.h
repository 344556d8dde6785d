// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline of an iteration that several ranks ran by the wall clock: each has its own nodes' spans.
#pragma once
#include <map>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/schedule.h"
#include "core/engine/transport.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Ranks that are not there, ascending.
std::vector<int> absent_ranks(const RankTransport& transport);

/// The step of the nodes of `rank` whose stages' gradients have tokens; `sums` by stage. Seconds from the iteration's
/// start.
void add_steps(const RankSchedule& schedule, int rank, const std::vector<StageSum>& sums, double start_s, double end_s,
               std::vector<Span>& spans);

/// Nodes of ranks that are not there, as down: since `since_s` (from the iteration's start) where that is known of one,
/// else from its start. `everybody`: which nodes are whose. `held`: the stage that each node has, or had last; -1: none
/// ever, and nobody misses it.
void add_absent(const RankSchedule& everybody, const PerNode<StageIndex>& held, const std::vector<int>& absent,
                const std::map<NodeIndex, double>& since_s, Timeline& timeline);

/// Every member's spans make the iteration's timeline, and its copies follow each other in `copies`, on rank 0; on the
/// others both are empty. All members call it. Throws PeerFault where a rank's spans or copies cannot be.
void gather_ends(const Problem& problem, const Plan& plan, RankTransport& transport, Timeline& timeline,
                 std::vector<CopyHash>& copies);

}  // namespace skippipe
