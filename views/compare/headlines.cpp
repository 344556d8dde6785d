// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/headlines.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include <QObject>
#include <QStringList>

#include "core/analysis/ranking.h"
#include "views/compare/compared_runs.h"
#include "views/compare/differences.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/same_work.h"
#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

QString shortest_iteration(const std::vector<const RunData*>& runs) {
    return QObject::tr("Shortest %1").arg(iteration_of(clock_of(runs)));
}

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
                                    : QObject::tr("run %1: %2\u00A0×").arg(run).arg(times));
        if (const QString own = reasons ? own_words(all, others[i], quickest) : QString{}; !own.isEmpty())
            words.back() += QStringLiteral(" (%1)").arg(own);
    }
    if (others.size() > most_named) words << QObject::tr("%1 more longer still").arg(others.size() - most_named);
    return words.join(QStringLiteral(", "));
}

std::vector<RunId> numbers_of(const std::vector<std::size_t>& places, const std::vector<const RunData*>& runs) {
    std::vector<RunId> numbers(places.size());
    std::transform(places.begin(), places.end(), numbers.begin(), [&](std::size_t i) { return runs[i]->info.id; });
    return numbers;
}

Headline soonest_one(const ComparedRuns& all, const Soonest& soonest) {
    const auto& runs = all.runs;
    const auto& [metric, target, seconds, quickest] = soonest;
    const QString loss = metric == "loss" ? QObject::tr("training loss") : QObject::tr("validation loss");
    return {QObject::tr("Soonest at the %1 that all reach (%2)").arg(loss, three_digits(target)),
            runs[quickest]->info.id, duration(seconds[quickest]),
            capitalised(behind_words(all, seconds, quickest, true)), numbers_of(as_good_as(seconds, quickest), runs)};
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
    return {by_loss ? QObject::tr("Lowest last validation loss") : shortest_iteration(runs),
            best.id,
            figure,
            words,
            {},
            ranking.may_be_chance};
}

/// `reason`: it is to be said, as no other headline says it.
Headline quickest_one(const ComparedRuns& all, const Paces& paces, bool reason) {
    const auto& runs = all.runs;
    std::vector<double> seconds(runs.size());
    std::transform(runs.begin(), runs.end(), seconds.begin(),
                   [](const RunData* run) { return *run->info.iteration_s; });
    return {shortest_iteration(runs), runs[paces.quickest]->info.id, duration(seconds[paces.quickest]),
            capitalised(behind_words(all, seconds, paces.quickest, reason)),
            numbers_of(as_good_as(seconds, paces.quickest), runs)};
}

/// All that is said of the runs, a card each.
std::vector<Headline> cards(const ComparedRuns& all, const Judgement& verdict) {
    std::vector<Headline> lines;
    if (verdict.soonest) lines.push_back(soonest_one(all, *verdict.soonest));
    lines.push_back(best_one(all, verdict.ranking));
    if (verdict.paces) lines.push_back(quickest_one(all, *verdict.paces, !verdict.soonest));
    return lines;
}

/// "Runs 1 and 3 are best".
QString title_of(const std::vector<RunId>& best) {
    return (best.size() == 1 ? QObject::tr("%1 is best") : QObject::tr("%1 are best"))
        .arg(capitalised(run_numbers(best)));
}

/// "Run 2 did 16 iterations, runs 7, 8 and 9 did 4": the most first.
QString work_words(const std::vector<const RunData*>& runs) {
    std::map<int, std::vector<RunId>, std::greater<>> by_work;
    for (const auto* run : runs) by_work[run->info.iterations_done].push_back(run->info.id);
    QStringList words;
    for (const auto& [iterations, of] : by_work)
        words << (words.isEmpty() ? QObject::tr("%1 did %2 iterations") : QObject::tr("%1 did %2"))
                     .arg(run_numbers(of), whole_number(iterations));
    return capitalised(words.join(QStringLiteral(", ")));
}

/// Why none is called best; nothing where only no figure is sure.
std::optional<Answer> undecided_answer(Undecided why, const std::vector<const RunData*>& runs) {
    switch (why) {
        case Undecided::no: break;
        case Undecided::only_seeds:
            return Answer{
                {}, QObject::tr("Only the seed differs"), QObject::tr("What tells these runs apart is chance")};
        case Undecided::unequal_work:
            return Answer{{},
                          QObject::tr("The runs did unequal work"),
                          work_words(runs) + QObject::tr(". What each takes to one loss says which is better"),
                          true};
    }
    return std::nullopt;
}

