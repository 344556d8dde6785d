// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

#include "core/analysis/equal_view.h"
#include "core/analysis/loss_race.h"
#include "core/experiment/sweep.h"

namespace skippipe {
namespace {

/// Of a loss: runs of other seeds differ by more than the first, and may differ by as much as the second.
constexpr double alike = 1e-3, chance = 0.02;

bool alike_but_seed(const RankedRun& a, const RankedRun& b) {
    Experiment other = *b.experiment;
    other.seed = a.experiment->seed;
    return trains_alike(*a.experiment, other);
}

/// The last losses of a run and of those that differ from it in their seeds alone, one a seed: the first run's of it.
std::vector<double> losses_of_seeds(const std::vector<RankedRun>& runs, std::size_t run) {
    std::map<std::uint64_t, double> losses{{runs[run].experiment->seed, *runs[run].info->last_validation_loss}};
    for (const auto& other : runs)
        if (alike_but_seed(other, runs[run])) losses.emplace(other.experiment->seed, *other.info->last_validation_loss);
    std::vector<double> values;
    values.reserve(losses.size());
    for (const auto& [seed, loss] : losses) values.push_back(loss);
    return values;
}

void test_by_seeds(const std::vector<RankedRun>& runs, Ranking& ranking) {
    // Two seeds of one experiment are no two samples.
    if (alike_but_seed(runs[ranking.best], runs[ranking.other])) return;
    const auto mine = losses_of_seeds(runs, ranking.best), theirs = losses_of_seeds(runs, ranking.other);
    ranking.best_seeds = mine.size();
    ranking.other_seeds = theirs.size();
    if (mine.size() > 1 && theirs.size() > 1) ranking.p = welch_test(mine, theirs).p;
}

void find_quickest(const std::vector<RankedRun>& runs, Ranking& ranking) {
    const auto found = paces(runs);
    if (!found) return;
    const auto time_s = [&](std::size_t run) { return *runs[run].info->iteration_s; };
    if (!ranking.alike && time_s(ranking.best) == time_s(found->quickest)) return;
    ranking.quickest = found->quickest;
    ranking.slowest = found->slowest;
}

}  // namespace

std::optional<Paces> paces(const std::vector<RankedRun>& runs) {
    if (runs.empty()) return {};
    Paces found;
    const auto time_s = [&](std::size_t run) { return runs[run].info->iteration_s; };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!time_s(i)) return {};
        if (*time_s(i) < *time_s(found.quickest)) found.quickest = i;
        if (*time_s(i) > *time_s(found.slowest)) found.slowest = i;
    }
    if (!(*time_s(found.quickest) > 0) || *time_s(found.quickest) == *time_s(found.slowest)) return {};
    return found;
}

bool seeds_may_explain(double loss, double other) {
    return std::abs(loss - other) <= chance * std::min(std::abs(loss), std::abs(other));
}

double ranked_value(const Ranking& ranking, const RunInfo& run) {
    return ranking.by == Ranking::By::loss ? *run.last_validation_loss : *run.iteration_s;
}

std::optional<Ranking> rank_runs(const std::vector<RankedRun>& runs) {
    if (runs.size() < 2) return {};
    const auto all_have = [&](auto RunInfo::*figure) {
        return std::all_of(runs.begin(), runs.end(),
                           [&](const RankedRun& run) { return (run.info->*figure).has_value(); });
    };
    Ranking ranking;
    const bool by_loss = all_have(&RunInfo::last_validation_loss);
    if (!by_loss && !all_have(&RunInfo::iteration_s)) return {};
    ranking.by = by_loss ? Ranking::By::loss : Ranking::By::iteration;
    const auto value = [&](std::size_t run) { return ranked_value(ranking, *runs[run].info); };
    for (std::size_t i = 1; i < runs.size(); ++i)
        if (value(i) < value(ranking.best)) ranking.best = i;
    if (ranking.best == 0) {
        ranking.other = 1;
        for (std::size_t i = 2; i < runs.size(); ++i)
            if (value(i) < value(ranking.other)) ranking.other = i;
    }
    const double mine = value(ranking.best), theirs = value(ranking.other);
    ranking.equal = mine == theirs;
    if (by_loss) {
        ranking.unequal = std::any_of(runs.begin(), runs.end(), [&](const RankedRun& run) {
            return run.info->iterations_done != runs.front().info->iterations_done;
        });
        ranking.alike = true;
        for (std::size_t i = 0; i < runs.size(); ++i)
            ranking.alike = ranking.alike && std::abs(value(i) - mine) <= alike * std::abs(mine);
        test_by_seeds(runs, ranking);
        ranking.may_be_chance = ranking.p ? *ranking.p >= significant_p : seeds_may_explain(mine, theirs);
        find_quickest(runs, ranking);
    }
    return ranking;
}

