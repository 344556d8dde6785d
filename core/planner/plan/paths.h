// SPDX-License-Identifier: GPL-3.0-or-later
// Which sequences of stages a microbatch may take (CC1, CC3), and sets of them that use all stages evenly (CC2).
#pragma once
#include <vector>

#include "core/planner/plan/problem.h"

namespace skippipe {

/// A path on its way from stage 0, as far as CC3 looks at it.
struct PathProgress {
    StageIndex furthest = 0;
    int swaps = 0;
};

/// Takes the hop to `stage`, which was not visited yet; false where CC1 or CC3 forbids it.
inline bool advance(const Constraints& rules, PathProgress& progress, StageIndex stage) {
    if (stage == 0) return false;
    if (!rules.bounded_disorder) return true;
    if (stage < progress.furthest)
        return ++progress.swaps <= rules.max_swaps && progress.furthest - stage <= rules.max_swap_distance;
    const bool near = stage - progress.furthest - 1 <= rules.max_passed_over;
    progress.furthest = stage;
    return near;
}

/// Whether a microbatch may visit these stages in this order: stage 0 first and once, each other at most once, within
/// CC3.
bool allowed_sequence(const Problem& problem, const std::vector<StageIndex>& stages);

/// One ascending sequence of stages for each microbatch, within CC1-CC3, the stages used as evenly as CC3 lets them be.
/// Throws InputError where CC2 and CC3 leave none.
std::vector<std::vector<StageIndex>> balanced_sequences(const Problem& problem, int length);

}  // namespace skippipe
