// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QString>

#include "core/planner/explain/explain.h"
#include "views/document/selection.h"
#include "views/timeline/plan_outcome.h"

namespace skippipe {

/// The plan that links are told of.
struct PlannedLinks {
    std::shared_ptr<const PlanOutcome> plan;  ///< null: there is none that comes to its end
    std::shared_ptr<const Explanation> why;   ///< null: not known yet
    bool is_outdated = false;                 ///< of the experiment before the last edit
    bool operator==(const PlannedLinks&) const = default;
};

/// The link's ends: rich text whose links are "node:ID" or "region:ID".
QString link_ends(const Experiment& experiment, const Link& link);

/// What one iteration sends over a link, each way: how much, how busy that keeps its line, what waits for it, which
/// nodes it is between and which gradients are summed over it; whether the iteration's end waits for it. Rich text
/// whose links are "node:ID", "stage:NUMBER" and "microbatch:NUMBER".
QString link_facts(const Experiment& experiment, const Link& link, const PlannedLinks& planned);

}  // namespace skippipe
