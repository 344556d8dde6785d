// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/race_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include <QObject>

#include "core/analysis/ranking.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/same_work.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

QString work_words(double x, WorkAxis axis) { return QString::fromStdString(format_work(x, axis)); }

bool is_time(WorkAxis axis) { return axis == WorkAxis::network_time || axis == WorkAxis::machine_time; }

template <class Words>
QString spread_words(const Spread& spread, const Words& words) {
    return spread.deviation ? mean_and_deviation(*spread.mean, *spread.deviation, words)
                            : words(*spread.mean, *spread.mean);
}

/// `may_be_chance`: where no test says whether it is.
Verdict verdict_of(const Spread& spread, bool may_be_chance) {
    if (!spread.share || *spread.share == 1 || (spread.p ? *spread.p >= significant_p : may_be_chance))
        return Verdict::none;
    return *spread.share < 1 ? Verdict::better : Verdict::worse;
}

/// "35.3 s ± 1.2 s"; "by 40 s", where readings are too far apart to say when.
QString arrival_words(const RaceGroup& group, WorkAxis axis) {
    if (!group.by) return QObject::tr("not reached");
    if (group.to_target.values.size() < group.there) return QObject::tr("by %1").arg(work_words(*group.by, axis));
    return spread_words(group.to_target, [axis](double x, double beside) {
        return is_time(axis) && x != beside ? duration_beside(x, beside) : work_words(x, axis);
    });
}

QString common_words(const RaceGroup& group) {
    if (!group.is_whole(group.at_common)) return QObject::tr("not measured");
    return spread_words(group.at_common, [](double y, double) { return three_digits(y); });
}

