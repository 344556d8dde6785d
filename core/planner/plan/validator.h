// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/timeline.h"
#include "core/planner/replan/progress.h"

namespace skippipe {

struct Violation {
    std::string rule;  ///< "CC1", "CC2", "CC3", "TC1", "TC2", "order", "deadlock", "structure", "reach"
    std::string what;  ///< names microbatch, node or stage
    bool operator==(const Violation&) const = default;
};

/// What must hold before a plan can be executed at all: known nodes, each in one stage, paths of one length that begin
/// on a data node, each stage at most once, reachable hops, an order that names each operation once. Written apart from
/// the planners and the evaluator.
std::vector<Violation> check_structure(const Problem& problem, const Plan& plan);

/// All of it: structure, CC1-CC3, and from the timeline (of evaluator or engine) TC1, TC2, order and freedom from
/// deadlock.
std::vector<Violation> check_plan(const Problem& problem, const Plan& plan, const Timeline& timeline);

/// The same of a plan for the rest of an iteration (core/planner/replan/replan.h) and its timeline: what had finished
/// or run on living nodes is as it was in `before`, nothing is left to lost nodes, every step left runs once and after
/// its input, what was lost runs again; CC1-CC3 (CC2 over the stages that have a node left; the balance of data nodes
/// only where they are the same), TC1 with what was held, TC2. `network`: with its changes.
std::vector<Violation> check_residual(const Problem& network, const Plan& before, const IterationProgress& progress,
                                      const std::vector<int>& down, const Plan& after, const Timeline& rest);

}  // namespace skippipe
