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

using Places = std::vector<std::size_t>;

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
        if (why != Undecided::unequal_work) return {};
        std::string words = "The runs did unequal work:";
        for (const auto* run : infos_)
            words += fmt::format("{} run {} did {} iterations", run == infos_.front() ? "" : ",", run->id,
                                 run->iterations_done);
        return words + '.';
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
        const bool by_loss = ranking.by == Ranking::By::loss;
        const RunInfo &best = *infos_[ranking.best], &other = *infos_[ranking.other];
        const double mine = ranked_value(ranking, best), theirs = ranked_value(ranking, other);
        const std::string figure = by_loss ? "last validation loss " + format_number(mine)
                                           : fmt::format("{} an iteration {}", format_seconds(mine), of_whom(clock_));
        std::string words;
        if (ranking.alike)
            words = fmt::format("The runs' last validation losses are alike: {}.", format_number(mine));
        else if (ranking.equal)
            words = fmt::format("Run {} and run {} are alike: {}.", best.id, other.id, figure);
        else
            words =
                fmt::format("Run {} has the {}: {}, {} less than run {}'s{}.", best.id,
                            by_loss ? "lowest loss" : "shortest iteration", figure, format_percent(1 - mine / theirs),
                            other.id, ranking.unequal ? ", of runs of unequal numbers of iterations" : "");
        if (ranking.p && !ranking.alike)
            words += fmt::format(" Over {} and {} seeds p = {:.3g} (Welch's test){}.", ranking.best_seeds,
                                 ranking.other_seeds, *ranking.p, ranking.may_be_chance ? ": it may be chance" : "");
        else if (ranking.may_be_chance && !ranking.alike)
            words += " So small a difference may be chance: more seeds would tell.";
        if (ranking.quickest) {
            const RunInfo& quickest = *infos_[*ranking.quickest];
            words +=
                fmt::format(" Run {} is quickest: {} of {} an iteration, {:.3g} times that of run {}.", quickest.id,
                            format_seconds(*quickest.iteration_s), time_words(clock_),
                            *quickest.iteration_s / *infos_[ranking.slowest]->iteration_s, infos_[ranking.slowest]->id);
        }
        return words;
    }

private:
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

/// Those of them that most train the same as; the first of several as many.
Places most_alike(const Places& places, const std::vector<Experiment>& experiments) {
    std::vector<Places> groups;
    for (const std::size_t i : places) {
        const auto group = std::find_if(groups.begin(), groups.end(), [&](const Places& one) {
            return train_the_same(experiments[one.front()], experiments[i]);
        });
        group == groups.end() ? groups.push_back({i}) : group->push_back(i);
    }
    return *std::max_element(groups.begin(), groups.end(),
                             [](const Places& a, const Places& b) { return a.size() < b.size(); });
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
    return html + paragraph(words.lowest(verdict.ranking));
}

}  // namespace

std::string verdict_html(const std::vector<ReportRun>& runs, const std::vector<Experiment>& experiments, RunClock clock,
                         const SharedWords& shared_words) {
    Places judged, failed, aside;
    for (std::size_t i = 0; i < runs.size(); ++i) (did_nothing(runs[i].info) ? failed : judged).push_back(i);
    std::string html;
    if (!failed.empty() && runs.size() > 1)
        html = paragraph(fmt::format("{} failed before {} first iteration.", numbers_of(runs, failed),
                                     failed.size() == 1 ? "its" : "their"));
    auto verdict = judge_those(runs, experiments, judged);
    if (!verdict) return html;
    if (verdict->ranking.by == Ranking::By::loss) {  // times of one network are compared whatever is trained
        auto most = most_alike(judged, experiments);
        if (most.size() < 2)
            return paragraph(
                       "These runs train different models, or on different data: their losses and times do not say "
                       "which run is better.") +
                   html;
        std::set_difference(judged.begin(), judged.end(), most.begin(), most.end(), std::back_inserter(aside));
        judged = std::move(most);
        if (!aside.empty()) verdict = judge_those(runs, experiments, judged);
        if (!verdict) return html;
    }
    if (!aside.empty())
        html = paragraph(fmt::format("{} train{} set aside.", numbers_of(runs, aside),
                                     aside.size() == 1 ? "s another model, or on other data, and is"
                                                       : " other models, or on other data, and are")) +
               html;
    return judgement_html(*verdict, runs, judged, clock, shared_words) + html;
}

}  // namespace skippipe
