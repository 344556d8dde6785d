// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Each node's operations in the order in which a timeline ran them: a binding order that repeats it. Spans of nodes
/// beyond `nodes` are left out.
PerNode<std::vector<Operation>> executed_order(const Timeline& timeline, int nodes);

/// The plan bound to the order in which its timeline ran it: the same timeline, and faster parts cannot turn it into
/// another one.
Plan with_executed_order(Plan plan, const Problem& problem, const Timeline& timeline);

}  // namespace skippipe
