// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/race_rows.h"

#include <QObject>

#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr double likely_by_chance = 0.05;

QString work_words(double x, WorkAxis axis) { return QString::fromStdString(format_work(x, axis)); }

template <class Words>
QString spread_words(const Spread& spread, const Words& words) {
    if (!spread.mean) return QObject::tr("not reached");
    return spread.deviation ? QObject::tr("%1 ± %2").arg(words(*spread.mean), words(*spread.deviation))
                            : words(*spread.mean);
}

Verdict verdict_of(const Spread& spread) {
    if (!spread.share || *spread.share == 1 || (spread.p && *spread.p >= likely_by_chance)) return Verdict::none;
    return *spread.share < 1 ? Verdict::better : Verdict::worse;
}

/// The number of each run's group, and the groups' words, as they come.
std::pair<std::vector<std::size_t>, QStringList> group_numbers(const QStringList& groups) {
    std::pair<std::vector<std::size_t>, QStringList> found;
    for (const auto& word : groups) {
        if (!found.second.contains(word)) found.second << word;
        found.first.push_back(static_cast<std::size_t>(found.second.indexOf(word)));
    }
    return found;
}

}  // namespace

RaceTable race_table(const std::vector<RunData>& runs, const RaceChoice& choice) {
    RaceTable table;
    if (runs.empty() || choice.groups.size() != static_cast<qsizetype>(runs.size())) return table;
    std::vector<std::vector<CurvePoint>> curves;
    for (const auto& run : runs) curves.push_back(curve_points(run, choice.metric, choice.x));
    const auto [group_of, names] = group_numbers(choice.groups);
    const auto race = loss_race(curves, group_of, 0, choice.target);
    if (!race.common_x) return table;
    table.target = race.target;
    const QString loss = three_digits(*race.target), at = work_words(*race.common_x, choice.x);
    const auto axis_words = describe(choice.x);
    const QString axis = QString::fromUtf8(axis_words.data(), static_cast<qsizetype>(axis_words.size()));
    table.headers = {QObject::tr("Runs"),       QObject::tr("Got there"), QObject::tr("To %1").arg(loss),
                     QObject::tr("× baseline"), QObject::tr("p"),         QObject::tr("Loss at %1").arg(at),
                     QObject::tr("Change"),     QObject::tr("p")};
    for (std::size_t g = 0; g < race.groups.size(); ++g) {
        const auto& [members, reach, value] = race.groups[g];
        const auto apart =
            value.mean && race.groups[0].at_common.mean ? *value.mean - *race.groups[0].at_common.mean : 0;
        const bool first = g == 0;
        table.rows.push_back(
            {{names[static_cast<qsizetype>(g)]},
             {QObject::tr("%1 of %2").arg(reach.values.size()).arg(members.size())},
             {spread_words(reach, [&](double x) { return work_words(x, choice.x); }), verdict_of(reach)},
             {first || !reach.share ? QString{} : three_digits(*reach.share), verdict_of(reach)},
             {chance_words(reach.p)},
             {value.mean ? spread_words(value, [](double y) { return three_digits(y); }) : QString{},
              verdict_of(value)},
             {first || !value.share
                  ? QString{}
                  : (apart < 0 ? QString::fromUtf8("−") : QStringLiteral("+")) + three_digits(std::abs(apart)),
              verdict_of(value)},
             {chance_words(value.p)}});
    }
    table.words = QObject::tr(
                      "At equal %1: what each needs to reach %2, and its loss at %3. Mean ± deviation over the "
                      "runs of a row; p: Welch's test against the first row, from two runs a side on.")
                      .arg(axis, loss, at);
    return table;
}

}  // namespace skippipe
