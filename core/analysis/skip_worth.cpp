// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/skip_worth.h"

#include <algorithm>

namespace skippipe {
namespace {

/// Every figure of a spread times a number; what compares is left.
Spread times(Spread spread, double factor) {
    for (auto& value : spread.values) value *= factor;
    for (auto* figure : {&spread.mean, &spread.deviation, &spread.least, &spread.most})
        if (*figure) **figure *= factor;
    return spread;
}

/// Each row has a factor of its own, so that shares and tests are those of what was multiplied.
void compare_with_first(std::vector<SkipWorth>& rows, Spread SkipWorth::*figure) {
    for (auto& row : rows) {
        auto& spread = row.*figure;
        spread.share.reset();
        spread.p.reset();
        const auto& first = rows.front();
        if (&row != &first && first.is_whole() && row.is_whole()) compare_spreads(first.*figure, spread);
        if (!first.seeds_differ || !row.seeds_differ) spread.p.reset();
    }
}

}  // namespace

SkipWorths skip_worth(std::vector<SkipMeasured> measured, std::optional<double> target, double node_hour) {
    std::stable_sort(measured.begin(), measured.end(),
                     [](const auto& a, const auto& b) { return a.skip_ratio < b.skip_ratio; });
    std::vector<std::vector<CurvePoint>> curves;
    std::vector<std::size_t> group_of;
    std::vector<std::uint64_t> seeds;
    for (std::size_t g = 0; g < measured.size(); ++g)
        for (const auto& curve : measured[g].losses) {
            curves.push_back(curve);
            group_of.push_back(g);
        }
    for (const auto& one : measured) seeds.insert(seeds.end(), one.seeds.begin(), one.seeds.end());
    const auto race = loss_race(curves, group_of, 0, target, seeds);
    SkipWorths worths{race.target, {}};
    for (std::size_t g = 0; g < race.groups.size(); ++g) {
        const auto& one = measured[g];
        const auto& group = race.groups[g];
        const double per_token = one.tokens_per_iteration > 0 ? 1 / one.tokens_per_iteration : 0;
        SkipWorth row;
        row.skip_ratio = one.skip_ratio;
        row.iteration_s = one.iteration_s;
        row.runs = one.losses.size();
        row.seeds_differ = group.seeds_differ;
        row.there = group.there;
        row.readings = group.readings;
        if (group.by) row.by_iterations = *group.by * per_token;
        row.iterations = times(group.to_target, per_token);
        row.network_s = times(row.iterations, one.iteration_s);
        row.money = one.iteration_money ? times(row.iterations, *one.iteration_money)
                                        : times(row.network_s, one.nodes * node_hour / 3600);
        worths.rows.push_back(std::move(row));
    }
    if (worths.rows.empty()) return worths;
    for (const auto figure : {&SkipWorth::iterations, &SkipWorth::network_s, &SkipWorth::money})
        compare_with_first(worths.rows, figure);
    return worths;
}

}  // namespace skippipe
