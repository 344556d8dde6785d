// SPDX-License-Identifier: GPL-3.0-or-later
// Curves as points; no widget.
#pragma once
#include <string>
#include <vector>

#include "views/runs/run_data.h"

namespace skippipe {

enum class CurveX { iteration, tokens, network_time, machine_time };

struct CurvePoint {
    double x = 0, y = 0;
    bool operator==(const CurvePoint&) const = default;
};

/// The metric of that name over x, in the order of x.
std::vector<CurvePoint> curve_points(const std::vector<Metric>& metrics, const std::string& name, CurveX x);
/// At most four points a bucket of x: first, lowest, highest and last, so that no spike is lost. Few points stay as they are.
std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, int buckets);

}  // namespace skippipe
