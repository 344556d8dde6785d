// SPDX-License-Identifier: GPL-3.0-or-later
// Which of several trainings is first at a loss, and what loss each has at the same expense, over seeds. Pure.
#pragma once
#include <optional>
#include <vector>

#include "core/analysis/equal_view.h"
#include "core/base/statistics.h"

namespace skippipe {

/// A figure over the runs of a group.
struct Spread {
    std::vector<double> values;                          ///< of the runs that have it
    std::optional<double> mean, deviation, least, most;  ///< deviation: of a sample, from two values on
    std::optional<double> share;                         ///< mean / the baseline group's mean
    std::optional<double> p;  ///< Welch's test against the baseline group; from two values a side on
};

/// Fills `share` and `p` of a figure against another group's.
void compare_spreads(const Spread& base, Spread& spread);

/// Runs that are alike but for their seeds.
struct RaceGroup {
    std::vector<std::size_t> runs;  ///< places among the curves
    Spread to_target;               ///< x at which each first is at the target or below; who never is has none
    Spread at_common;               ///< value of each at the common x
};

struct LossRace {
    std::optional<double> target;    ///< what is asked for, else the worst last value: all get there
    std::optional<double> common_x;  ///< where the shortest curve ends
    std::vector<RaceGroup> groups;   ///< by number
};

/// `group_of`: the number of each curve's group, from 0. `baseline`: the group that others are compared with.
LossRace loss_race(const std::vector<std::vector<CurvePoint>>& curves, const std::vector<std::size_t>& group_of,
                   std::size_t baseline = 0, std::optional<double> target = {});

}  // namespace skippipe
