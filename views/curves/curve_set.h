// SPDX-License-Identifier: GPL-3.0-or-later
// What one chart of runs draws, as values: painted, written as CSV or SVG, read out below the mouse.
#pragma once
#include <QPen>

#include "views/curves/point_store.h"

namespace skippipe {

struct Curve {
    RunId run = 0;
    QString name;       ///< "Run 7, gpipe"
    QString runs = {};  ///< of a group: "1, 3", what stands at its end; else empty
    QPen pen;
    SharedPoints points;                ///< as recorded, by x
    std::vector<CurvePoint> smooth;     ///< drawn above the points, which turn pale; empty: not smoothed
    std::vector<CurvePoint> low, high;  ///< of a group: least and most of its runs, at the points' x; else empty
    bool marks = false;                 ///< of few points: discs, no line between
    bool in_legend = true;              ///< false: its colour is in the legend already
    bool is_aside = false;              ///< of what trained something else: axes are those of the others

    /// Where the curve is at that x, as its line is drawn; of discs the nearest one. None outside its ends.
    std::optional<CurvePoint> at(double x) const {
        const auto& drawn = smooth.empty() ? static_cast<const std::vector<CurvePoint>&>(points) : smooth;
        if (marks) return point_near(drawn, x);
        const auto y = value_at(drawn, x);
        return y ? std::optional(CurvePoint{x, *y}) : std::nullopt;
    }
};

struct CurveChoice {
    std::string metric = "loss";
    WorkAxis x = WorkAxis::iteration;
    double smoothing = 0;     ///< weight of `smoothed`; 0: none
    QStringList groups = {};  ///< a word a run: those of one word are one curve, their mean; none: a curve each
    /// Each curve less the baseline's at the same x, or less the first group's: what lies on each other comes apart.
    bool less_baseline = false;
    bool operator==(const CurveChoice&) const = default;
};

struct CurveSet {
    CurveChoice choice;
    QString x_label, y_label;  ///< with units
    bool x_is_time = false, y_is_time = false;
    std::vector<Curve> curves;        ///< those that have points
    std::vector<double> losses = {};  ///< of one run that is alone: where it lost nodes
};

/// Of these runs, in their own colours; the baseline's is the thick one where there are several. Of losses, validation
/// as discs of the same colour. Groups have the colour of their first run.
CurveSet curve_set(const std::vector<const RunData*>& runs, RunId baseline, const CurveChoice& choice,
                   PointStore& store);

/// A line a point, of all sets: "metric,run,curve,x,value", x as the axis counts it; every point, unsmoothed.
std::string curves_csv(const std::vector<CurveSet>& sets);

}  // namespace skippipe