/// What the table cannot tell, and why.
QString unknown_words(const LossRace& race) {
    std::size_t readings = 0;
    bool is_any = false;
    for (const auto& group : race.groups) {
        if (group.to_target.values.size() == group.there && group.is_whole(group.at_common)) continue;
        readings = is_any ? std::min(readings, group.readings) : group.readings;
        is_any = true;
    }
    return is_any ? QObject::tr(
                        " Where readings are more than a quarter of a run apart (there are %1 in one of them), "
                        "nothing is said of what lies between: “by” is when a loss was first seen.")
                        .arg(readings)
                  : QString{};
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

/// "runs 1 and 3".
QString numbers_of(const std::vector<const RunData*>& runs, const RaceGroup& group) {
    std::vector<RunId> ids;
    ids.reserve(group.runs.size());
    for (const std::size_t run : group.runs) ids.push_back(runs[run]->info.id);
    return run_numbers(ids);
}

/// "Change to run 1": a group of a few is named.
QString against_words(const std::vector<const RunData*>& runs, const RaceGroup& baseline) {
    constexpr std::size_t most_named = 3;
    return baseline.runs.size() <= most_named ? QObject::tr("Change\nto %1").arg(numbers_of(runs, baseline))
                                              : QObject::tr("Change to\nthe first row");
}

/// "Runs 1 and 3 reach 2.82 first, after 18.5 s; run 4: 1.74 x, run 2: 5.68 x", of groups that all got there.
QString finding_words(const std::vector<const RunData*>& runs, const LossRace& race, WorkAxis axis) {
    constexpr std::size_t most_named = 3;
    std::vector<const RaceGroup*> there;
    for (const auto& group : race.groups)
        if (group.is_whole(group.to_target)) there.push_back(&group);
    if (race.groups.size() < 2 || there.size() != race.groups.size()) return {};
    std::stable_sort(there.begin(), there.end(),
                     [](const auto* a, const auto* b) { return *a->to_target.mean < *b->to_target.mean; });
    const double first = *there.front()->to_target.mean;
    if (!(first > 0)) return {};
    QStringList others;
    std::vector<RunId> firsts;  // with those that take as long: a tie is won by nobody alone
    std::size_t next = 0;
    for (; next < there.size() && *there[next]->to_target.mean < as_long * first; ++next)
        for (const std::size_t run : there[next]->runs) firsts.push_back(runs[run]->info.id);
    std::sort(firsts.begin(), firsts.end());
    for (std::size_t k = next; k < std::min(there.size(), next + most_named); ++k)
        others << QObject::tr("%1: %2\u00A0×")
                      .arg(numbers_of(runs, *there[k]), three_digits(*there[k]->to_target.mean / first));
    const QString who = capitalised(run_numbers(firsts)), loss = three_digits(*race.target),
                  when = work_words(first, axis);
    if (others.isEmpty()) return QObject::tr("%1 reach %2 at the same time, after %3").arg(who, loss, when);
    return (firsts.size() == 1 ? QObject::tr("%1 reaches %2 first, after %3; %4")
                               : QObject::tr("%1 reach %2 first, after %3; %4"))
        .arg(who, loss, when, others.join(QStringLiteral(", ")));
}

/// The first group, which the others are held against, then the others as they get there.
std::vector<std::size_t> by_arrival(const LossRace& race) {
    std::vector<std::size_t> order(race.groups.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto arrival = [&](std::size_t g) {
        const auto& group = race.groups[g];
        return group.is_whole(group.to_target) ? *group.to_target.mean : std::numeric_limits<double>::infinity();
    };
    if (order.size() > 1)
        std::stable_sort(order.begin() + 1, order.end(), [&](auto a, auto b) { return arrival(a) < arrival(b); });
    return order;
}

/// What its runs have in common, and which they are.
QString row_name(const QString& words, const std::vector<const RunData*>& runs, const RaceGroup& group) {
    const QString numbers = numbers_of(runs, group);
    if (words.startsWith(numbers + ',', Qt::CaseInsensitive)) return words;
    return QObject::tr("%1: %2").arg(capitalised(numbers), words);
}

/// The difference is none in three digits.
bool is_as_long(const Spread& spread) { return spread.share && std::abs(*spread.share - 1) < 0.005; }

bool may_be_seeds(const Spread& spread, const Spread& baseline) {
    return spread.mean && baseline.mean && seeds_may_explain(*spread.mean, *baseline.mean);
}

/// Whether a group's runs may be held against the baseline's: they train the same model on the same data.
bool trains_as(const std::vector<const RunData*>& runs, const RaceGroup& baseline, const RaceGroup& group) {
    std::vector<const RunData*> both;
    for (const auto* some : {&baseline, &group})
        for (const std::size_t run : some->runs) both.push_back(runs[run]);
    return train_the_same(both);
}

constexpr qsizetype most_parts = 4;

QStringList parts_of(const QString& name) { return name.split(QStringLiteral(", ")); }

/// Of each group what its experiments are called, where that tells all groups apart and their parameters are more than
/// can be read at a glance; else none.
QStringList experiment_names(const std::vector<const RunData*>& runs, const LossRace& race, const QStringList& words) {
    if (std::all_of(words.begin(), words.end(),
                    [](const QString& word) { return parts_of(word).size() <= most_parts + 1; }))
        return {};
    QStringList names;
    for (const auto& group : race.groups) {
        const std::string& name = runs[group.runs.front()]->info.name;
        const bool is_one = std::all_of(group.runs.begin(), group.runs.end(),
                                        [&](std::size_t run) { return runs[run]->info.name == name; });
        const auto text = QString::fromStdString(name);
        if (!is_one || text.isEmpty() || names.contains(text)) return {};
        names << text;
    }
    return names;
}

/// So many parameters that a row is read at a glance; all of them are its details.
RaceCell name_cell(const QString& name) {
    constexpr qsizetype most = most_parts;
    const QStringList parts = parts_of(name);
    if (parts.size() <= most + 1) return {name};
    const QString few = parts.mid(0, most).join(QStringLiteral(", "));
    return {QObject::tr("%1 and %2 more").arg(few).arg(parts.size() - most), Verdict::none, name};
}

}  // namespace

RaceTable race_table(const std::vector<const RunData*>& runs, const RaceChoice& choice, PointStore& store) {
    RaceTable table;
    if (runs.empty() || choice.groups.size() != static_cast<qsizetype>(runs.size())) return table;
    std::vector<std::vector<CurvePoint>> curves;
    curves.reserve(runs.size());
    for (const auto* run : runs) curves.push_back(store.points(*run, choice.metric, choice.x));
    std::vector<std::uint64_t> seeds(runs.size());
    std::transform(runs.begin(), runs.end(), seeds.begin(), [](const RunData* run) { return run->experiment.seed; });
    const auto [group_of, names] = group_numbers(choice.groups);
    const auto race = loss_race(curves, group_of, 0, choice.target, seeds);
    if (!race.common_x) return table;
    table.target = race.target;
    const bool same = train_the_same(runs);
    const QString loss = three_digits(*race.target), at = work_words(*race.common_x, choice.x);
    const QString axis = work_in_sentence(choice.x, clock_of(runs));
    table.headers = {QObject::tr("Runs"),
                     QObject::tr("Reached"),
                     QObject::tr("To %1").arg(loss),
                     QObject::tr("× baseline"),
                     QObject::tr("p"),
                     QObject::tr("Loss at %1").arg(at),
                     against_words(runs, race.groups.front()),
                     QObject::tr("p")};
    const bool all_there = std::all_of(race.groups.begin(), race.groups.end(), [](const RaceGroup& group) {
        return group.there == group.runs.size();  // a column that says so of each says nothing
    });
    const QStringList experiments = experiment_names(runs, race, names);
    for (const std::size_t g : by_arrival(race)) {
        const auto& group = race.groups[g];
        const auto &reach = group.to_target, &value = group.at_common;
        const auto apart =
            value.mean && race.groups[0].at_common.mean ? *value.mean - *race.groups[0].at_common.mean : 0;
        const bool first = g == 0, judged = trains_as(runs, race.groups.front(), group);
        const Verdict soon = judged ? verdict_of(reach, is_as_long(reach)) : Verdict::none;
        const Verdict low =
            judged ? verdict_of(value, may_be_seeds(value, race.groups.front().at_common)) : Verdict::none;
        table.first_runs.push_back(runs[group.runs.front()]->info.id);
        const QString parameters = row_name(names[static_cast<qsizetype>(g)], runs, group);
        const RaceCell name =
            experiments.isEmpty()
                ? name_cell(parameters)
                : RaceCell{row_name(experiments[static_cast<qsizetype>(g)], runs, group), Verdict::none, parameters};
        table.rows.push_back(
            {name,
             {all_there ? QString{} : QObject::tr("%1 of %2").arg(group.there).arg(group.runs.size())},
             {arrival_words(group, choice.x), soon},
             {first || !judged || !reach.share ? QString{} : three_digits(*reach.share), soon},
             {judged ? chance_words(reach.p) : QString{}},
             {common_words(group), low},
             {first || !judged || !value.share
                  ? QString{}
                  : (apart < 0 ? QString::fromUtf8("−") : QStringLiteral("+")) + three_digits(std::abs(apart)),
              low},
             {judged ? chance_words(value.p) : QString{}}});
    }
    const bool any_several = std::any_of(race.groups.begin(), race.groups.end(),
                                         [](const RaceGroup& group) { return group.runs.size() > 1; });
    const bool any_p = same && std::any_of(race.groups.begin(), race.groups.end(), [](const RaceGroup& group) {
                           return group.to_target.p.has_value() || group.at_common.p.has_value();
                       });
    table.finding = same ? finding_words(runs, race, choice.x) : not_the_same_words();
    table.words = QObject::tr("At equal %1: what each needs to reach %2, and its loss at %3.").arg(axis, loss, at) +
                  (any_several ? QObject::tr(" Mean ± deviation over the runs of a row.") : QString{}) +
                  (any_p ? QObject::tr(" p: Welch's test against the first row.") : QString{}) + unknown_words(race);
    return table;
}

}  // namespace skippipe
