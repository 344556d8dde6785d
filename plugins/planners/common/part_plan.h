// SPDX-License-Identifier: GPL-3.0-or-later
// What is planned in parts, as one plan.
#pragma once
#include <vector>

#include "core/base/index.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe::planners {

/// Takes a part's paths and bound orders over into the whole plan, which has room for orders of every node. `nodes`:
/// what the whole calls the part's. `number_of`: a ReleaseIndex of the part in the whole.
template <typename NumberOf>
void take_over(const FlatPlan& part, const std::vector<NodeIndex>& nodes, const NumberOf& number_of, FlatPlan& whole) {
    for (ReleaseIndex i = 0; i < part.count(); ++i)
        for (int hop = 0; hop < part.length; ++hop) whole.path(number_of(i))[hop] = nodes[at(part.path(i)[hop])];
    for (NodeIndex n = 0; at(n) < nodes.size(); ++n)
        for (const auto operation : part.order[n])
            whole.order[nodes[at(n)]].push_back(
                pack(number_of(ReleaseIndex(packed_index(operation))), packed_step(operation)));
}

}  // namespace skippipe::planners
