// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/headlines.h"

#include <algorithm>

#include <QObject>
#include <QStringList>

#include "core/analysis/ranking.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

/// "skip ratio 0.25 instead of 0, ... and 2 more": what one run has and another has not; empty: nothing.
QString instead_words(const std::vector<const RunData*>& runs, std::size_t one, std::size_t other) {
    constexpr qsizetype most_named = 3;
    QStringList named;
    for (const auto& parameter : differing(runs)) {
        const QString &own = parameter.values[static_cast<qsizetype>(one)],
                      &its = parameter.values[static_cast<qsizetype>(other)];
        if (own != its && parameter.pointer != "/name" && parameter.pointer != "/description")
            named << (parameter.pointer == "/failures" && own == QObject::tr("none")
                          ? QObject::tr("no failures instead of \"%1\"").arg(its)
                          : QObject::tr("%1 %2 instead of %3").arg(in_sentence(parameter.name), own, its));
    }
    const auto more = named.size() - most_named;
    return named.mid(0, most_named).join(", ") + (more > 0 ? QObject::tr(" and %1 more").arg(more) : QString{});
}

/// "run 4 takes 1.32 x as long, run 3 4.20 x", the next first.
QString behind_words(const std::vector<const RunData*>& runs, std::size_t quickest) {
    constexpr std::size_t most_named = 4;
    std::vector<const RunData*> others;
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (i != quickest) others.push_back(runs[i]);
    std::stable_sort(others.begin(), others.end(),
                     [](const RunData* a, const RunData* b) { return *a->info.iteration_s < *b->info.iteration_s; });
    QStringList words;
    for (std::size_t i = 0; i < std::min(most_named, others.size()); ++i) {
        const QString times = three_digits(*others[i]->info.iteration_s / *runs[quickest]->info.iteration_s);
        words << (i == 0 ? QObject::tr("run %1 takes %2\u00A0× as long").arg(others[i]->info.id).arg(times)
                         : QObject::tr("run %1 %2\u00A0×").arg(others[i]->info.id).arg(times));
    }
    if (others.size() > most_named) words << QObject::tr("%1 more longer still").arg(others.size() - most_named);
    return words.join(QStringLiteral(", "));
}

Headline best_one(const std::vector<const RunData*>& runs, const Ranking& ranking) {
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
    const QString instead = instead_words(runs, ranking.best, ranking.other);
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

Headline quickest_one(const std::vector<const RunData*>& runs, const Paces& paces) {
    const RunInfo& quickest = runs[paces.quickest]->info;
    const QString why = instead_words(runs, paces.quickest, paces.slowest);
    return {QObject::tr("Shortest iteration of the network"), quickest.id, duration(*quickest.iteration_s),
            capitalised(behind_words(runs, paces.quickest)) +
                (why.isEmpty() ? QString{} : QObject::tr(". It has %1").arg(why))};
}

}  // namespace

std::vector<Headline> headlines(const std::vector<const RunData*>& runs) {
    std::vector<RankedRun> ranked;
    ranked.reserve(runs.size());
    for (const auto* run : runs) ranked.push_back({&run->info, &run->experiment});
    const auto ranking = rank_runs(ranked);
    if (!ranking) return {};
    std::vector<Headline> lines{best_one(runs, *ranking)};
    if (ranking->by == Ranking::By::loss)
        if (const auto found = paces(ranked)) lines.push_back(quickest_one(runs, *found));
    return lines;
}

QString to_text(const Headline& headline) {
    const QString whose = headline.run == 0 ? QString{} : QObject::tr("run %1, ").arg(headline.run);
    return QStringLiteral("%1: %2%3. %4").arg(headline.title, whose, headline.figure, headline.words);
}

}  // namespace skippipe
