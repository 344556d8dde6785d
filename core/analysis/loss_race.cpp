// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/loss_race.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace skippipe {
namespace {

void sum_up(Spread& spread) {
    if (spread.values.empty()) return;
    spread.mean = mean(spread.values);
    if (spread.values.size() > 1) spread.deviation = standard_deviation(spread.values);
    const auto [least, most] = std::minmax_element(spread.values.begin(), spread.values.end());
    spread.least = *least;
    spread.most = *most;
}

}  // namespace

void compare_spreads(const Spread& base, Spread& spread) {
    if (spread.mean && base.mean && *base.mean != 0) spread.share = *spread.mean / *base.mean;
    if (const auto test = welch_test(base.values, spread.values); !std::isnan(test.p)) spread.p = test.p;
}

LossRace loss_race(const std::vector<std::vector<CurvePoint>>& curves, const std::vector<std::size_t>& group_of,
                   std::size_t baseline, std::optional<double> target, const std::vector<std::uint64_t>& seeds) {
    const auto view = equal_view(curves);
    LossRace race{target ? target : view.target, view.common_x, {}};
    if (!group_of.empty()) race.groups.resize(*std::max_element(group_of.begin(), group_of.end()) + 1);
    for (std::size_t i = 0; i < curves.size(); ++i) {
        auto& group = race.groups[group_of[i]];
        group.runs.push_back(i);
        group.readings = group.runs.size() == 1 ? curves[i].size() : std::min(group.readings, curves[i].size());
        if (const auto there = race.target ? arrival(curves[i], *race.target) : std::nullopt) {
            ++group.there;
            group.by = std::max(group.by.value_or(there->by), there->by);
            if (there->x) group.to_target.values.push_back(*there->x);
        }
        if (race.common_x)
            if (const auto y = measured_at(curves[i], *race.common_x)) group.at_common.values.push_back(*y);
    }
    for (auto& group : race.groups) {
        std::set<std::uint64_t> trained;
        group.seeds_differ = seeds.empty() || std::all_of(group.runs.begin(), group.runs.end(), [&](std::size_t run) {
                                 return trained.insert(seeds.at(run)).second;
                             });
        sum_up(group.to_target);
        sum_up(group.at_common);
    }
    for (std::size_t g = 0; g < race.groups.size() && baseline < race.groups.size(); ++g)
        for (const auto spread : {&RaceGroup::to_target, &RaceGroup::at_common}) {
            auto &group = race.groups[g], &base = race.groups[baseline];
            if (g != baseline && base.is_whole(base.*spread) && group.is_whole(group.*spread))
                compare_spreads(base.*spread, group.*spread);
            if (!base.seeds_differ || !group.seeds_differ) (group.*spread).p.reset();
        }
    return race;
}

}  // namespace skippipe
