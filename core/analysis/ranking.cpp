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

/// The last losses of a run and of those that differ from it in their seeds alone, one a seed: the first run's of it.
std::vector<double> losses_of_seeds(const std::vector<RankedRun>& runs, const SeedGroups& groups, std::size_t run) {
    std::map<std::uint64_t, double> losses{{runs[run].experiment->seed, *runs[run].info->last_validation_loss}};
    for (std::size_t i = 0; i < runs.size(); ++i)
        if (groups.are_alike_but_seed(i, run))
            losses.emplace(runs[i].experiment->seed, *runs[i].info->last_validation_loss);
    std::vector<double> values;
    values.reserve(losses.size());
    for (const auto& [seed, loss] : losses) values.push_back(loss);
    return values;
}

void test_by_seeds(const std::vector<RankedRun>& runs, const SeedGroups& groups, Ranking& ranking) {
    // Two seeds of one experiment are no two samples.
    if (groups.are_alike_but_seed(ranking.best, ranking.other)) return;
    const auto mine = losses_of_seeds(runs, groups, ranking.best),
               theirs = losses_of_seeds(runs, groups, ranking.other);
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

bool did_nothing(const RunInfo& run) { return run.state == RunState::failed && run.iterations_done == 0; }

bool goes_on(const RunInfo& run) { return run.state == RunState::running && run.iterations > 0; }

bool is_judged(const RunInfo& run) {
    return !goes_on(run) && run.state != RunState::failed && run.state != RunState::died;
}

bool train_the_same(const Experiment& a, const Experiment& b) { return a.model == b.model && a.data == b.data; }

std::vector<bool> held_against(const std::vector<const Experiment*>& runs, std::size_t baseline) {
    std::vector<bool> held(runs.size(), true);
    std::ptrdiff_t most = 1;
    const auto hold = [&](const Experiment* as) {
        std::vector<bool> same(runs.size());
        std::transform(runs.begin(), runs.end(), same.begin(),
                       [as](const Experiment* run) { return train_the_same(*as, *run); });
        if (const auto count = std::count(same.begin(), same.end(), true); count > most) {
            most = count;
            held = std::move(same);
        }
    };
    if (baseline < runs.size()) hold(runs[baseline]);
    if (most == 1) std::for_each(runs.begin(), runs.end(), hold);
    return held;
}

SeedGroups::SeedGroups(const std::vector<RankedRun>& runs) {
    std::vector<Experiment> groups;
    for (const auto& run : runs) {
        Experiment own = what_trains(*run.experiment);
        own.seed = 0;
        const auto found = std::find(groups.begin(), groups.end(), own);
        runs_.push_back({static_cast<std::size_t>(found - groups.begin()), run.experiment->seed, run.info->planner});
        if (found == groups.end()) groups.push_back(std::move(own));
    }
}

std::optional<Paces> paces(const std::vector<RankedRun>& runs) {
    if (runs.empty()) return {};
    Paces found;
    const auto time_s = [&](std::size_t run) { return runs[run].info->iteration_s; };
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (!time_s(i)) return {};
        if (*time_s(i) < *time_s(found.quickest)) found.quickest = i;
        if (*time_s(i) > *time_s(found.slowest)) found.slowest = i;
    }
    if (!(*time_s(found.quickest) > 0) || *time_s(found.slowest) < as_long * *time_s(found.quickest)) return {};
    return found;
}

bool seeds_may_explain(double loss, double other) {
    return std::abs(loss - other) <= chance * std::min(std::abs(loss), std::abs(other));
}

double ranked_value(const Ranking& ranking, const RunInfo& run) {
    return ranking.by == Ranking::By::loss ? *run.last_validation_loss : *run.iteration_s;
}

std::optional<Ranking> rank_runs(const std::vector<RankedRun>& runs, const SeedGroups& groups) {
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
        test_by_seeds(runs, groups, ranking);
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
    if (*least <= 0 || *most < as_long * *least) return {};
    found.target = *race.target;
    found.quickest = static_cast<std::size_t>(least - found.seconds.begin());
    return found;
}

