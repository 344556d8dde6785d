// SPDX-License-Identifier: GPL-3.0-or-later
// How what is left of an iteration ends: all-reduces that ran when nodes were lost, and those that come.
#pragma once
#include <vector>

#include "core/planner/replan/residual.h"

namespace skippipe {

/// When a stage reduces and steps, seconds from the iteration's start.
struct StageEnd {
    double begin_s = 0, reduced_s = 0, stepped_s = 0;
};

/// The rest of an iteration as its end needs it. All outlive it.
struct RestEnd {
    const Problem& network;  ///< with its changes
    const Residual& residual;
    const Problem& before;  ///< the network as it was
    const PerStage<std::vector<NodeIndex>>& stages_before;
    const PerStage<std::vector<NodeIndex>>& stages;  ///< rings; a stage may have no node left

    /// `end_s`: end of the stage's last operation. As at the end of any iteration; an all-reduce that had begun runs
    /// on, or begins anew at residual.at_s where its ring has changed.
    StageEnd stage(StageIndex stage, double end_s) const;
    /// When the last stage has stepped, no sooner than `makespan_s`. `stage_end_s` [stages]: negative where no
    /// operation ran. `timeline` (may be null) takes the spans of what ends after residual.at_s.
    double iteration_s(const PerStage<double>& stage_end_s, double makespan_s, Timeline* timeline) const;
    /// For `progress` at its at_s: which all-reduces have begun. `stage_end_s` [stages]: end of the stage's last
    /// operation of all, later than that where operations are left.
    void capture(const PerStage<double>& stage_end_s, IterationProgress& progress) const;
};

}  // namespace skippipe
