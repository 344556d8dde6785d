// SPDX-License-Identifier: GPL-3.0-or-later
// What timelines and plans beside each other show, in a sentence each.
#pragma once
#include <vector>

#include <QString>

#include "core/analysis/plan_comparison.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// "Run 2's nodes idle 5.20 s longer an iteration than run 1's: 2.62 s more waiting for a gradient, ...": of the run
/// whose nodes idle longest against the first, or against the one that idles least where that is the first. Empty:
/// fewer than two runs have their idle time explained, or they differ by less than 1 % of the longest iteration.
QString idle_finding(const std::vector<const RunData*>& runs);

/// A run's plan against the baseline's.
struct ComparedPlan {
    RunId run = 0;
    PlanComparison plan;
};
/// "Run 3's plan is nearest to run 1's: 3 of 20 nodes serve the same stage, 2 of 30 microbatches go by the same nodes";
/// the baseline has `baseline_nodes` nodes. Empty: there are no others.
QString plan_finding(RunId baseline, int baseline_nodes, const std::vector<ComparedPlan>& others);

}  // namespace skippipe