/// Of the runs that are best; the cards say whether they agree.
Answer answer_of(const ComparedRuns& all, const std::vector<std::size_t>& best, const std::vector<Headline>& cards) {
    Answer answer{numbers_of(best, all.runs), {}, {}};
    std::sort(answer.best.begin(), answer.best.end());
    answer.title = title_of(answer.best);
    const auto is_best = [&](RunId run) {
        return std::find(answer.best.begin(), answer.best.end(), run) != answer.best.end();
    };
    QStringList won, lost;
    for (const auto& card : cards) {
        if (card.run == 0) continue;
        if (is_best(card.run) && !card.may_be_chance) won << in_sentence(card.title);
        if (!is_best(card.run))
            lost << (card.may_be_chance ? QObject::tr("that run %1 has the %2 may be chance")
                                        : QObject::tr("run %1 has the %2"))
                        .arg(card.run)
                        .arg(in_sentence(card.title));
    }
    answer.words = capitalised(won.join(QStringLiteral(", ")));
    if (!lost.isEmpty()) answer.words += QStringLiteral("; ") + lost.join(QStringLiteral(", "));
    if (const QString own = shared_words(all, best); !own.isEmpty())
        answer.words +=
            (best.size() == 1 ? QObject::tr(". Only it has %1") : QObject::tr(". Only they have %1")).arg(own);
    return answer;
}

std::vector<JudgedRun> judged_of(const std::vector<const RunData*>& runs) {
    std::vector<JudgedRun> judged;
    judged.reserve(runs.size());
    for (const auto* run : runs)
        judged.push_back({&run->info, &run->experiment, &run->metrics, run->iteration ? &*run->iteration : nullptr});
    return judged;
}

/// Of runs that do not all train the same, those that most of them train the same as; the rest is set aside.
Headlines headlines_of_most(const std::vector<const RunData*>& runs) {
    std::vector<std::vector<const RunData*>> groups;
    for (const auto* run : runs) {
        const auto group = std::find_if(groups.begin(), groups.end(), [run](const auto& one) {
            return train_the_same({one.front(), run});
        });
        group == groups.end() ? groups.push_back({run}) : group->push_back(run);
    }
    const auto most = std::max_element(groups.begin(), groups.end(),
                                       [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (most->size() < 2)
        return {{},
                {{QObject::tr("Not the same work"), 0, QObject::tr("Other models or data"),
                  QObject::tr("These runs train different models, or on different data: their losses and times do not "
                              "say which run is better")}}};
    auto found = headlines(*most);
    std::vector<RunId> aside;
    for (const auto* run : runs)
        if (std::find(most->begin(), most->end(), run) == most->end()) aside.push_back(run->info.id);
    const QString words = set_aside_words(aside);
    if (found.answer)
        found.answer->words += QStringLiteral(". ") + words;
    else
        found.cards.push_back({QObject::tr("Not the same work"), 0, QObject::tr("Other models or data"), words});
    return found;
}

QString alone_words(const std::vector<const RunData*>& left) {
    return left.empty() ? QObject::tr("There is nothing to compare")
                        : QObject::tr("There is nothing to compare run %1 with").arg(left.front()->info.id);
}

/// Of runs some of which failed before their first iteration: what the others come to.
Headlines headlines_of_begun(const std::vector<const RunData*>& runs) {
    std::vector<const RunData*> begun, failed;
    for (const auto* run : runs) (did_nothing(run->info) ? failed : begun).push_back(run);
    const QString words = did_nothing_words(failed);
    const QString why = error_words(failed.front()->info);
    auto found = begun.size() < 2 ? Headlines{Answer{{}, words, alone_words(begun)}, {}} : headlines(begun);
    if (begun.size() < 2 && !why.isEmpty()) found.answer->words += QStringLiteral(". ") + why;
    if (begun.size() >= 2 && found.answer) found.answer->words += QStringLiteral(". ") + words;
    if (begun.size() >= 2 && !found.answer) found.answer = Answer{{}, words, QObject::tr("The others are compared")};
    return found;
}

}  // namespace

Headlines headlines(const std::vector<const RunData*>& runs) {
    if (std::any_of(runs.begin(), runs.end(), [](const RunData* run) { return did_nothing(run->info); }))
        return headlines_of_begun(runs);
    if (runs.size() == 1)
        return {Answer{{},
                       QObject::tr("Run %1 alone").arg(runs.front()->info.id),
                       QObject::tr("Select another run in the list as well, with Ctrl, to see how they differ")},
                {}};
    const auto verdict = judge(judged_of(runs));
    if (!verdict) return {};
    if (verdict->ranking.by == Ranking::By::loss && !train_the_same(runs)) return headlines_of_most(runs);
    const ComparedRuns all(runs);
    auto found = cards(all, *verdict);
    auto answer = verdict->best.empty() ? undecided_answer(verdict->undecided, runs)
                                        : std::optional{answer_of(all, verdict->best, found)};
    return {std::move(answer), std::move(found)};
}

QString to_text(const Answer& answer) { return QStringLiteral("%1. %2").arg(answer.title, answer.words); }

QString to_text(const Headline& headline) {
    const QString whose = headline.run == 0 ? QString{} : QObject::tr("run %1, ").arg(headline.run);
    return QStringLiteral("%1: %2%3. %4").arg(headline.title, whose, headline.figure, headline.words);
}

}  // namespace skippipe
