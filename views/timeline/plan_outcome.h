// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include "core/analysis/idle.h"
#include "core/analysis/reductions.h"
#include "core/planner/planner.h"
#include "views/timeline/lanes.h"

namespace skippipe {

/// What planning the document gave. Immutable once handed out.
struct PlanOutcome {
    Problem problem;
    Plan plan;
    Timeline timeline;
    IdleReport idle;
    Score score;  ///< of the quick answer without bounds
    std::shared_ptr<const TimelineData> lanes;
    std::vector<ReductionWhatIf> other_reductions;  ///< of the refined answer
    Faults faults;                                  ///< why there is no plan
    bool has_plan = false;
    bool refined = false;  ///< false: the quick first answer
};

}  // namespace skippipe
