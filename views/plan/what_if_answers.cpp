// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_answers.h"

#include <algorithm>

namespace skippipe {
namespace {

constexpr std::int64_t short_steps = 1'000;

/// 0: there is no plan, or none that may be.
double seconds_of(const PlanOutcome& outcome) {
    return outcome.has_plan && outcome.score.violations.empty() ? outcome.score.iteration_seconds : 0;
}

/// The shorter of two, where there are both.
double shorter(double a, double b) { return a > 0 && b > 0 ? std::min(a, b) : std::max(a, b); }

Experiment with(const WhatIfSearch& search, double value) {
    Experiment other = search.experiment;
    search.question.set(other, value);
    return other;
}

}  // namespace

WhatIfAnswer WhatIfSearch::in_short(double value) const {
    const Experiment other = with(*this, value);
    const auto kept = plan ? carry_over(other, *plan) : nullptr;
    const double found = kept ? seconds_of(*kept) : 0;
    if (found > 0 && value == question.now) return {found, true};
    PlanRequest request = request_for(other);
    request.steps = short_steps;
    request.stop = stop;
    if (found > 0 && planner->goes_on()) request.warm_start = &kept->plan;
    return {shorter(found, seconds_of(*make_plan(other, *planner, request, Bounding::left_out))), false};
}

WhatIfAnswer WhatIfSearch::in_full(double value, const WhatIfAnswer& before) const {
    const Experiment other = with(*this, value);
    PlanRequest request = request_for(other);
    request.stop = stop;
    const auto kept = plan && planner->goes_on() ? carry_over(other, *plan) : nullptr;
    const auto best = settled_plan(other, *planner, request, kept.get(), Bounding::left_out);
    return {shorter(before.seconds, seconds_of(*best)), true};
}

}  // namespace skippipe
