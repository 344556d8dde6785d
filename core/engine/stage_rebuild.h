// SPDX-License-Identifier: GPL-3.0-or-later
// A stage whose weights are lost, made anew of the stages beside it (CheckFree).
#pragma once
#include <functional>
#include <vector>

#include "core/engine/compute.h"

namespace skippipe {

/// Of whose weights a lost stage is made: a node each of the stages before and after it that `has_weights`, weighted by
/// their squared gradient norms (of each stage's last gradient; negative or none: not known, then in equal shares).
/// Empty of stage 0, whose embedding and head nobody else has, and where neither is there.
std::vector<RebuildSource> neighbours_of(const PerStage<std::vector<NodeIndex>>& stages, int stage,
                                         const std::function<bool(NodeIndex)>& has_weights,
                                         const std::vector<double>& squared_norms);

/// A stage that ranks which have come make anew of nodes that may be on other ranks.
struct NeighbourRebuild {
    int stage = 0;
    std::vector<RebuildSource> sources;
    double learning_rate = 1;  ///< the stage's from then on, as a factor of the training's
};

/// On every rank that is there, after `follow`: nodes on ranks that joined become what the sources say. Throws
/// PeerFault where what comes has another size.
void rebuild_from_neighbours(const ModelSpec& model, const RankSchedule& everybody, const std::vector<int>& joined,
                             const std::vector<NeighbourRebuild>& stages, ComputeBackend& compute,
                             RankTransport& transport);

}  // namespace skippipe
