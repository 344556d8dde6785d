// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of a test as views hold them.
#pragma once
#include <memory>
#include <vector>

#include "views/runs/run_data.h"

namespace skippipe {

/// They stay the test's, which outlives what it hands them to.
inline std::vector<std::shared_ptr<const RunData>> borrowed(const std::vector<const RunData*>& runs) {
    std::vector<std::shared_ptr<const RunData>> all;
    all.reserve(runs.size());
    for (const auto* run : runs) all.emplace_back(std::shared_ptr<void>{}, run);
    return all;
}

}  // namespace skippipe
