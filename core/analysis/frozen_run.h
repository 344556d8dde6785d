// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
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

}  // namespace skippipe
