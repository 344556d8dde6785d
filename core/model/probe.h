// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/engine/probe.h"
#include "core/engine/schedule.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Forward, backward and loss of one microbatch of random tokens on each node of the rank, `workers` nodes at a time, so that they
/// share caches and memory as in training. CPU nodes: time of the thread that computes, which does not count what others take of its core.
std::vector<NodeSpeed> measure_nodes(const Experiment& experiment, const RankSchedule& schedule, int rank, int workers);

}  // namespace skippipe
