// SPDX-License-Identifier: GPL-3.0-or-later
// Whether candidates are allowed (docs/semantics.md: CC1, CC3, TC1) and have the lines that they need.
#pragma once
#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners {

/// Throws InputError where a number of the problem rules out every plan: a node without memory for one microbatch
/// (TC1).
void check_solvable(const Problem& problem);

/// Throws InputError naming a pair of nodes where the candidate needs a line that does not exist.
void check_reach(const Problem& problem, const PlanCandidate& candidate);

/// Whether a path's stages are allowed (CC1, CC3).
bool fits_stages(const Problem& problem, const FlatPlan& schedule, ReleaseIndex index);
/// Whether every two neighbours on a path have lines both ways.
bool has_lines(const Problem& problem, const FlatPlan& schedule, ReleaseIndex index);
/// Whether all-reduces, charged or planned, have their lines.
bool has_ring_lines(const Problem& problem, const PlanCandidate& candidate);
/// Whether all paths are allowed, and they and all-reduces have their lines.
bool fits_everywhere(const Problem& problem, const PlanCandidate& candidate);

}  // namespace skippipe::planners
