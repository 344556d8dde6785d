// SPDX-License-Identifier: GPL-3.0-or-later
// What the validator found, as one text.
#pragma once
#include <string>
#include <vector>

#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe::examples {

/// A line each; empty where there are none.
inline std::string text_of(const std::vector<Violation>& found) {
    std::string text;
    for (const auto& violation : found) text += violation.rule + ": " + violation.what + "\n";
    return text;
}

inline std::string faults_of(const Problem& problem, const Plan& plan) {
    return text_of(check_plan(problem, plan, evaluate(problem, plan)));
}

}  // namespace skippipe::examples
