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

}  // namespace skippipe::bounds
