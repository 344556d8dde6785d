// SPDX-License-Identifier: GPL-3.0-or-later
// Runs of a test as views hold them.
#pragma once
#include <memory>
#include <vector>

#include "views/runs/run_data.h"

namespace skippipe {

/// As they are now: what a test does to its own runs later is no part of them, as with what the record's reader hands
/// over.
inline std::vector<std::shared_ptr<const RunData>> snapshots(const std::vector<const RunData*>& runs) {
    std::vector<std::shared_ptr<const RunData>> all;
    all.reserve(runs.size());
    for (const auto* run : runs) all.push_back(std::make_shared<const RunData>(*run));
    return all;
}

}  // namespace skippipe
