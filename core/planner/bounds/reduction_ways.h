// SPDX-License-Identifier: GPL-3.0-or-later
// What bounds of planned reductions share.
#pragma once
#include <vector>

#include "core/planner/bounds/bound_terms.h"

namespace skippipe::bounds {

/// Of each ordered pair of these nodes [from x nodes + to], latency and overhead over any of them.
std::vector<double> latencies_s(const Problem& problem, const std::vector<NodeIndex>& nodes);

/// Unlimited lines carry any number of small pieces at once.
double occupying_bytes(const Problem& problem, StageIndex stage);

/// Of each of a stage's replicas: from the instant at which its part of `bytes` is there until all have the sum. Each
/// other one needs that part, or a sum with it, all of it sent from then on: `bytes` leave every group of replicas that
/// has this one and reach the rest of them over the lines, uplinks and downlinks between. Of more than 8 replicas only
/// groups of one and of all but one are looked at.
std::vector<Spread> spreads(const Problem& problem, const std::vector<NodeIndex>& nodes, double bytes);

}  // namespace skippipe::bounds