std::vector<RankedRun> ranked_of(const std::vector<JudgedRun>& runs) {
    std::vector<RankedRun> ranked;
    for (const auto& run : runs) ranked.push_back({run.info, run.experiment});
    return ranked;
}

bool is_among(std::size_t run, const std::vector<std::size_t>& some) {
    return std::find(some.begin(), some.end(), run) != some.end();
}

/// With the other seeds of those that are best; nothing where that is all of them, or one of those seeds is no better
/// than what it is held against. `values`: the less the better.
std::vector<std::size_t> with_seeds(std::vector<std::size_t> best, const SeedGroups& groups,
                                    const std::vector<double>& values, bool tested = false) {
    std::vector<std::size_t> seeds;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!is_among(i, best) &&
            std::any_of(best.begin(), best.end(), [&](std::size_t one) { return groups.are_seeds(one, i); }))
            seeds.push_back(i);
    best.insert(best.end(), seeds.begin(), seeds.end());
    std::sort(best.begin(), best.end());
    for (const std::size_t seed : seeds)
        for (std::size_t other = 0; other < values.size() && !tested; ++other)
            if (!is_among(other, best) && values[other] <= values[seed]) return {};
    return best.size() < values.size() ? best : std::vector<std::size_t>{};
}

/// By seconds of each: the quickest, those as good, and the seeds of all of them.
std::vector<std::size_t> best_by_time(const std::vector<double>& seconds, std::size_t quickest,
                                      const SeedGroups& groups) {
    auto best = as_good_as(seconds, quickest);
    best.push_back(quickest);
    return best.size() < seconds.size() ? with_seeds(std::move(best), groups, seconds) : std::vector<std::size_t>{};
}

std::vector<std::size_t> best_of(const Judgement& verdict, const std::vector<RankedRun>& runs,
                                 const SeedGroups& groups) {
    if (const auto& soonest = verdict.soonest)
        if (auto best = best_by_time(soonest->seconds, soonest->quickest, groups); !best.empty()) return best;
    const auto& ranking = verdict.ranking;
    if (ranking.unequal) return {};
    if (!ranking.alike && !ranking.equal && !ranking.may_be_chance) {
        std::vector<double> values;
        for (const auto& run : runs) values.push_back(ranked_value(ranking, *run.info));
        if (auto best = with_seeds({ranking.best}, groups, values, ranking.p.has_value()); !best.empty()) return best;
    }
    if (!verdict.paces) return {};
    std::vector<double> seconds;
    for (const auto& run : runs) seconds.push_back(*run.info->iteration_s);
    return best_by_time(seconds, verdict.paces->quickest, groups);
}

Undecided undecided_of(const Judgement& verdict, std::size_t runs, const SeedGroups& groups) {
    if (!verdict.best.empty()) return Undecided::no;
    bool all_repeat = true, has_seeds = false;
    for (std::size_t run = 0; run < runs; ++run) {
        all_repeat = all_repeat && groups.are_of_one(0, run);
        has_seeds = has_seeds || groups.are_seeds(0, run);
    }
    if (all_repeat && has_seeds) return Undecided::only_seeds;
    return verdict.ranking.unequal && !verdict.soonest ? Undecided::unequal_work : Undecided::no;
}

}  // namespace

std::vector<std::size_t> as_good_as(const std::vector<double>& seconds, std::size_t quickest) {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < seconds.size(); ++i)
        if (i != quickest && seconds[i] < as_long * seconds[quickest]) found.push_back(i);
    return found;
}

std::optional<Judgement> judge(const std::vector<JudgedRun>& runs) {
    const auto ranked = ranked_of(runs);
    const SeedGroups groups(ranked);
    const auto ranking = rank_runs(ranked, groups);
    if (!ranking) return {};
    Judgement verdict{*ranking, {}, {}, {}, {}};
    if (ranking->by == Ranking::By::loss) {
        verdict.soonest = find_soonest(runs);
        verdict.paces = paces(ranked);
    }
    verdict.best = best_of(verdict, ranked, groups);
    verdict.undecided = undecided_of(verdict, ranked.size(), groups);
    return verdict;
}

}  // namespace skippipe
