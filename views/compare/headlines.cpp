// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/headlines.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <QObject>
#include <QStringList>

#include "core/analysis/ranking.h"
#include "views/compare/compared_runs.h"
#include "views/compare/differences.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/resuming.h"
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
    return {.title = QObject::tr("Soonest at %1 %2").arg(loss, three_digits(target)),
            .run = runs[quickest]->info.id,
            .figure = duration(seconds[quickest]),
            .words = capitalised(behind_words(all, seconds, quickest, true)),
            .as_good = numbers_of(as_good_as(seconds, quickest), runs),
            .claim = QObject::tr("is soonest at %1 %2").arg(loss, three_digits(target))};
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

/// Of unequal work no loss is the lowest.
Headline unequal_losses(const std::vector<const RunData*>& runs) {
    const auto [least, most] = std::minmax_element(runs.begin(), runs.end(), [](const RunData* a, const RunData* b) {
        return *a->info.last_validation_loss < *b->info.last_validation_loss;
    });
    return {
        QObject::tr("Last validation losses"), 0,
        QObject::tr("%1 to %2")
            .arg(three_digits(*(*least)->info.last_validation_loss), three_digits(*(*most)->info.last_validation_loss)),
        work_words(runs) + QObject::tr(": To a loss compares equal work")};
}

Headline best_one(const ComparedRuns& all, const Ranking& ranking) {
    const auto& runs = all.runs;
    const bool by_loss = ranking.by == Ranking::By::loss;
    if (ranking.unequal) return unequal_losses(runs);
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
    return {by_loss ? QObject::tr("Lowest last validation loss") : shortest_iteration(runs),
            best.id,
            figure,
            words,
            {},
            ranking.may_be_chance};
}

std::vector<double> iterations_of(const std::vector<const RunData*>& runs) {
    std::vector<double> seconds(runs.size());
    std::transform(runs.begin(), runs.end(), seconds.begin(),
                   [](const RunData* run) { return *run->info.iteration_s; });
    return seconds;
}

/// `reason`: it is to be said, as no other headline says it.
Headline quickest_one(const ComparedRuns& all, const Paces& paces, bool reason) {
    const auto& runs = all.runs;
    const auto seconds = iterations_of(runs);
    return {shortest_iteration(runs), runs[paces.quickest]->info.id, duration(seconds[paces.quickest]),
            capitalised(behind_words(all, seconds, paces.quickest, reason)),
            numbers_of(as_good_as(seconds, paces.quickest), runs)};
}

/// Whether each of `best` has less than each other run.
bool are_before(const std::vector<std::size_t>& best, const std::vector<double>& values) {
    double worst = -std::numeric_limits<double>::infinity(), next = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::find(best.begin(), best.end(), i) != best.end())
            worst = std::max(worst, values[i]);
        else
            next = std::min(next, values[i]);
    return worst < next;
}

/// All that is said of the runs, a card each.
std::vector<Headline> cards(const ComparedRuns& all, const Judgement& verdict) {
    std::vector<Headline> lines;
    const auto add = [&](Headline line, const std::vector<double>& values) {
        line.of_all_best = are_before(verdict.best, values);
        lines.push_back(std::move(line));
    };
    if (verdict.soonest) add(soonest_one(all, *verdict.soonest), verdict.soonest->seconds);
    std::vector<double> ranked(all.runs.size());
    std::transform(all.runs.begin(), all.runs.end(), ranked.begin(),
                   [&](const RunData* run) { return ranked_value(verdict.ranking, run->info); });
    add(best_one(all, verdict.ranking), ranked);
    if (verdict.paces) add(quickest_one(all, *verdict.paces, !verdict.soonest), iterations_of(all.runs));
    return lines;
}

