// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/rng.h"
#include "core/planner/plan/reduction.h"

namespace skippipe::planners::joint {

/// Changes the pieces of a stage of so many replicas, at least two, at one place: where a replica hands to or has the
/// sum from, a root, the shares of two pieces, one piece instead of two or two instead of one, or the form of one.
/// False, and what was is left as it is, where what was drawn is none.
bool vary(Pieces& pieces, int replicas, Rng& rng);

}  // namespace skippipe::planners::joint