namespace {

std::optional<Soonest> find_soonest(const std::vector<JudgedRun>& runs) {
    std::vector<const std::vector<Metric>*> metrics;
    for (const auto& run : runs) metrics.push_back(run.metrics);
    Soonest found;
    found.metric = loss_to_compare(metrics);
    std::vector<std::vector<CurvePoint>> curves;
    for (const auto& run : runs)
        curves.push_back(curve_points(*run.metrics, found.metric, WorkAxis::network_time, run.iteration));
    std::vector<std::size_t> group_of(runs.size());
    std::iota(group_of.begin(), group_of.end(), std::size_t{0});
    const auto race = loss_race(curves, group_of);
    for (const auto& group : race.groups)
        if (group.is_whole(group.to_target)) found.seconds.push_back(*group.to_target.mean);
    if (!race.target || runs.size() < 2 || found.seconds.size() != runs.size()) return {};
    const auto [least, most] = std::minmax_element(found.seconds.begin(), found.seconds.end());
    if (*least <= 0 || *least == *most) return {};
    found.target = *race.target;
    found.quickest = static_cast<std::size_t>(least - found.seconds.begin());
    return found;
}

/// `one` and those as good, unless that is all of them.
std::vector<std::size_t> but_not_all(std::vector<std::size_t> as_good, std::size_t one, std::size_t runs) {
    as_good.push_back(one);
    std::sort(as_good.begin(), as_good.end());
    return as_good.size() < runs ? as_good : std::vector<std::size_t>{};
}

std::vector<std::size_t> best_of(const Judgement& verdict, const std::vector<JudgedRun>& runs) {
    if (const auto& soonest = verdict.soonest)
        if (auto best = but_not_all(as_good_as(soonest->seconds, soonest->quickest), soonest->quickest, runs.size());
            !best.empty())
            return best;
    const auto& ranking = verdict.ranking;
    if (!ranking.alike && !ranking.equal && !ranking.may_be_chance) return {ranking.best};
    if (!verdict.paces) return {};
    std::vector<double> seconds;
    for (const auto& run : runs) seconds.push_back(*run.info->iteration_s);
    return but_not_all(as_good_as(seconds, verdict.paces->quickest), verdict.paces->quickest, runs.size());
}

}  // namespace

std::vector<std::size_t> as_good_as(const std::vector<double>& seconds, std::size_t quickest) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < seconds.size(); ++i)
        if (i != quickest && seconds[i] < as_long * seconds[quickest]) found.push_back(i);
    return found;
}

std::optional<Judgement> judge(const std::vector<JudgedRun>& runs) {
    std::vector<RankedRun> ranked;
    for (const auto& run : runs) ranked.push_back({run.info, run.experiment});
    const auto ranking = rank_runs(ranked);
    if (!ranking) return {};
    Judgement verdict{*ranking, {}, {}, {}};
    if (ranking->by == Ranking::By::loss) {
        verdict.soonest = find_soonest(runs);
        verdict.paces = paces(ranked);
    }
    verdict.best = best_of(verdict, runs);
    return verdict;
}

}  // namespace skippipe
