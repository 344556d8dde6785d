// SPDX-License-Identifier: GPL-3.0-or-later
// Charts as files: pictures for papers, numbers for other programs.
#pragma once
#include <functional>
#include <vector>

#include <QByteArray>
#include <QRectF>

#include "views/curves/curve_set.h"

namespace skippipe {

class CurveChart;

enum class CurveFormat { png, svg, pdf, csv };
/// "PNG", "SVG", "PDF", "CSV".
QString name_of(CurveFormat format);

/// Where an axis' tick stands, and what it says.
struct ChartTick {
    double at = 0;
    QString label;
};

/// One chart in the file: its box in pixels, and what is in sight of its axes.
struct ChartFrame {
    QRectF box;
    double x_begin = 0, x_end = 1, y_begin = 0, y_end = 1;
    bool log_x = false, log_y = false;
    std::vector<ChartTick> x_ticks, y_ticks;
};

/// What is not a curve.
struct ChartColours {
    QColor surface{"#ffffff"}, text{"#333333"}, line{"#dddddd"};
};

/// Curves as an SVG drawing, a frame each; no script, no font of its own.
std::string curves_svg(const std::vector<CurveSet>& sets, const std::vector<ChartFrame>& frames,
                       const ChartColours& colours = {});

/// The charts as they are in sight: PNG in the theme's colours with two pixels a point; SVG and PDF, a page as large as
/// they are, in those of paper; or all numbers. Here the values are taken; what is returned draws and writes them, on
/// any thread.
std::function<QByteArray()> export_curves(const std::vector<CurveChart*>& charts, CurveFormat format);

}  // namespace skippipe
