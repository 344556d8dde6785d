// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_data.h"

#include <algorithm>
#include <cmath>

namespace skippipe {

std::vector<CurvePoint> curve_points(const std::vector<Metric>& metrics, const std::string& name, CurveX x) {
    std::vector<CurvePoint> points;
    for (const auto& metric : metrics) {
        if (metric.name != name || !std::isfinite(metric.value)) continue;
        double at = metric.iteration;
        if (x == CurveX::tokens) at = static_cast<double>(metric.tokens);
        if (x == CurveX::network_time) at = metric.network_s;
        if (x == CurveX::machine_time) at = metric.machine_s;
        points.push_back({at, metric.value});
    }
    std::stable_sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
    return points;
}

std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, int buckets) {
    if (buckets < 1 || points.size() <= 4 * static_cast<std::size_t>(buckets)) return points;
    const double begin = points.front().x, width = (points.back().x - begin) / buckets;
    if (!(width > 0)) return points;
    std::vector<CurvePoint> kept;
    for (std::size_t i = 0; i < points.size();) {
        const auto bucket = [&](std::size_t k) { return std::min(buckets - 1, static_cast<int>((points[k].x - begin) / width)); };
        const std::size_t first = i;
        std::size_t low = i, high = i;
        for (; i < points.size() && bucket(i) == bucket(first); ++i) {
            if (points[i].y < points[low].y) low = i;
            if (points[i].y > points[high].y) high = i;
        }
        std::size_t chosen[] = {first, std::min(low, high), std::max(low, high), i - 1};
        for (std::size_t n = 0; n < 4; ++n)
            if (n == 0 || chosen[n] != chosen[n - 1]) kept.push_back(points[chosen[n]]);
    }
    return kept;
}

}  // namespace skippipe
