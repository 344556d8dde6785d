// SPDX-License-Identifier: GPL-3.0-or-later
// Curves as points; no widget.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <QStringList>

#include "core/analysis/equal_view.h"
#include "views/runs/run_data.h"
#include "views/runs/run_marks.h"

namespace skippipe {

/// Points that do not change any more; copies are the same points.
class SharedPoints {
public:
    SharedPoints() : SharedPoints(std::vector<CurvePoint>{}) {}
    SharedPoints(std::vector<CurvePoint> points)  // NOLINT(google-explicit-constructor): what was worked out
        : all_(std::make_shared<const std::vector<CurvePoint>>(std::move(points))) {}
    operator const std::vector<CurvePoint>&() const { return *all_; }  // NOLINT(google-explicit-constructor)

    bool empty() const { return all_->empty(); }
    std::size_t size() const { return all_->size(); }
    auto begin() const { return all_->begin(); }
    auto end() const { return all_->end(); }
    const CurvePoint& front() const { return all_->front(); }
    const CurvePoint& back() const { return all_->back(); }
    const CurvePoint& operator[](std::size_t i) const { return (*all_)[i]; }
    const CurvePoint& at(std::size_t i) const { return all_->at(i); }
    /// Whether they are the same points, not only equal ones.
    bool is_same(const SharedPoints& other) const { return all_ == other.all_; }

private:
    std::shared_ptr<const std::vector<CurvePoint>> all_;
};

/// What a chart can show.
struct CurveMetric {
    const char* name;   ///< as in the record, or one that follows from those
    const char* words;  ///< in a menu
    const char* label;  ///< of the vertical axis: the quantity, and in brackets the unit that its figures leave out
};
std::span<const CurveMetric> curve_metrics();

/// What runs are held against each other by where nobody chose: the network's time where their iterations differ by
/// more than a tenth, as equal iterations are then not equal time; else iterations.
WorkAxis usual_axis(const std::vector<const RunData*>& runs);
/// The metric of that name of a run. Besides those recorded: "perplexity" (e to the loss), "idle_share" (of the nodes'
/// time, iterations explained) and "bytes_sent" (over lines, so far, as the plan has them).
std::vector<CurvePoint> curve_points(const RunData& run, const std::string& name, WorkAxis x);
/// At most four points a bucket of x: first, lowest, highest and last, so that no spike is lost. Few points stay as
/// they are.
std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, int buckets);

/// A mean over the points before and at each, exponentially weighted: the one before counts `weight` (0 to below 1)
/// times as much. The first ones are not drawn towards 0.
std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points, double weight);
/// A way to put runs together: those of the same words are one group.
struct Grouping {
    QString name;      ///< of the parameter: "pipeline, skip ratio"
    QStringList keys;  ///< one a run: "skip ratio 0.25"
};

/// All together, by all that differs but the seed, then by each parameter that differs, seeds left out; none for fewer
/// than two runs.
std::vector<Grouping> groupings(const std::vector<const RunData*>& runs);

/// A word a run: those that differ in nothing but their seed have the same one. "skip ratio 0.25, planner gpipe"; where
/// nothing else differs, "All".
QStringList seed_groups(const std::vector<const RunData*>& runs);

struct MeanBand {
    std::vector<CurvePoint> mean, low, high;  ///< of the same x
    bool operator==(const MeanBand&) const = default;
};
/// Where all curves that have points are, at every x that one of them has: mean, least and most, linear between
/// points.
MeanBand mean_band(const std::vector<std::vector<CurvePoint>>& curves);

/// The point that is nearest in x; none outside the curve's ends.
std::optional<CurvePoint> point_near(const std::vector<CurvePoint>& points, double x);

}  // namespace skippipe
