// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QString>

#include "views/curves/point_store.h"

namespace skippipe {

/// What the axis holds equal, and what the curves say there: "Equal block FLOPs. At 1.02 TFLOP, where run 1 ends: run
/// 1 3.03, run 2 3.90. To reach 3.06, run 2 needs 1.52 × what run 1 needs." Of metrics where less is not better, the
/// first sentence alone; empty for fewer than two runs.
QString equal_words(const std::vector<const RunData*>& runs, RunId baseline, const std::string& metric, WorkAxis x,
                    PointStore& store);

}  // namespace skippipe
