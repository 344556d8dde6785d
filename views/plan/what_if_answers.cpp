// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_answers.h"

#include <algorithm>
#include <string>

namespace skippipe {
namespace {

constexpr std::int64_t short_steps = 1'000;

/// 0: there is no plan, or none that may be.
double seconds_of(const PlanOutcome& outcome) {
    return outcome.has_plan && outcome.score.violations.empty() ? outcome.score.iteration_seconds : 0;
}

QString why_none(const PlanOutcome& outcome) {
    return QString::fromStdString(!outcome.faults.empty()             ? outcome.faults.front().what
                                  : !outcome.score.violations.empty() ? outcome.score.violations.front()
                                                                      : std::string{});
}

/// The shorter of two, of which 0 is none.
double shorter(double a_s, double b_s) { return a_s > 0 && b_s > 0 ? std::min(a_s, b_s) : std::max(a_s, b_s); }

Experiment with(const WhatIfSearch& search, double value) {
    Experiment other = search.experiment;
    search.question.set(other, value);
    return other;
}

}  // namespace

WhatIfAnswer WhatIfSearch::in_short(double value) const {
    const Experiment other = with(*this, value);
    const auto kept = plan ? carry_over(other, *plan, *planner) : nullptr;
    const double found = kept ? seconds_of(*kept) : 0;
    if (found > 0 && value == question.now) return {found, true, {}};
    PlanRequest request = request_for(other);
    request.steps = short_steps;
    request.stop = stop;
    if (found > 0 && planner->goes_on()) request.warm_start = &kept->plan;
    const auto best = make_plan(other, *planner, request, Bounding::left_out);
    const double seconds = shorter(found, seconds_of(*best));
    return {seconds, false, seconds > 0 ? QString{} : why_none(*best)};
}

WhatIfAnswer WhatIfSearch::in_full(double value, const WhatIfAnswer& before) const {
    const Experiment other = with(*this, value);
    PlanRequest request = request_for(other);
    request.stop = stop;
    const auto kept = plan && planner->goes_on() ? carry_over(other, *plan, *planner) : nullptr;
    const auto best = settled_plan(other, *planner, request, kept.get(), Bounding::left_out);
    const double found = seconds_of(*best);
    // An edit would have no plan then, whatever was thought of before.
    if (found <= 0) return {0, true, why_none(*best)};
    return {shorter(before.seconds, found), true, {}};
}

}  // namespace skippipe
