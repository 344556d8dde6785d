// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/experiment/document.h"
#include "core/planner/plan/problem.h"
#include "views/timeline/details.h"

namespace skippipe {

/// What went over a link in an iteration of a run, each way: how much, how busy that kept it, the longest wait for it
/// and whose it was, and which nodes sent to which.
Details link_details(const Link& link, const Problem& problem, const IterationTime& one, const TimelineData& data);

}  // namespace skippipe
