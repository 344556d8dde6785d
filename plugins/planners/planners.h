// SPDX-License-Identifier: GPL-3.0-or-later
// The planners of this folder, one by one; all.h registers them.
#pragma once
#include <memory>

#include "core/planner/planner.h"

namespace skippipe::planners {

/// All forwards, then all backwards, in waves as large as memory allows (arXiv 1811.06965).
std::unique_ptr<Planner> make_gpipe();
/// Forwards and backwards by turns once the pipeline is filled (PipeDream-Flush, arXiv 2006.09503).
std::unique_ptr<Planner> make_one_forward_one_backward();
/// The backward in two, weight gradients where a node would wait (ZB-H1, arXiv 2401.10241).
std::unique_ptr<Planner> make_zero_bubble();
/// A genetic search for the placement, then a full pipeline (arXiv 2206.01288).
std::unique_ptr<Planner> make_dtfm();
/// The same placement, random paths that skip: the baseline of arXiv 2502.19913.
std::unique_ptr<Planner> make_dtfm_skip();
/// Paths that know network and memory, collisions ignored (arXiv 2502.19913).
std::unique_ptr<Planner> make_skippipe_without_tc2();
/// Conflict-based search over paths (arXiv 2502.19913); conflict_search.h says where it departs from the authors'.
std::unique_ptr<Planner> make_skippipe();
/// Placement, paths and orders together, by simulated annealing and replica exchange; the project's own.
std::unique_ptr<Planner> make_skippipe_joint();

}  // namespace skippipe::planners
