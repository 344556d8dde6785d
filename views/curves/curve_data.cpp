// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_data.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <QMap>
#include <QObject>
#include <QSet>
#include <QStringList>

#include "views/runs/parameters.h"
#include "views/theme/numbers.h"

namespace skippipe {

namespace {

/// Runs of the same words whose details differ are of different ones: "memory of 12 nodes 4 to 6 (2)".
void tell_apart(QStringList& words, const QStringList& details) {
    QMap<QString, QStringList> known;  // of the same words
    for (qsizetype i = 0; i < details.size(); ++i) {
        auto& same = known[words[i]];
        if (!same.contains(details[i])) same << details[i];
        if (const auto place = same.indexOf(details[i]); place > 0) words[i] += QStringLiteral(" (%1)").arg(place + 1);
    }
}

/// Linear between points; x within the curve, and not below that of the call before: `at` goes along with it.
double walk_to(const std::vector<CurvePoint>& curve, double x, std::size_t& at) {
    while (at + 1 < curve.size() && curve[at + 1].x <= x) ++at;
    if (at + 1 == curve.size() || x <= curve[at].x) return curve[at].y;
    const auto &a = curve[at], &b = curve[at + 1];
    return a.y + (b.y - a.y) * (x - a.x) / (b.x - a.x);
}

}  // namespace

std::span<const CurveMetric> curve_metrics() {
    static constexpr CurveMetric metrics[] = {
        {"loss", "Loss, with validation", "Loss (nats a token)"},
        {"perplexity", "Perplexity", "Perplexity"},
        {"validation_loss", "Validation loss", "Validation loss (nats a token)"},
        {"bits_per_byte", "Bits per byte", "Validation loss (bits a byte)"},
        {"gradient_norm", "Gradient norm", "Gradient norm"},
        {"tokens_per_second", "Training speed", "Speed of this machine (tokens/s)"},
        {"iteration_s", "Iteration time", "Iteration"},
        {"idle_share", "Idle share", "Idle share of nodes' time (%)"},
        {"bytes_sent", "Bytes sent", "Bytes sent"}};
    return metrics;
}

namespace {

/// A fork's with those of the run that it began in.
double bytes_until(int iterations, const Accounting& iteration) {
    const auto before = iteration.before.value_or(WorkBefore{});
    return before.bytes + (iterations - before.iterations) * iteration.bytes();
}

}  // namespace

std::vector<CurvePoint> curve_points(const RunData& run, const std::string& name, WorkAxis x) {
    const auto* iteration = run.iteration ? &*run.iteration : nullptr;
    if (name == "perplexity") {
        auto points = curve_points(run.metrics, "loss", x, iteration);
        for (auto& point : points) point.y = std::exp(point.y);
        return points;
    }
    if (name != "idle_share" && name != "bytes_sent") return curve_points(run.metrics, name, x, iteration);
    std::vector<Metric> made;
    for (const auto& metric : run.metrics) {
        if (metric.name != "iteration_s") continue;
        made.push_back(metric);
        made.back().name = name;
        const auto idle = run.idle_of_iteration.find(metric.iteration);
        if (name == "bytes_sent" && iteration != nullptr && (!iteration->before || iteration->before->is_known))
            made.back().value = bytes_until(metric.iteration + 1, *iteration);
        else if (name == "idle_share" && idle != run.idle_of_iteration.end())
            made.back().value = 100 * idle->second;
        else
            made.pop_back();
    }
    return curve_points(made, name, x, iteration);
}

std::vector<CurvePoint> downsample(const std::vector<CurvePoint>& points, int buckets) {
    if (buckets < 1 || points.size() <= 4 * static_cast<std::size_t>(buckets)) return points;
    const double begin = points.front().x, width = (points.back().x - begin) / buckets;
    if (!(width > 0)) return points;
    std::vector<CurvePoint> kept;
    for (std::size_t i = 0; i < points.size();) {
        const auto bucket = [&](std::size_t k) {
            return std::min(buckets - 1, static_cast<int>((points[k].x - begin) / width));
        };
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

std::vector<CurvePoint> smoothed(const std::vector<CurvePoint>& points, double weight) {
    std::vector<CurvePoint> smooth = points;
    double sum = 0, weights = 0;
    for (auto& point : smooth) {
        sum = weight * sum + (1 - weight) * point.y;
        weights = weight * weights + (1 - weight);
        point.y = sum / weights;
    }
    return smooth;
}

std::optional<CurvePoint> point_near(const std::vector<CurvePoint>& points, double x) {
    if (points.empty() || !(x >= points.front().x && x <= points.back().x)) return std::nullopt;
    const auto after =
        std::lower_bound(points.begin(), points.end(), x, [](const CurvePoint& p, double at) { return p.x < at; });
    if (after == points.begin()) return *after;
    return after->x - x < x - std::prev(after)->x ? *after : *std::prev(after);
}

std::vector<Grouping> groupings(const std::vector<const RunData*>& runs) {
    std::vector<Grouping> found;
    if (runs.size() < 2) return found;
    found.push_back({QObject::tr("All runs"), QStringList(static_cast<qsizetype>(runs.size()), QObject::tr("All"))});
    if (const auto own = seed_groups(runs); QSet<QString>(own.begin(), own.end()).size() > 1)
        found.push_back({QObject::tr("All but seed"), own});
    for (const auto& parameter : folded(differing(runs))) {
        if (parameter.pointer.ends_with("/seed")) continue;
        Grouping grouping{parameter.name, {}};
        const QString last = in_sentence(parameter.name);
        for (const auto& value : parameter.values) grouping.keys << last + ' ' + value;
        tell_apart(grouping.keys, parameter.details);
        found.push_back(std::move(grouping));
    }
    return found;
}

QStringList seed_groups(const std::vector<const RunData*>& runs) {
    const auto is_label = [](const Parameter& p) { return p.pointer == "/name" || p.pointer == "/description"; };
    auto parameters = folded(differing(runs));
    std::erase_if(parameters, [](const Parameter& p) { return p.pointer.ends_with("/seed"); });
    // What runs are called tells them apart only where nothing else does.
    if (!std::all_of(parameters.begin(), parameters.end(), is_label)) std::erase_if(parameters, is_label);
    QStringList words(static_cast<qsizetype>(runs.size()));
    for (const auto& parameter : parameters) {
        const QString last = in_sentence(parameter.name);
        for (qsizetype i = 0; i < words.size(); ++i)
            words[i] += (words[i].isEmpty() ? QString{} : QStringLiteral(", ")) + last + ' ' + parameter.values[i];
    }
    for (auto& word : words)
        if (word.isEmpty()) word = QObject::tr("All");
    QStringList details = words;
    for (const auto& parameter : parameters)
        for (qsizetype i = 0; i < parameter.details.size(); ++i) details[i] += '\n' + parameter.details[i];
    tell_apart(words, details);
    return words;
}

MeanBand mean_band(const std::vector<std::vector<CurvePoint>>& all) {
    std::vector<const std::vector<CurvePoint>*> curves;
    double begin = -std::numeric_limits<double>::infinity(), end = -begin;
    std::vector<double> places;
    for (const auto& curve : all) {
        if (curve.empty()) continue;
        curves.push_back(&curve);
        begin = std::max(begin, curve.front().x);
        end = std::min(end, curve.back().x);
        for (const auto& point : curve) places.push_back(point.x);
    }
    std::erase_if(places, [&](double x) { return x < begin || x > end; });
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    std::vector<std::size_t> at(curves.size());
    MeanBand band;
    for (const double x : places) {
        double sum = 0, least = std::numeric_limits<double>::infinity(), most = -least;
        for (std::size_t c = 0; c < curves.size(); ++c) {
            const double y = walk_to(*curves[c], x, at[c]);
            sum += y;
            least = std::min(least, y);
            most = std::max(most, y);
        }
        band.mean.push_back({x, sum / static_cast<double>(curves.size())});
        band.low.push_back({x, least});
        band.high.push_back({x, most});
    }
    return band;
}

WorkAxis usual_axis(const std::vector<const RunData*>& runs) {
    constexpr double alike = 1.1;
    double least = 1e300, most = 0;
    for (const auto* run : runs)
        if (run->info.iteration_s) {
            least = std::min(least, *run->info.iteration_s);
            most = std::max(most, *run->info.iteration_s);
        }
    return most > alike * least ? WorkAxis::network_time : WorkAxis::iteration;
}

}  // namespace skippipe
