// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "core/analysis/equal_view.h"

namespace skippipe {

/// A line of a chart.
struct ChartLine {
    std::string name;
    int colour = 0;  ///< of the palette; beyond eight they repeat, dashed
    std::vector<CurvePoint> points;
};

struct ChartOptions {
    std::string x_label, y_label;
    WorkAxis x = WorkAxis::iteration;  ///< how x is written
    double width_px = 720, height_px = 320;
};

/// A chart of lines with axes and a key, for a page on light ground. Stands alone. Where no line has points it says so.
std::string chart_svg(const std::vector<ChartLine>& lines, const ChartOptions& options);

}  // namespace skippipe
