// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/planner/plan/timeline.h"

namespace skippipe::bench {

/// Where the places of a plan's nodes go, M of each over the iteration, as shares that add up to 1.
struct PlaceShares {
    double moving = 0;          ///< a microbatch is held that runs or travels somewhere
    double for_forward = 0;     ///< one is held that waits for a node to begin its F, which may lack a place
    double for_other_work = 0;  ///< one that waits for a node to begin its L or B
    double for_line = 0;        ///< one that waits for a line
    double filling = 0;         ///< free before the node holds M for the first time
    double between = 0;         ///< free, and it held M before and does after
    double draining = 0;        ///< free after it held M for the last time, or if it never does
};

/// `timeline`: of a plan whose B is not split.
PlaceShares place_shares(const Problem& problem, const Plan& plan, const Timeline& timeline);

}  // namespace skippipe::bench
