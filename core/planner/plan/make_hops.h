// SPDX-License-Identifier: GPL-3.0-or-later
// For problem.cpp alone.
#pragma once
#include <string>
#include <unordered_map>

#include "core/experiment/document.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

using NodesById = std::unordered_map<std::string, NodeIndex>;
NodesById nodes_by_id(const Topology& topology);

/// The ways of a topology that validates, and in `problem.line_names` the names of their lines. Nodes of a region that
/// have no links of their own are a group.
Hops make_hops(const Topology& topology, Problem& problem);

}  // namespace skippipe
