// SPDX-License-Identifier: GPL-3.0-or-later
// What timelines beneath each other draw: the key above them, always open.
#pragma once
#include <vector>

#include "views/runs/run_data.h"
#include "views/theme/flow_key.h"
#include "views/timeline/lanes.h"

namespace skippipe {

/// Causes that take a share of any run that is seen in its lanes, those that take most first.
std::vector<IdleCause> keyed_causes(const std::vector<const RunData*>& runs);

/// Work in its stage's colour beside the stage's number, then what nodes wait for. `low`: lanes have no room for
/// hatches, and the swatches have none either. None where no run has lanes.
std::vector<FlowKey::Entry> timeline_key(const std::vector<const RunData*>& runs, bool low, double device_pixel_ratio);

}  // namespace skippipe
