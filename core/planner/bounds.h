// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include "core/planner/problem.h"

namespace skippipe {

struct LowerBound {
    double seconds = 0;
    std::string which;  ///< what proves it, for people: "work of the busiest node", ...
};

/// No plan for this problem with paths of `length` ends its iteration earlier.
LowerBound lower_bound(const Problem& problem, int length);

}  // namespace skippipe
