// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_data.h"

#include <algorithm>

#include <QStringList>

#include "views/theme/numbers.h"

namespace skippipe {

namespace {

QString words(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
QString run_name(const RunData& run) { return QObject::tr("run %1").arg(run.info.id); }

/// "Equal iterations, but of 30 and 60 microbatches" where they are not the same.
QString held_equal(const std::vector<RunData>& runs, WorkAxis x) {
    QStringList sizes;
    for (const auto& run : runs)
        if (const QString size = run.iteration ? QString::number(run.iteration->microbatches) : QString{};
            !size.isEmpty() && !sizes.contains(size))
            sizes << size;
    const QString equal = QObject::tr("Equal %1").arg(words(describe(x)));
    if (x != WorkAxis::iteration || sizes.isEmpty()) return equal;
    return sizes.size() == 1 ? QObject::tr("%1 of %2 microbatches each").arg(equal, sizes.front())
                             : QObject::tr("%1, but of %2 microbatches").arg(equal, sizes.join(QObject::tr(" and ")));
}

}  // namespace

std::vector<CurvePoint> curve_points(const RunData& run, const std::string& name, WorkAxis x) {
    return curve_points(run.metrics, name, x, run.iteration ? &*run.iteration : nullptr);
}

QString equal_words(const std::vector<RunData>& runs, RunId baseline, const std::string& metric, WorkAxis x) {
    if (runs.size() < 2) return {};
    QString text = held_equal(runs, x) + '.';
    if (metric != "loss" && metric != "validation_loss" && metric != "bits_per_byte") return text;
    std::vector<std::vector<CurvePoint>> curves;
    std::size_t base = 0;
    for (const auto& run : runs) {
        if (run.info.id == baseline) base = curves.size();
        curves.push_back(curve_points(run, metric, x));
    }
    const auto view = equal_view(curves, base);
    if (!view.common_x) return text;
    const QString at = words(format_work(*view.common_x, x));
    QStringList values, reached;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& run = view.runs[i];
        if (run.value) values << QStringLiteral("%1 %2").arg(run_name(runs[i]), three_digits(*run.value));
        if (run.share && i != base)
            reached << QObject::tr("%1 needs %2 × what %3 needs")
                           .arg(run_name(runs[i]), three_digits(*run.share), run_name(runs[base]));
    }
    text += ' ' + (x == WorkAxis::iteration ? QObject::tr("At iteration %1").arg(at) : QObject::tr("At %1").arg(at));
    if (view.shortest) text += QObject::tr(", where %1 ends").arg(run_name(runs[*view.shortest]));
    text += ": " + values.join(", ") + '.';
    if (!reached.isEmpty())
        text += ' ' + QObject::tr("To reach %1, %2.").arg(three_digits(*view.target), reached.join(", "));
    return text;
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

}  // namespace skippipe
