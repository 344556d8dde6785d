// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QStringList>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// What would make an iteration of the plan shorter, a line each and the most first ("n3 twice as fast: 2.1 %
/// shorter"): of the node twice the speed and one microbatch more in its memory, what *Why* asks of all nodes and
/// links, other ways and types to sum gradients by. What gives less than 1 % is one line. Placement and paths are kept.
/// `node`: none of the plan's: the others alone. `wire`: the type gradients travel as now. Takes some evaluations of
/// the plan: not for the window's thread.
QStringList what_helps(const Problem& problem, const Plan& plan, const std::string& node,
                       WireType wire = WireType::fp32);

}  // namespace skippipe
