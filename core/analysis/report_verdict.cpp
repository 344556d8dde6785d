// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/report_verdict.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/analysis/markup.h"
#include "core/analysis/ranking.h"
#include "core/base/format.h"

namespace skippipe {
namespace {

using Places = ReportPlaces;

/// "Run 1", "Runs 1 and 3".
std::string numbers_of(const std::vector<ReportRun>& runs, const Places& places) {
    std::string words = places.size() == 1 ? "Run " : "Runs ";
    for (std::size_t i = 0; i < places.size(); ++i)
        words += (i == 0 ? "" : i + 1 == places.size() ? " and " : ", ") + std::to_string(runs[places[i]].info.id);
    return words;
}

std::string paragraph(const std::string& words) { return "<p>" + escaped(words) + "</p>\n"; }

/// What is said of those that are judged together. Runs of a judgement are indices of them.
class VerdictWords {
public:
    VerdictWords(const std::vector<ReportRun>& runs, const Places& judged, RunClock clock) : clock_(clock) {
        infos_.reserve(judged.size());
        for (const std::size_t place : judged) infos_.push_back(&runs[place].info);
    }

    /// Why no run is called best.
    std::string undecided(Undecided why) const {
        if (why == Undecided::only_seeds) return "Only the seed differs: what tells these runs apart is chance.";
        return why == Undecided::unequal_work ? unequal() : std::string{};
    }

    /// "Soonest at the training loss that all reach (2.82): run 1, 18.5 s; run 3 takes as long, run 4 takes 1.74 times
    /// as long".
    std::string soonest(const Soonest& soonest) const {
        auto words =
            fmt::format("Soonest at the {} that all reach ({}): run {}, {}",
                        soonest.metric == "loss" ? "training loss" : "validation loss", format_number(soonest.target),
                        infos_[soonest.quickest]->id, format_seconds(soonest.seconds[soonest.quickest]));
        Places others;
        for (std::size_t i = 0; i < infos_.size(); ++i)
            if (i != soonest.quickest) others.push_back(i);
        std::stable_sort(others.begin(), others.end(),
                         [&](auto a, auto b) { return soonest.seconds[a] < soonest.seconds[b]; });
        for (const auto i : others) {
            const double ratio = soonest.seconds[i] / soonest.seconds[soonest.quickest];
            words += fmt::format("{} run {} takes {}as long", i == others.front() ? ";" : ",", infos_[i]->id,
                                 ratio < as_long ? "" : format_number(ratio) + " times ");
        }
        return words + ".";
    }

    std::string lowest(const Ranking& ranking) const {
        std::string words = ranking.unequal ? std::string{} : ranked(ranking);
        if (ranking.quickest) {
            const RunInfo& quickest = *infos_[*ranking.quickest];
            words += fmt::format("{}Run {} is quickest: {} of {} an iteration, {:.3g} times that of run {}.",
                                 words.empty() ? "" : " ", quickest.id, format_seconds(*quickest.iteration_s),
                                 time_words(clock_), *quickest.iteration_s / *infos_[ranking.slowest]->iteration_s,
                                 infos_[ranking.slowest]->id);
        }
        return words;
    }

    /// Of unequal work, why no loss is the lowest.
    std::string unequal() const {
        std::string words = "The runs did unequal work:";
        for (const auto* run : infos_)
            words += fmt::format("{} run {} did {} iterations", run == infos_.front() ? "" : ",", run->id,
                                 run->iterations_done);
        return words + '.';
    }

private:
    /// Who has the lowest loss, or else the shortest iteration, and whether that may be chance.
    std::string ranked(const Ranking& ranking) const {
        const bool by_loss = ranking.by == Ranking::By::loss;
        const RunInfo &best = *infos_[ranking.best], &other = *infos_[ranking.other];
        const double mine = ranked_value(ranking, best), theirs = ranked_value(ranking, other);
        const std::string figure = by_loss ? "last validation loss " + format_number(mine)
                                           : fmt::format("{} an iteration {}", format_seconds(mine), of_whom(clock_));
        if (ranking.alike) return fmt::format("The runs' last validation losses are alike: {}.", format_number(mine));
        std::string words = ranking.equal ? fmt::format("Run {} and run {} are alike: {}.", best.id, other.id, figure)
                                          : fmt::format("Run {} has the {}: {}, {} less than run {}'s.", best.id,
                                                        by_loss ? "lowest loss" : "shortest iteration", figure,
                                                        format_percent(1 - mine / theirs), other.id);
        if (ranking.p)
            words += fmt::format(" Over {} and {} seeds p = {:.3g} (Welch's test){}.", ranking.best_seeds,
                                 ranking.other_seeds, *ranking.p, ranking.may_be_chance ? ": it may be chance" : "");
        else if (ranking.may_be_chance)
            words += " So small a difference may be chance: more seeds would tell.";
        return words;
    }

