// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include "core/engine/probe.h"
#include "core/engine/schedule.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Forward, backward and loss of one microbatch of random tokens on each node of the rank, `workers` nodes at a time,
/// so that they share caches and memory as in training. CPU nodes: time of the thread that computes, which does not
/// count what others take of its core. Then AdamW on all of them, timed from when `together` returns, which waits for
/// the other ranks; where all of them are on GPUs how fast memory is copied there; and, where reductions are planned,
/// what adding and rounding parts and sums takes on the CPU.
void measure_nodes(const Experiment& experiment, const RankSchedule& schedule, int workers,
                   const std::function<void()>& together, int rank, RankProbe& probe);

}  // namespace skippipe
