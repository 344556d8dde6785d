// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <set>
#include <utility>
#include <vector>

#include "core/experiment/document.h"
#include "core/planner/plan/problem.h"
#include "views/document/selection.h"
#include "views/timeline/details.h"

namespace skippipe {

/// Lanes, by sender and receiver, whose transfers go over one of these links.
std::vector<std::pair<int, int>> ways_over(const std::set<LinkKey>& links, const Topology& topology,
                                           const Problem& problem);

/// What went over a link in an iteration of a run, each way: how much, how busy that kept it, the longest wait for it
/// and whose it was, and which nodes sent to which.
Details link_details(const Link& link, const Problem& problem, const IterationTime& one, const TimelineData& data);

}  // namespace skippipe
