// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_set.h"

#include <algorithm>

#include <QObject>

#include <fmt/format.h>

#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/same_work.h"
#include "views/theme/flow_key.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double thin_line = 1.75;
constexpr double thick_line = 4;  ///< the baseline's: its rim is seen where another lies on it

/// Of one run; of several the axis says what discs are, since each run's colour is named beside its line.
QString validation_words() { return QObject::tr("Validation"); }

void add_curve(CurveSet& set, const RunData& run, const std::string& metric, const QString& name, const QPen& pen,
               bool marks, PointStore& store) {
    const SharedPoints& points = store.points(run, metric, set.choice.x);
    if (points.empty()) return;
    Curve curve{.run = run.info.id, .name = name, .pen = pen, .points = points, .marks = marks};
    curve.in_legend = !marks || name == validation_words();
    if (set.choice.smoothing > 0 && !marks) curve.smooth = smoothed(curve.points, set.choice.smoothing);
    set.curves.push_back(std::move(curve));
}

/// It steps back, as its name does in the key, in its own hue.
void set_aside(Curve& curve) {
    curve.is_aside = true;
    curve.pen.setColor(mix(theme().surface, curve.pen.color(), FlowKey::faint));
}

/// "1, 3": so many that they have room at a curve's end.
QString few_of(const QStringList& numbers) {
    constexpr qsizetype most = 3;
    return numbers.mid(0, most).join(QStringLiteral(", ")) +
           (numbers.size() > most ? QString::fromUtf8(", …") : QString{});
}

/// A curve a group: the mean of its runs, and between which values they lie.
void add_groups(CurveSet& set, const std::vector<const RunData*>& runs, const std::vector<bool>& held,
                const QStringList& groups, RunId baseline, PointStore& store) {
    QStringList told;
    for (std::size_t first = 0; first < runs.size(); ++first) {
        const QString& word = groups[static_cast<qsizetype>(first)];
        if (told.contains(word)) continue;
        told << word;
        std::vector<std::vector<CurvePoint>> curves;
        QStringList numbers;
        bool has_baseline = false, is_aside = true;
        for (std::size_t i = first; i < runs.size(); ++i) {
            if (groups[static_cast<qsizetype>(i)] != word) continue;
            const auto& points = store.points(*runs[i], set.choice.metric, set.choice.x);
            if (points.empty()) continue;
            curves.push_back(points);
            numbers << QString::number(runs[i]->info.id);
            has_baseline = has_baseline || runs[i]->info.id == baseline;
            is_aside = is_aside && !held[i];
        }
        auto band = mean_band(curves);
        if (band.mean.empty()) continue;
        const RunId run = runs[first]->info.id;
        const auto count = static_cast<int>(curves.size());
        Curve curve{
            .run = run,
            .name = count == 1 ? QObject::tr("%1, 1 run").arg(word) : QObject::tr("%1, %2 runs").arg(word).arg(count)};
        curve.pen = run_pen(run, has_baseline && groups.count(word) < groups.size() ? thick_line : thin_line);
        curve.runs = few_of(numbers);
        if (is_aside) set_aside(curve);
        if (set.choice.smoothing > 0) curve.smooth = smoothed(band.mean, set.choice.smoothing);
        curve.points = std::move(band.mean);
        curve.low = std::move(band.low);
        curve.high = std::move(band.high);
        set.curves.push_back(std::move(curve));
    }
}

/// Which runs trained what the baseline did, or the first.
std::vector<bool> held_to(const std::vector<const RunData*>& runs, RunId baseline) {
    if (runs.empty()) return {};
    const auto base = std::find_if(runs.begin(), runs.end(), [&](const RunData* r) { return r->info.id == baseline; });
    return held_against(runs, base == runs.end() ? 0 : static_cast<std::size_t>(base - runs.begin()));
}

