// SPDX-License-Identifier: GPL-3.0-or-later
// Runs compared where they had the same of something: microbatches, block FLOPs, network time or machine time. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/accounting.h"

namespace skippipe {

/// What a curve runs over. What was spent when it was measured; `iteration` counts those
/// that were over, as timelines number them.
enum class WorkAxis { iteration, tokens, microbatches, block_flops, network_time, machine_time, money };

/// Those that `compare --at` knows: "microbatches", "flops", "network-time", "machine-time", "money"; "iteration"
/// and "tokens" beside them.
std::string_view to_string(WorkAxis axis);
/// Nothing where there is no axis of that name.
std::optional<WorkAxis> work_axis(std::string_view name);
/// For people: "microbatches", "block FLOPs", "network time"...
std::string_view describe(WorkAxis axis);
/// "3.20 PFLOP", "52.6 s", "1200".
std::string format_work(double x, WorkAxis axis);

struct CurvePoint {
    double x = 0, y = 0;
    bool operator==(const CurvePoint&) const = default;
};

/// The metric of that name over the axis, in the order of x; values that are no numbers are left out. `iteration` gives
/// microbatches, FLOPs and money of one iteration; with nullptr those axes have no points, without prices money has
/// none. Losses of iteration i stand
/// where that iteration ended, validations where they were made.
std::vector<CurvePoint> curve_points(const std::vector<Metric>& metrics, const std::string& name, WorkAxis axis,
                                     const Accounting* iteration = nullptr);

/// Linear between points; none outside the curve's ends.
std::optional<double> value_at(const std::vector<CurvePoint>& curve, double x);

/// Readings that are further apart than this share of their curve's length say nothing of what lies between them: a
/// line from the first to the last of two readings would be taken for a training.
inline constexpr double widest_gap = 0.25;

/// As `value_at`, but none between readings that are further apart than `widest_gap`.
std::optional<double> measured_at(const std::vector<CurvePoint>& curve, double x);

/// Where a curve is first at or below a value: after `after`, its last reading above it (absent: the first one is not),
/// and by `by`, its first one that is not.
struct Arrival {
    std::optional<double> after;
    double by = 0;
    std::optional<double> x;  ///< linear between the two; absent where they are further apart than `widest_gap`
};
/// None: it never is.
std::optional<Arrival> arrival(const std::vector<CurvePoint>& curve, double value);

/// The loss to compare trainings by: "validation_loss", unless one of them has so few readings of it that nothing lies
/// near enough to be told; then "loss", of which each iteration has one.
std::string loss_to_compare(const std::vector<const std::vector<Metric>*>& runs);

/// One run in a view.
struct EqualRun {
    std::optional<double> end_x, last_value;  ///< where its curve ends; absent: it has no points
    std::optional<double>
        value;  ///< at the view's common_x, as `measured_at`; absent where its curve begins later, too
    std::optional<Arrival> reaches;  ///< where it first is at `target` or below
    std::optional<double> share;     ///< reaches->x / the baseline's
};

/// Curves at the largest x that all of them reached, and how far each had to go for the worst one's last value.
struct EqualView {
    std::optional<double> common_x, target;  ///< absent: no curve has points
    std::optional<std::size_t>
        shortest;                ///< the one that ends at common_x while others go on; absent where all end there
    std::vector<EqualRun> runs;  ///< as the curves
};

/// Smaller values are the better ones. `baseline` is an index into `curves`; curves without points are left out of
/// common_x and target.
EqualView equal_view(const std::vector<std::vector<CurvePoint>>& curves, std::size_t baseline = 0);
/// The same of curves that stay where they are; none of them is null.
EqualView equal_view_of(const std::vector<const std::vector<CurvePoint>*>& curves, std::size_t baseline = 0);

nlohmann::ordered_json to_json(const EqualView& view);

}  // namespace skippipe
