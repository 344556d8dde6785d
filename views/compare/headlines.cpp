// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/headlines.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include <QObject>
#include <QStringList>

#include "core/analysis/loss_race.h"
#include "core/analysis/ranking.h"
#include "views/compare/differences.h"
#include "views/curves/curve_data.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr qsizetype most_differences = 3;

/// Runs, and what differs between any of them: worked out once for all that is said.
struct ComparedRuns {
    const std::vector<const RunData*>& runs;
    std::vector<Parameter> parameters;
};

/// What one run has and another has not: a parameter's name, its value, and the other's.
struct Instead {
    QString name, own, its;
    bool is_failures = false;
};
std::vector<Instead> differences_of(const ComparedRuns& all, std::size_t one, std::size_t other) {
    std::vector<Instead> found;
    for (const auto& parameter : all.parameters) {
        Instead row{in_sentence(parameter.name), parameter.values[static_cast<qsizetype>(one)],
                    parameter.values[static_cast<qsizetype>(other)], parameter.pointer == "/failures"};
        if (parameter.pointer == "/pipeline/skip_ratio") {  // what was trained with
            row.own = QString::number(skip_ratio_of(*all.runs[one]));
            row.its = QString::number(skip_ratio_of(*all.runs[other]));
        }
        if (row.own != row.its && parameter.pointer != "/name" && parameter.pointer != "/description")
            found.push_back(std::move(row));
    }
    return found;
}

QString listed(const QStringList& all) {
    const auto more = all.size() - most_differences;
    return all.mid(0, most_differences).join(", ") + (more > 0 ? QObject::tr(" and %1 more").arg(more) : QString{});
}

/// "skip ratio 0.25 instead of 0, ... and 2 more"; empty: nothing differs.
QString instead_words(const ComparedRuns& all, std::size_t one, std::size_t other) {
    QStringList named;
    for (const auto& [name, own, its, is_failures] : differences_of(all, one, other))
        named << (is_failures && own == QObject::tr("none") ? QObject::tr("no failures instead of \"%1\"").arg(its)
                                                            : QObject::tr("%1 %2 instead of %3").arg(name, own, its));
    return listed(named);
}

/// "skip ratio 0, planner gpipe": what the one has that the other has not.
QString own_words(const ComparedRuns& all, std::size_t one, std::size_t other) {
    QStringList named;
    for (const auto& [name, own, its, is_failures] : differences_of(all, one, other))
        named << (is_failures && own == QObject::tr("none") ? QObject::tr("no failures")
                                                            : QObject::tr("%1 %2").arg(name, own));
    return listed(named);
}

constexpr double as_long = 1.005;  ///< of the quickest: in three digits it is 1.00

/// "run 4 takes 1.32 x as long (skip ratio 0), run 3 4.20 x (planner gpipe)", the next first, each with what it has
/// where that is wanted; `seconds` of each run.
QString behind_words(const ComparedRuns& all, const std::vector<double>& seconds, std::size_t quickest, bool reasons) {
    constexpr std::size_t most_named = 4;
    const auto& runs = all.runs;
    std::vector<std::size_t> others;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (i != quickest) others.push_back(i);
    std::stable_sort(others.begin(), others.end(), [&](auto a, auto b) { return seconds[a] < seconds[b]; });
    QStringList words;
    for (std::size_t i = 0; i < std::min(most_named, others.size()); ++i) {
        const RunId run = runs[others[i]]->info.id;
        const double ratio = seconds[others[i]] / seconds[quickest];
        const QString times = three_digits(ratio);
        words << (i == 0            ? (ratio < as_long ? QObject::tr("run %1 takes as long").arg(run)
                                                       : QObject::tr("run %1 takes %2\u00A0× as long").arg(run).arg(times))
                  : ratio < as_long ? QObject::tr("run %1 as long").arg(run)
                                    : QObject::tr("run %1 %2\u00A0×").arg(run).arg(times));
        if (const QString own = reasons ? own_words(all, others[i], quickest) : QString{}; !own.isEmpty())
            words.back() += QStringLiteral(" (%1)").arg(own);
    }
    if (others.size() > most_named) words << QObject::tr("%1 more longer still").arg(others.size() - most_named);
    return words.join(QStringLiteral(", "));
}

