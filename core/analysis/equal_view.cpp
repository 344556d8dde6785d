// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/equal_view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/format.h"

namespace skippipe {
namespace {

struct AxisWords {
    WorkAxis axis;
    const char *name, *words;
};
constexpr std::array axes{AxisWords{WorkAxis::iteration, "iteration", "iterations"},
                          AxisWords{WorkAxis::tokens, "tokens", "tokens"},
                          AxisWords{WorkAxis::microbatches, "microbatches", "microbatches"},
                          AxisWords{WorkAxis::block_flops, "flops", "block FLOPs"},
                          AxisWords{WorkAxis::network_time, "network-time", "network time"},
                          AxisWords{WorkAxis::machine_time, "machine-time", "machine time"},
                          AxisWords{WorkAxis::money, "money", "money"}};

/// Iterations that were over when it was measured: a validation carries that count, all else the iteration's own
/// number, from 0.
double iterations_over(const Metric& metric) {
    return metric.iteration + (metric.name == "validation_loss" || metric.name == "bits_per_byte" ? 0 : 1);
}

double work_at(const Metric& metric, WorkAxis axis, const Accounting* iteration) {
    const auto before = iteration != nullptr ? iteration->before.value_or(WorkBefore{}) : WorkBefore{};
    const double own = iterations_over(metric) - before.iterations;
    switch (axis) {
        case WorkAxis::iteration: return iterations_over(metric);
        case WorkAxis::tokens: return static_cast<double>(metric.tokens);
        case WorkAxis::microbatches: return before.microbatches + own * static_cast<double>(iteration->microbatches);
        case WorkAxis::block_flops: return before.block_flops + own * iteration->block_flops();
        case WorkAxis::network_time: return metric.network_s;
        case WorkAxis::machine_time: return metric.machine_s;
        case WorkAxis::money: return before.money.value_or(0) + own * *iteration->money;
    }
    return 0;
}

/// Whether it is known what iterations took on that axis.
bool is_counted(WorkAxis axis, const Accounting* iteration) {
    if (axis != WorkAxis::microbatches && axis != WorkAxis::block_flops && axis != WorkAxis::money) return true;
    if (iteration == nullptr || (iteration->before && !iteration->before->is_known)) return false;
    return axis != WorkAxis::money || (iteration->money && (!iteration->before || iteration->before->money));
}

double between(const CurvePoint& a, const CurvePoint& b, double x) {
    return b.x > a.x ? a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x) : b.y;
}

bool are_near(const std::vector<CurvePoint>& curve, const CurvePoint& a, const CurvePoint& b) {
    const double length = curve.back().x - curve.front().x;
    return b.x - a.x <= widest_gap * length * (1 + 1e-9);
}

nlohmann::ordered_json number(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

std::optional<double> value_at(const std::vector<CurvePoint>& curve, double x) {
    if (curve.empty() || x < curve.front().x || x > curve.back().x) return std::nullopt;
    const auto after =
        std::upper_bound(curve.begin(), curve.end(), x, [](double at, const CurvePoint& p) { return at < p.x; });
    return after == curve.end() ? curve.back().y : between(*std::prev(after), *after, x);
}

std::optional<double> measured_at(const std::vector<CurvePoint>& curve, double x) {
    const auto value = value_at(curve, x);
    if (!value) return value;
    const auto after =
        std::upper_bound(curve.begin(), curve.end(), x, [](double at, const CurvePoint& p) { return at < p.x; });
    const auto& before = *std::prev(after);
    if (after == curve.end() || are_near(curve, before, *after)) return value;
    // Sums of the same times may be rounded apart.
    const double rounding = 1e-12 * (std::abs(before.x) + std::abs(after->x));
    return x - before.x <= rounding || after->x - x <= rounding ? value : std::nullopt;
}

std::optional<Arrival> arrival(const std::vector<CurvePoint>& curve, double value) {
    const auto found = std::find_if(curve.begin(), curve.end(), [value](const CurvePoint& p) { return p.y <= value; });
    if (found == curve.end()) return std::nullopt;
    if (found == curve.begin()) return Arrival{{}, found->x, found->x};
    const auto& before = *std::prev(found);
    Arrival arrival{before.x, found->x, {}};
    if (found->y == value)
        arrival.x = found->x;
    else if (are_near(curve, before, *found))
        arrival.x = before.x + (found->x - before.x) * (before.y - value) / (before.y - found->y);
    return arrival;
}

std::string_view to_string(WorkAxis axis) { return axes[static_cast<std::size_t>(axis)].name; }

std::string_view describe(WorkAxis axis) { return axes[static_cast<std::size_t>(axis)].words; }

std::optional<WorkAxis> work_axis(std::string_view name) {
    const auto found =
        std::find_if(axes.begin(), axes.end(), [name](const AxisWords& words) { return name == words.name; });
    return found == axes.end() ? std::nullopt : std::optional{found->axis};
}

std::string format_work(double x, WorkAxis axis) {
    if (axis == WorkAxis::network_time || axis == WorkAxis::machine_time) return format_seconds(x);
    return axis == WorkAxis::block_flops ? format_si(x, "FLOP")
           : axis == WorkAxis::tokens    ? format_si(x, "")
           : axis == WorkAxis::money     ? fmt::format("{:.3g}", x)
                                         : fmt::format("{:.0f}", x);
}

std::vector<CurvePoint> curve_points(const std::vector<Metric>& metrics, const std::string& name, WorkAxis axis,
                                     const Accounting* iteration) {
    std::vector<CurvePoint> points;
    if (!is_counted(axis, iteration)) return points;
    for (const auto& metric : metrics)
        if (metric.name == name && std::isfinite(metric.value))
            points.push_back({work_at(metric, axis, iteration), metric.value});
    const auto before = [](const CurvePoint& a, const CurvePoint& b) { return a.x < b.x; };
    if (!std::is_sorted(points.begin(), points.end(), before)) std::stable_sort(points.begin(), points.end(), before);
    return points;
}

std::string loss_to_compare(const std::vector<const std::vector<Metric>*>& runs) {
    const auto readings = [](const std::vector<Metric>& metrics, const char* name) {
        return std::count_if(metrics.begin(), metrics.end(), [name](const Metric& one) { return one.name == name; });
    };
    const auto fewest = [&](const char* name) {
        std::ptrdiff_t least = runs.empty() ? 0 : std::numeric_limits<std::ptrdiff_t>::max();
        for (const auto* metrics : runs) least = std::min<std::ptrdiff_t>(least, readings(*metrics, name));
        return least;
    };
    constexpr auto needed = static_cast<std::ptrdiff_t>(1 / widest_gap) + 1;
    const auto validations = fewest("validation_loss");
    return validations < needed && fewest("loss") > validations ? "loss" : "validation_loss";
}

EqualView equal_view(const std::vector<std::vector<CurvePoint>>& curves, std::size_t baseline) {
    std::vector<const std::vector<CurvePoint>*> there;
    there.reserve(curves.size());
    for (const auto& curve : curves) there.push_back(&curve);
    return equal_view_of(there, baseline);
}

EqualView equal_view_of(const std::vector<const std::vector<CurvePoint>*>& curves, std::size_t baseline) {
    EqualView view;
    view.runs.resize(curves.size());
    double furthest = 0;
    for (std::size_t i = 0; i < curves.size(); ++i) {
        if (curves[i]->empty()) continue;
        const auto& end = curves[i]->back();
        view.runs[i].end_x = end.x;
        view.runs[i].last_value = end.y;
        view.target = view.target ? std::max(*view.target, end.y) : end.y;
        furthest = view.common_x ? std::max(furthest, end.x) : end.x;
        if (!view.common_x || end.x < *view.common_x) {
            view.common_x = end.x;
            view.shortest = i;
        }
    }
    if (!view.common_x) return view;
    if (furthest <= *view.common_x * (1 + 1e-12)) view.shortest.reset();  // sums of the same times, rounded apart
    for (std::size_t i = 0; i < curves.size(); ++i) {
        view.runs[i].value = measured_at(*curves[i], *view.common_x);
        view.runs[i].reaches = arrival(*curves[i], *view.target);
    }
    const auto reaches_x = [](const EqualRun& run) { return run.reaches ? run.reaches->x : std::nullopt; };
    const double base = baseline < curves.size() ? reaches_x(view.runs[baseline]).value_or(0) : 0;
    for (auto& run : view.runs)
        if (const auto x = reaches_x(run); base > 0 && x) run.share = *x / base;
    return view;
}

nlohmann::ordered_json to_json(const EqualView& view) {
    nlohmann::ordered_json json{
        {"common_x", number(view.common_x)},
        {"target", number(view.target)},
        {"shortest", view.shortest ? nlohmann::ordered_json(*view.shortest) : nlohmann::ordered_json(nullptr)},
        {"runs", nlohmann::ordered_json::array()}};
    for (const auto& run : view.runs)
        json["runs"].push_back({{"value", number(run.value)},
                                {"last_value", number(run.last_value)},
                                {"end_x", number(run.end_x)},
                                {"reaches_target_x", number(run.reaches ? run.reaches->x : std::nullopt)},
                                {"above_target_until_x", number(run.reaches ? run.reaches->after : std::nullopt)},
                                {"at_target_by_x", number(run.reaches ? std::optional{run.reaches->by} : std::nullopt)},
                                {"share_of_baseline", number(run.share)}});
    return json;
}

}  // namespace skippipe