/// "Runs 1 and 3 are best".
QString title_of(const std::vector<RunId>& best) {
    return (best.size() == 1 ? QObject::tr("%1 is best") : QObject::tr("%1 are best"))
        .arg(capitalised(run_numbers(best)));
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

/// Of the runs that are best; the cards say whether they agree. What is said of several is true of each.
Answer answer_of(const ComparedRuns& all, const Judgement& verdict, const std::vector<Headline>& cards) {
    Answer answer{numbers_of(verdict.best, all.runs), {}, {}};
    std::sort(answer.best.begin(), answer.best.end());
    answer.title = title_of(answer.best);
    QStringList won, lost, sentences;
    for (const auto& card : cards) {
        if (card.run == 0) continue;
        const bool is_best = std::find(answer.best.begin(), answer.best.end(), card.run) != answer.best.end();
        if (is_best && card.of_all_best && !card.may_be_chance) won << in_sentence(card.title);
        if (!is_best || (!card.of_all_best && !card.may_be_chance))
            lost << (card.may_be_chance ? QObject::tr("that run %1 %2 may be chance") : QObject::tr("run %1 %2"))
                        .arg(card.run)
                        .arg(card.claim.isEmpty() ? QObject::tr("has the %1").arg(in_sentence(card.title))
                                                  : card.claim);
    }
    QStringList figures{won.join(QStringLiteral(", ")), lost.join(QStringLiteral(", "))};
    figures.removeAll(QString{});
    sentences << capitalised(figures.join(QStringLiteral("; ")));
    if (const QString own = shared_words(all, verdict.best); !own.isEmpty())
        sentences
            << (verdict.best.size() == 1 ? QObject::tr("Only it has %1") : QObject::tr("Only they have %1")).arg(own);
    if (verdict.ranking.unequal) sentences << QObject::tr("The runs did unequal work: their last losses say nothing");
    sentences.removeAll(QString{});
    answer.words = sentences.join(QStringLiteral(". "));
    answer.asks_for_race = verdict.ranking.unequal;
    return answer;
}

std::vector<JudgedRun> judged_of(const std::vector<const RunData*>& runs) {
    std::vector<JudgedRun> judged;
    judged.reserve(runs.size());
    for (const auto* run : runs)
        judged.push_back({&run->info, &run->experiment, &run->metrics, run->iteration ? &*run->iteration : nullptr});
    return judged;
}

/// Of runs that do not all train the same, those that are held against each other; the rest is set aside.
Headlines headlines_of_most(const std::vector<const RunData*>& runs) {
    const auto held = held_against(runs, 0);
    std::vector<const RunData*> most;
    std::vector<RunId> aside;
    for (std::size_t i = 0; i < runs.size(); ++i) held[i] ? most.push_back(runs[i]) : aside.push_back(runs[i]->info.id);
    const QString title = QObject::tr("Not the same work"), figure = QObject::tr("Other models or data");
    if (aside.empty()) return {{}, {{title, 0, figure, not_the_same_words()}}};
    auto found = headlines(most);
    const QString words = set_aside_words(aside);
    if (found.answer)
        found.answer->words += QStringLiteral(". ") + words;
    else
        found.cards.push_back({title, 0, figure, words});
    return found;
}

QString alone_words(const std::vector<const RunData*>& left) {
    return left.empty() ? QObject::tr("There is nothing to compare")
                        : QObject::tr("There is nothing to compare run %1 with").arg(left.front()->info.id);
}

QString select_words() {
    return QObject::tr("Select another run in the list as well, with Ctrl, to see how they differ");
}

/// Leads to the first of them that ended before its last iteration.
void lead_to_ended(Answer& answer, const std::vector<const RunData*>& runs) {
    const auto ended =
        std::find_if(runs.begin(), runs.end(), [](const RunData* run) { return is_interrupted(run->info); });
    if (ended == runs.end()) return;
    answer.ended = (*ended)->info.id;
    answer.can_resume = why_not_resume((*ended)->info).isEmpty();
}

/// Of one run: how it ended, where it did not end as planned.
Headlines headlines_of_one(const RunData& run) {
    if (!is_interrupted(run.info))
        return {Answer{{},
                       goes_on(run.info) ? progress_words(run.info) : QObject::tr("Run %1 alone").arg(run.info.id),
                       select_words()},
                {}};
    const QString why = ending_words(run.info);
    Answer answer{{}, progress_words(run.info), why.isEmpty() ? select_words() : why};
    lead_to_ended(answer, {&run});
    return {std::move(answer), {}};
}

/// How far each of them came, in a sentence.
QString progress_of(const std::vector<const RunData*>& runs) {
    QStringList words{did_nothing_words(runs)};
    for (const auto* run : runs)
        if (!did_nothing(run->info)) words << progress_words(run->info);
    words.removeAll(QString{});
    return words.join(QStringLiteral(". "));
}

QString uncapitalised(QString words) {
    if (!words.isEmpty()) words[0] = words[0].toLower();
    return words;
}

/// Of runs some of which go on or failed: what the others come to.
Headlines headlines_of_ended(const std::vector<const RunData*>& runs) {
    std::vector<const RunData*> judged, under_way, failed;
    for (const auto* run : runs)
        (is_judged(run->info) ? judged : goes_on(run->info) ? under_way : failed).push_back(run);
    const QString now = progress_of(under_way), ended = progress_of(failed);
    QStringList both{now, ended};
    both.removeAll(QString{});
    auto found = judged.size() < 2 ? Headlines{} : headlines(judged);
    if (judged.size() < 2) {
        found.answer = Answer{{}, both.join(QStringLiteral(". ")), alone_words(judged)};
        if (const QString why = failed.empty() ? QString{} : ending_words(failed.front()->info); !why.isEmpty())
            found.answer->words += QStringLiteral(". ") + why;
    } else if (!found.answer) {
        found.answer = Answer{{}, both.join(QStringLiteral(". ")), QObject::tr("The others are compared")};
    } else {
        auto& answer = *found.answer;
        if (!now.isEmpty()) {
            answer.words =
                QObject::tr("Of the others %1: %2").arg(uncapitalised(answer.title), uncapitalised(answer.words));
            answer.title = now;
        }
        if (!ended.isEmpty()) answer.words += QStringLiteral(". ") + ended;
    }
    lead_to_ended(*found.answer, failed);
    return found;
}

}  // namespace

Headlines headlines(const std::vector<const RunData*>& runs) {
    if (runs.size() == 1) return headlines_of_one(*runs.front());
    if (std::any_of(runs.begin(), runs.end(), [](const RunData* run) { return !is_judged(run->info); }))
        return headlines_of_ended(runs);
    if (!train_the_same(runs)) return headlines_of_most(runs);
    const auto verdict = judge(judged_of(runs));
    if (!verdict) return {};
    const ComparedRuns all(runs);
    auto found = cards(all, *verdict);
    auto answer = verdict->best.empty() ? undecided_answer(verdict->undecided, runs)
                                        : std::optional{answer_of(all, *verdict, found)};
    std::vector<const RunData*> stopped;
    for (const auto* run : runs)
        if (run->info.state == RunState::stopped) stopped.push_back(run);
    if (answer && !stopped.empty()) {
        answer->words += QStringLiteral(". ") + progress_of(stopped);
        lead_to_ended(*answer, stopped);
    }
    return {std::move(answer), std::move(found)};
}

QString to_text(const Answer& answer) { return QStringLiteral("%1. %2").arg(answer.title, answer.words); }

QString to_text(const Headline& headline) {
    const QString whose = headline.run == 0 ? QString{} : QObject::tr("run %1, ").arg(headline.run);
    return QStringLiteral("%1: %2%3. %4").arg(headline.title, whose, headline.figure, headline.words);
}

}  // namespace skippipe
