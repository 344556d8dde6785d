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

/// The shorter of two, where there are both; else why there is none.
WhatIfAnswer answer_of(double before_s, const PlanOutcome& outcome, bool is_whole) {
    const double now_s = seconds_of(outcome);
    const double seconds = before_s > 0 && now_s > 0 ? std::min(before_s, now_s) : std::max(before_s, now_s);
    const std::string why = seconds > 0                         ? std::string{}
                            : !outcome.faults.empty()           ? outcome.faults.front().what
                            : !outcome.score.violations.empty() ? outcome.score.violations.front()
                                                                : std::string{};
    return {seconds, is_whole, QString::fromStdString(why)};
}

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
    if (found > 0 && value == question.now) return {found, true, {}};
    PlanRequest request = request_for(other);
    request.steps = short_steps;
    request.stop = stop;
    if (found > 0 && planner->goes_on()) request.warm_start = &kept->plan;
    return answer_of(found, *make_plan(other, *planner, request, Bounding::left_out), false);
}

WhatIfAnswer WhatIfSearch::in_full(double value, const WhatIfAnswer& before) const {
    const Experiment other = with(*this, value);
    PlanRequest request = request_for(other);
    request.stop = stop;
    const auto kept = plan && planner->goes_on() ? carry_over(other, *plan) : nullptr;
    const auto best = settled_plan(other, *planner, request, kept.get(), Bounding::left_out);
    return answer_of(before.seconds, *best, true);
}

}  // namespace skippipe