/// Who is first at the loss that all get to, by network time: what the shorter iteration and the lower loss come to.
/// None where readings are too far apart to tell it of each.
std::optional<Headline> soonest_one(const ComparedRuns& all) {
    const auto& runs = all.runs;
    std::vector<const std::vector<Metric>*> metrics(runs.size());
    std::transform(runs.begin(), runs.end(), metrics.begin(), [](const RunData* run) { return &run->metrics; });
    const std::string metric = loss_to_compare(metrics);
    std::vector<std::vector<CurvePoint>> curves(runs.size());
    std::transform(runs.begin(), runs.end(), curves.begin(),
                   [&](const RunData* run) { return curve_points(*run, metric, WorkAxis::network_time); });
    std::vector<std::size_t> group_of(runs.size());
    std::iota(group_of.begin(), group_of.end(), std::size_t{0});
    const auto race = loss_race(curves, group_of);
    std::vector<double> seconds;
    for (const auto& group : race.groups)
        if (group.is_whole(group.to_target)) seconds.push_back(*group.to_target.mean);
    if (!race.target || runs.size() < 2 || seconds.size() != runs.size()) return std::nullopt;
    const auto [least, most] = std::minmax_element(seconds.begin(), seconds.end());
    if (*least <= 0 || *least == *most) return std::nullopt;
    const auto quickest = static_cast<std::size_t>(least - seconds.begin());
    const QString loss = metric == "loss" ? QObject::tr("training loss") : QObject::tr("validation loss");
    return Headline{QObject::tr("Soonest at a %1 of %2").arg(loss, three_digits(*race.target)), runs[quickest]->info.id,
                    duration(*least), capitalised(behind_words(all, seconds, quickest, true))};
}

Headline best_one(const ComparedRuns& all, const Ranking& ranking) {
    const auto& runs = all.runs;
    const bool by_loss = ranking.by == Ranking::By::loss;
    const RunInfo &best = runs[ranking.best]->info, &other = runs[ranking.other]->info;
    const double mine = ranked_value(ranking, best);
    const QString figure = by_loss ? three_digits(mine) : duration(mine);
    if (ranking.alike)
        return {QObject::tr("Last validation losses"), 0, figure,
                QObject::tr("The runs are alike: another seed would change as much")};
    if (ranking.equal)
        return {by_loss ? QObject::tr("Last validation losses") : QObject::tr("Iterations"), 0, figure,
                QObject::tr("Run %1 and run %2 are alike").arg(best.id).arg(other.id)};
    QString words =
        QObject::tr("%1 less than run %2's").arg(percent(1 - mine / ranked_value(ranking, other))).arg(other.id);
    const QString instead = instead_words(all, ranking.best, ranking.other);
    words +=
        instead.isEmpty() ? QObject::tr("; no parameter differs between them") : QObject::tr(", with %1").arg(instead);
    if (ranking.p)
        words +=
            QObject::tr(". Over %1 and %2 seeds p = %3 (Welch)%4")
                .arg(ranking.best_seeds)
                .arg(ranking.other_seeds)
                .arg(three_digits(*ranking.p), ranking.may_be_chance ? QObject::tr(": it may be chance") : QString{});
    else if (ranking.may_be_chance)
        words += QObject::tr(". So small a difference may be chance: more seeds would tell");
    if (ranking.unequal)
        words += QObject::tr(". The runs did unequal numbers of iterations; To a loss compares equal work");
    return {by_loss ? QObject::tr("Lowest last validation loss") : QObject::tr("Shortest iteration of the network"),
            best.id, figure, words};
}

/// `reason`: it is to be said, as no other headline says it.
Headline quickest_one(const ComparedRuns& all, const Paces& paces, bool reason) {
    const auto& runs = all.runs;
    std::vector<double> seconds(runs.size());
    std::transform(runs.begin(), runs.end(), seconds.begin(),
                   [](const RunData* run) { return *run->info.iteration_s; });
    return {QObject::tr("Shortest iteration of the network"), runs[paces.quickest]->info.id,
            duration(seconds[paces.quickest]), capitalised(behind_words(all, seconds, paces.quickest, reason))};
}

}  // namespace

std::vector<Headline> headlines(const std::vector<const RunData*>& runs) {
    std::vector<RankedRun> ranked;
    ranked.reserve(runs.size());
    for (const auto* run : runs) ranked.push_back({&run->info, &run->experiment});
    const auto ranking = rank_runs(ranked);
    if (!ranking) return {};
    if (ranking->by == Ranking::By::loss && !train_the_same(runs))
        return {
            {QObject::tr("Not the same work"), 0, QObject::tr("Other models or data"),
             QObject::tr("These runs train different models, or on different data: their losses and times do not say "
                         "which run is better")}};
    const ComparedRuns all{runs, folded(differing(runs))};
    std::vector<Headline> lines;
    const auto soonest = ranking->by == Ranking::By::loss ? soonest_one(all) : std::nullopt;
    if (soonest) lines.push_back(*soonest);
    lines.push_back(best_one(all, *ranking));
    if (ranking->by == Ranking::By::loss)
        if (const auto found = paces(ranked)) lines.push_back(quickest_one(all, *found, !soonest));
    return lines;
}

QString to_text(const Headline& headline) {
    const QString whose = headline.run == 0 ? QString{} : QObject::tr("run %1, ").arg(headline.run);
    return QStringLiteral("%1: %2%3. %4").arg(headline.title, whose, headline.figure, headline.words);
}

}  // namespace skippipe
