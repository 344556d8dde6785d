// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "views/topology/edits.h"

namespace skippipe {

/// Places of all nodes by Graphviz: linked nodes near each other, the nearer the lower the link's latency; nodes of one
/// region together. No two nearer than least_distance. Empty where Graphviz cannot (its plug-ins are missing).
std::vector<Point> graphviz_layout(const Topology& topology);

}  // namespace skippipe
