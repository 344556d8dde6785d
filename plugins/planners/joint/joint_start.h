// SPDX-License-Identifier: GPL-3.0-or-later
// What skippipe-joint begins with.
#pragma once
#include "core/base/rng.h"
#include "plugins/planners/skippipe/skipping.h"

namespace skippipe::planners::joint {

/// The published method's paths; where lines are missing and it finds none, any that are allowed. Throws InputError
/// where there are none.
SkipCandidate any_start(const Problem& problem, const PlanRequest& request, const Budget& budget);

/// Another beginning where blocks are planned or microbatches differ in size: each block beyond the first of its stage
/// anywhere, the microbatches in any order.
void scatter(const Problem& problem, Rng rng, PlanCandidate& candidate);

/// Whether a given plan is valid here, with paths of the problem's length.
bool fits_as_start(const Problem& problem, const Plan& plan);

}  // namespace skippipe::planners::joint
