// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/bounds/totals.h"

namespace skippipe::bounds {

Problem resized(Problem problem, double factor) {
    problem.samples *= factor;
    problem.forward_bytes *= factor;
    problem.backward_bytes *= factor;
    problem.hops.change_alike([factor](Hop& hop) {
        hop.seconds_per_forward *= factor;
        hop.seconds_per_backward *= factor;
    });
    problem.sizes.clear();
    return problem;
}

}  // namespace skippipe::bounds
