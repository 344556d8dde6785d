// SPDX-License-Identifier: GPL-3.0-or-later
// What the values of a question come to, worked out beside the window: no widget.
#pragma once
#include <memory>
#include <stop_token>

#include "core/planner/planner.h"
#include "views/plan/plan_service.h"
#include "views/plan/what_if_questions.h"

namespace skippipe {

/// The iteration time at one value of a question.
struct WhatIfAnswer {
    double seconds = -1;    ///< 0: there is no plan, negative: not planned yet
    bool is_whole = false;  ///< by the search that an edit would start; else by a short one: it takes at most so long
    QString why{};          ///< there is no plan
    bool is_planned() const { return seconds >= 0; }
    bool has_plan() const { return seconds > 0; }
};

/// Who answers, of which experiment, from which plan on.
struct WhatIfSearch {
    Experiment experiment;
    const Planner* planner = nullptr;
    WhatIfQuestion question;
    std::shared_ptr<const PlanOutcome> plan;  ///< that is shown; null: none
    std::stop_token stop;

    /// By a short search, which takes milliseconds; at the present value the plan that is shown.
    WhatIfAnswer in_short(double value) const;
    /// By what an edit would search, and never longer than `before`: no plan where an edit would have none. Nothing
    /// where it was stopped.
    WhatIfAnswer in_full(double value, const WhatIfAnswer& before) const;
};

}  // namespace skippipe