    std::vector<const RunInfo*> infos_;
    RunClock clock_;
};

std::optional<Judgement> judge_those(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments,
                                     const Places& places) {
    std::vector<JudgedRun> judged;
    judged.reserve(places.size());
    for (const std::size_t i : places)
        judged.push_back(
            {&runs[i].info, &experiments[i], &runs[i].metrics, runs[i].iteration ? &*runs[i].iteration : nullptr});
    return judge(judged);
}

std::string judgement_html(const Judgement& verdict, const std::vector<ReportRun>& runs, const Places& judged,
                           RunClock clock, const SharedWords& shared_words) {
    const VerdictWords words(runs, judged, clock);
    std::string html;
    if (!verdict.best.empty()) {
        Places best;
        best.reserve(verdict.best.size());
        for (const std::size_t one : verdict.best) best.push_back(judged[one]);
        html += fmt::format("<p><strong>{} {} best.</strong>{}</p>\n", numbers_of(runs, best),
                            best.size() == 1 ? "is" : "are", escaped(shared_words(best, judged)));
    } else if (const auto why = words.undecided(verdict.undecided); !why.empty()) {
        html += "<p><strong>" + escaped(why) + "</strong></p>\n";
    }
    if (verdict.soonest) html += paragraph(words.soonest(*verdict.soonest));
    if (verdict.ranking.unequal && verdict.undecided != Undecided::unequal_work)
        html += paragraph(words.unequal() + " Their last losses do not say which is better.");
    const auto lowest = words.lowest(verdict.ranking);
    return lowest.empty() ? html : html + paragraph(lowest);
}

}  // namespace

ReportGroups report_groups(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments,
                           const ReportPlaces& read) {
    ReportGroups groups;
    Places able;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunInfo& info = runs[i].info;
        (goes_on(info)                                          ? groups.under_way
         : !is_judged(info)                                     ? groups.failed
         : std::find(read.begin(), read.end(), i) == read.end() ? groups.unread
                                                                : able)
            .push_back(i);
    }
    std::vector<const Experiment*> trained;
    trained.reserve(able.size());
    for (const std::size_t i : able) trained.push_back(&experiments[i]);
    // Where the baseline is none of them, the first is what others are held against.
    const auto held = held_against(trained, 0);
    for (std::size_t k = 0; k < able.size(); ++k) (held[k] ? groups.judged : groups.other_work).push_back(able[k]);
    groups.is_same_work = std::all_of(groups.judged.begin(), groups.judged.end(), [&](std::size_t i) {
        return train_the_same(experiments[groups.judged.front()], experiments[i]);
    });
    return groups;
}

namespace {

/// Who is set aside, a paragraph each reason.
std::string aside_html(const std::vector<ReportRun>& runs, const ReportGroups& groups) {
    std::string html;
    const auto add = [&](const Places& places, const char* one, const char* several) {
        if (!places.empty())
            html += paragraph(fmt::format("{} {}.", numbers_of(runs, places), places.size() == 1 ? one : several));
    };
    add(groups.other_work, "trains another model, or on other data, and is set aside",
        "train other models, or on other data, and are set aside");
    Places at_once, later;
    for (const std::size_t i : groups.failed) (did_nothing(runs[i].info) ? at_once : later).push_back(i);
    add(at_once, "failed before its first iteration", "failed before their first iteration");
    add(later, "ended before its last iteration and is set aside",
        "ended before their last iteration and are set aside");
    add(groups.under_way, "goes on and is set aside", "go on and are set aside");
    add(groups.unread, "is set aside: its experiment cannot be read",
        "are set aside: their experiments cannot be read");
    return html;
}

}  // namespace

std::string verdict_html(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments,
                         const ReportGroups& groups, RunClock clock, const SharedWords& shared_words) {
    if (runs.size() < 2) return {};
    const std::string aside = aside_html(runs, groups);
    if (!groups.is_same_work)
        return paragraph(
                   "These runs train different models, or on different data: their losses and times do not say "
                   "which run is better.") +
               aside;
    const auto verdict = judge_those(runs, experiments, groups.judged);
    return verdict ? judgement_html(*verdict, runs, groups.judged, clock, shared_words) + aside : aside;
}

}  // namespace skippipe
