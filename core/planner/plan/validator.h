// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

struct Violation {
    std::string rule;  ///< "CC1", "CC2", "CC3", "TC1", "TC2", "order", "deadlock", "structure", "reach"; of a score
                       ///< also "placement"
    std::string what;  ///< names microbatch, node or stage
    bool operator==(const Violation&) const = default;
};

/// What must hold before a plan can be executed at all: known nodes, each in one stage, paths of one length that begin
/// on a data node, each stage at most once, reachable hops, an order that names each operation once. Written apart from
/// the planners and the evaluator.
std::vector<Violation> check_structure(const Problem& problem, const Plan& plan);

/// All of it: structure, CC1-CC3, and from the timeline (of evaluator or engine) TC1, TC2, order, freedom from deadlock
/// and the transfers of planned reductions.
std::vector<Violation> check_plan(const Problem& problem, const Plan& plan, const Timeline& timeline);

}  // namespace skippipe
