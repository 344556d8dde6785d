// SPDX-License-Identifier: GPL-3.0-or-later
// Curves as points; no widget.
#pragma once
#include <string>
#include <vector>

#include <QString>

#include "core/analysis/equal_view.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// The metric of that name of a run.
std::vector<CurvePoint> curve_points(const RunData& run, const std::string& name, WorkAxis x);
/// What the axis holds equal, and what the curves say there: "Equal block FLOPs. At 1.02 TFLOP, where run 1 ends: run
/// 1 3.03, run 2 3.90. To reach 3.06, run 2 needs 1.52 × what run 1 needs." Of metrics where less is not better, the
/// first sentence alone; empty for fewer than two runs.
QString equal_words(const std::vector<RunData>& runs, RunId baseline, const std::string& metric, WorkAxis x);
/// At most four points a bucket of x: first, lowest, highest and last, so that no spike is lost. Few points stay as
/// they are.
std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, int buckets);

}  // namespace skippipe
