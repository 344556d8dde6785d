// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/worth_words.h"

#include <optional>

#include <QObject>

#include "views/theme/numbers.h"

namespace skippipe {
namespace {

/// Welch's p of two skip ratios, one of which is the first; absent: there is one seed of one of them.
std::optional<double> chance(const SkipWorth& a, const SkipWorth& b) {
    return a.network_s.p ? a.network_s.p : b.network_s.p;
}

bool is_sure(const SkipWorth& a, const SkipWorth& b) { return chance(a, b).value_or(1) < significant_p; }

QString chance_of(const SkipWorth& a, const SkipWorth& b) {
    const auto p = chance(a, b);
    if (!p) return QObject::tr("Runs of more seeds would tell whether chance does as much.");
    const QString is = *p < 0.001 ? chance_words(p) : "= " + chance_words(p);
    return is_sure(a, b) ? QObject::tr("Over the seeds p %1 (Welch's test).").arg(is)
                         : QObject::tr("Chance does as much: over the seeds p %1 (Welch's test).").arg(is);
}

QString who_wins(const QString& answer, const SkipWorth& won, const SkipWorth& lost) {
    const auto& first = won.skip_ratio < lost.skip_ratio ? won : lost;
    const auto& other = won.skip_ratio < lost.skip_ratio ? lost : won;
    return QObject::tr("%1: a projected %2 at skip ratio %3 against %4 at %5, %6\u00a0\u00d7\n%7 ")
        .arg(answer, duration(*other.network_s.mean), ratio_words(other.skip_ratio), duration(*first.network_s.mean),
             ratio_words(first.skip_ratio), three_digits(*other.network_s.mean / *first.network_s.mean),
             chance_of(won, lost));
}

}  // namespace

QString ratio_words(double skip_ratio) { return QString::number(skip_ratio, 'g', 3); }

QString verdict_words(const std::vector<SkipWorth>& rows, std::size_t ratios) {
    if (rows.size() == 1 && ratios > 1)
        return QObject::tr("Only skip ratio %1 can be told\n").arg(ratio_words(rows.front().skip_ratio));
    if (rows.size() == 1)
        return QObject::tr(
                   "All of these runs have skip ratio %1\nRuns at another one, as a sweep makes them, would tell "
                   "whether it is worth it. ")
            .arg(ratio_words(rows.front().skip_ratio));
    const SkipWorth *best = nullptr, *first = &rows.front();
    for (const auto& row : rows)
        if (row.is_whole() && (best == nullptr || *row.network_s.mean < *best->network_s.mean)) best = &row;
    if (best == nullptr || !first->is_whole())
        return QObject::tr("Nobody knows yet: of skip ratio %1, %2\n")
            .arg(ratio_words(first->skip_ratio),
                 first->there < first->runs
                     ? QObject::tr("%1 of %2 runs got there").arg(first->there).arg(first->runs)
                     : QObject::tr("the loss was read %1 times, too seldom to say when it got there")
                           .arg(first->readings));
    if (best == first) {
        const SkipWorth* next = nullptr;
        for (const auto& row : rows)
            if (&row != first && row.is_whole() && (next == nullptr || *row.network_s.mean < *next->network_s.mean))
                next = &row;
        if (next == nullptr) return QObject::tr("Only skip ratio %1 can be told\n").arg(ratio_words(first->skip_ratio));
        return who_wins(is_sure(*first, *next) ? QObject::tr("It is not") : QObject::tr("It seems not"), *first, *next);
    }
    return who_wins(is_sure(*best, *first) ? QObject::tr("It is") : QObject::tr("It seems so"), *best, *first);
}

}  // namespace skippipe
