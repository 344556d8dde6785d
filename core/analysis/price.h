// SPDX-License-Identifier: GPL-3.0-or-later
// What training costs, in whatever money the experiment's prices are.
#pragma once

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Whether the experiment has prices at all.
bool has_prices(const Experiment& experiment);

struct IterationPrice {
    double nodes = 0;    ///< of all nodes that the plan uses, for the iteration's length
    double traffic = 0;  ///< of bytes that leave a region, or a node that stands in none
    double total() const { return nodes + traffic; }
};

/// Of one iteration as its timeline says. A charged all-reduce is a ring in the order of the plan's stage.
IterationPrice price_of(const Experiment& experiment, const Problem& problem, const Plan& plan,
                        const Timeline& timeline);

/// What the experiment's token budget takes at this iteration.
struct BudgetPrice {
    double iterations = 0, seconds = 0, price = 0;
};
BudgetPrice budget_of(const Experiment& experiment, double iteration_s, const IterationPrice& price);

}  // namespace skippipe
