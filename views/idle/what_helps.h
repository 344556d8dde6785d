// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QStringList>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// What would make an iteration of the plan shorter, a line each ("n3 twice as fast: 2.1 % shorter"): the node twice as
/// fast, with one microbatch more in its memory, and what helps most of all that *Why* asks, if that is 1 % or more;
/// where sums of gradients end the iteration, what they take and what other types to travel as would give. Placement
/// and paths are kept. `node`: none of the plan's: the last two alone. `wire`: the type they travel as now. Takes some
/// evaluations of the plan: not for the window's thread.
QStringList what_helps(const Problem& problem, const Plan& plan, const std::string& node,
                       WireType wire = WireType::fp32);

}  // namespace skippipe
