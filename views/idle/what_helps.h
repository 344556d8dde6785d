// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QStringList>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe {

/// What an iteration of a plan is as long as it is for, and what would make it shorter.
struct Help {
    /// "n16 31.2 %, Oregon ↔ LA 20.3 % of the critical path; n3 none of it"
    QString limit;
    /// A line each, the most first: "n3 twice as fast: 2.1 % shorter"; where none is, "Nothing alone" and why; of a
    /// plan that does not end, why.
    QStringList changes;
    /// What was tried as well and gives too little: "less than 1 % each: n9 twice as fast (0.62 %)"; empty: nothing.
    QString hardly;
    /// What was tried and would do harm, a line each: "one microbatch of n4 through n3: 15.5 % longer".
    QStringList longer;
    /// "1.17 s with these stages; the plan takes at most 2.9 % more"; empty: there is none.
    QString bound = {};
    bool operator==(const Help&) const = default;
};

/// Of the node twice the speed and one microbatch more in its memory, or of the link ("A->B") what it would be when
/// faster, what *Why* asks of all nodes and links, other ways and types to sum gradients by. Placement and paths are
/// kept. `thing`: none of the plan's: the others alone. `wire`: the type gradients travel as now. Takes some
/// evaluations of the plan: not for the window's thread.
Help what_helps(const Problem& problem, const Plan& plan, const std::string& thing, WireType wire = WireType::fp32);

}  // namespace skippipe
