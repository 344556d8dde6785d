// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>

#include "core/experiment/document.h"
#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"
#include "core/record/record.h"

namespace skippipe {

/// What a run froze when it started, as numbers.
struct FrozenRun {
    Experiment experiment;
    Problem problem;
    Plan plan;
};

/// From the record; throws InputError where this program cannot understand it.
FrozenRun read_frozen(Reader& reader, RunId run);

/// The plan that was in force in an iteration; throws InputError as `read_frozen` does.
Plan recorded_plan(Reader& reader, RunId run, const Problem& problem, int iteration);
/// All plans of a run, by the first iteration that each was in force in; throws InputError as `read_frozen` does.
std::map<int, Plan> recorded_plans(Reader& reader, RunId run, const Problem& problem);

/// The first iteration that the record has spans of: not 0 where only some are kept, or of a fork. 0 where it has none.
int first_drawable_iteration(Reader& reader, RunId run);

}  // namespace skippipe
