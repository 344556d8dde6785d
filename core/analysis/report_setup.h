// SPDX-License-Identifier: GPL-3.0-or-later
// Which machine and which versions trained runs, as a report tells it.
#pragma once
#include <string>
#include <vector>

#include "core/analysis/report.h"

namespace skippipe {

/// A thing that is told of machines or versions.
struct SetupRow {
    std::string name;                 ///< "Memory"
    std::vector<std::string> values;  ///< one a run; empty: the record has none of it
    bool is_same = true;              ///< of all runs
};

/// What the record has of the runs' machines, then of their versions, each once; as it was written where this program
/// cannot read it.
std::vector<SetupRow> setup_rows(const std::vector<ReportRun>& runs);

}  // namespace skippipe