/// A field of CSV: in quotes where it must be.
std::string csv_field(const QString& text) {
    std::string field = text.toStdString();
    if (field.find_first_of(",\"\n") == std::string::npos) return field;
    std::string quoted = "\"";
    for (const char c : field) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

/// Where the baseline has a value at their x, linear between its points.
std::vector<CurvePoint> less(const std::vector<CurvePoint>& points, const std::vector<CurvePoint>& baseline) {
    std::vector<CurvePoint> left;
    for (const auto& point : points)
        if (const auto base = value_at(baseline, point.x)) left.push_back({point.x, point.y - *base});
    return left;
}

/// Lines less the baseline's line, discs less its discs.
void hold_against(CurveSet& set, RunId baseline) {
    const auto all = set.curves;
    const Curve none;
    if (std::none_of(all.begin(), all.end(), [&](const Curve& c) { return c.run == baseline; }) && !all.empty())
        baseline = all.front().run;
    for (auto& curve : set.curves) {
        const auto base = std::find_if(all.begin(), all.end(),
                                       [&](const Curve& c) { return c.run == baseline && c.marks == curve.marks; });
        const Curve& from = base == all.end() ? none : *base;
        curve.points = less(curve.points, from.points);
        for (auto* points : {&curve.low, &curve.high}) *points = less(*points, from.points);
        curve.smooth = less(curve.smooth, from.smooth);
    }
    std::erase_if(set.curves, [](const Curve& curve) { return curve.points.empty(); });
    const QString quantity = set.y_label.section("; ", 0, 0);
    set.y_label = QObject::tr("%1, less the baseline's").arg(quantity) + set.y_label.mid(quantity.size());
}

}  // namespace

CurveSet curve_set(const std::vector<const RunData*>& runs, RunId baseline, const CurveChoice& choice,
                   PointStore& store) {
    CurveSet set;
    set.choice = choice;
    const RunClock clock = clock_of(runs);
    const auto held = held_to(runs, baseline);
    set.x_label = axis_label(choice.x, clock);
    set.x_is_time = choice.x == WorkAxis::network_time || choice.x == WorkAxis::machine_time;
    set.y_is_time = choice.metric == "iteration_s";
    for (const auto& metric : curve_metrics())
        if (choice.metric == metric.name) set.y_label = QObject::tr(metric.label);
    if (set.y_is_time) set.y_label = QObject::tr("Iteration, %1").arg(in_sentence(time_name(clock)));
    if (choice.groups.size() == static_cast<qsizetype>(runs.size()) && !runs.empty()) {
        add_groups(set, runs, held, choice.groups, baseline, store);
        if (choice.less_baseline) hold_against(set, baseline);
        return set;
    }
    const bool several = runs.size() > 1;
    if (several && choice.metric == "loss") set.y_label += QObject::tr("; ○ validation");
    const QStringList apart = told_apart(runs);
    for (qsizetype i = 0; i < apart.size(); ++i) {
        const RunData& run = *runs[static_cast<std::size_t>(i)];
        const QPen pen = run_pen(run.info.id, several && run.info.id == baseline ? thick_line : thin_line);
        const QString name = QObject::tr("Run %1, %2").arg(run.info.id).arg(apart[i]);
        const bool validated = choice.metric == "loss";
        add_curve(set, run, choice.metric, several || !validated ? name : QObject::tr("Training"), pen, false, store);
        if (validated)
            add_curve(set, run, "validation_loss",
                      several ? QObject::tr("Run %1, validation").arg(run.info.id) : validation_words(), pen, true,
                      store);
    }
    for (auto& curve : set.curves)
        for (std::size_t i = 0; i < runs.size(); ++i)
            if (runs[i]->info.id == curve.run && !held[i]) set_aside(curve);
    if (several && choice.less_baseline) hold_against(set, baseline);
    if (runs.size() == 1)
        for (const auto& lost :
             static_cast<const std::vector<CurvePoint>&>(store.points(*runs[0], "nodes_lost", choice.x)))
            if (lost.y > 0) set.losses.push_back(lost.x);  // 0: some came back
    return set;
}

std::string curves_csv(const std::vector<CurveSet>& sets) {
    std::string text = "metric,run,curve,x,value\n";
    for (const auto& set : sets)
        for (const auto& curve : set.curves)
            for (const auto& point : curve.points)
                text += fmt::format("{},{},{},{},{}\n", set.choice.metric, curve.run, csv_field(curve.name), point.x,
                                    point.y);
    return text;
}

}  // namespace skippipe
