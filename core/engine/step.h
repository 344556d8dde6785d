// SPDX-License-Identifier: GPL-3.0-or-later
// The end of an iteration, which all ranks come to together.
#pragma once
#include <vector>

#include "core/engine/compute.h"

namespace skippipe {

/// What each rank gave at the end of an iteration, by rank; none of one that is not there. Who has it has committed the
/// iteration: nothing that is lost later takes it back.
using Commit = std::vector<std::vector<double>>;

/// Loss and tokens of this rank, and the sums of the stages whose first rank it is, from every rank. `sums`: this
/// rank's, of every stage.
Commit share_sums(const RankSchedule& schedule, const std::vector<StageSum>& sums, const ComputeBackend& compute,
                  RankTransport& transport);

/// AdamW with the same numbers on every rank. Throws std::runtime_error where loss or gradient is no longer a finite
/// number, PeerFault where what a rank gave has another size.
IterationResult take_step(int iteration, const Commit& commit, ComputeBackend& compute);

/// Both.
IterationResult finish_iteration(int iteration, const RankSchedule& schedule, const std::vector<StageSum>& sums,
                                 ComputeBackend& compute, RankTransport& transport);

}  // namespace skippipe
