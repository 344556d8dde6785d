// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/loss_race.h"

#include <algorithm>
#include <cmath>

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
                   std::size_t baseline, std::optional<double> target) {
    const auto view = equal_view(curves);
    LossRace race{target ? target : view.target, view.common_x, {}};
    if (!group_of.empty()) race.groups.resize(*std::max_element(group_of.begin(), group_of.end()) + 1);
    for (std::size_t i = 0; i < curves.size(); ++i) {
        auto& group = race.groups[group_of[i]];
        group.runs.push_back(i);
        if (race.target)
            if (const auto x = first_at_or_below(curves[i], *race.target)) group.to_target.values.push_back(*x);
        if (race.common_x)
            if (const auto y = value_at(curves[i], *race.common_x)) group.at_common.values.push_back(*y);
    }
    for (auto& group : race.groups) {
        sum_up(group.to_target);
        sum_up(group.at_common);
    }
    for (std::size_t g = 0; g < race.groups.size() && baseline < race.groups.size(); ++g) {
        if (g == baseline) continue;
        compare_spreads(race.groups[baseline].to_target, race.groups[g].to_target);
        compare_spreads(race.groups[baseline].at_common, race.groups[g].at_common);
    }
    return race;
}

}  // namespace skippipe
