// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include "core/analysis/accounting.h"
#include "core/analysis/frozen_run.h"
#include "core/record/record.h"

namespace skippipe {

/// Where a fork began.
struct ForkOrigin {
    int iterations = 0;             ///< that were done there
    double machine_s = 0;           ///< that was spent until then; 0 where the record does not say
    std::optional<RunInfo> parent;  ///< absent: the record does not have it, or does not say which it was
};

/// Nothing where the run is no fork.
std::optional<ForkOrigin> fork_origin(Reader& reader, RunId run);

/// One iteration of a run by its first plan, and of a fork what was done before it began. Nothing where the plan cannot
/// be accounted for.
std::optional<Accounting> account_recorded(Reader& reader, RunId run, const Experiment& experiment,
                                           const Problem& problem, const Plan& plan);

}  // namespace skippipe
