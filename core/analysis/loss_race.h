// SPDX-License-Identifier: GPL-3.0-or-later
// Which of several trainings is first at a loss, and what loss each has at the same expense, over seeds. Pure.
#pragma once
#include <cstdint>
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
    std::size_t there = 0;          ///< how many of them are ever at the target or below
    std::size_t readings = 0;       ///< of the curve that has fewest
    bool seeds_differ = true;       ///< no seed was trained twice, which would say nothing of chance
    std::optional<double> by;       ///< the last of those that are there was seen there at this x
    Spread to_target;  ///< x at which each first is at the target or below, where readings are near enough to tell
    Spread at_common;  ///< value of each at the common x, where readings are near enough to tell

    /// Each run of it has its value: without that, means would be of the better ones alone.
    bool is_whole(const Spread& spread) const { return !runs.empty() && spread.values.size() == runs.size(); }
};

struct LossRace {
    std::optional<double> target;    ///< what is asked for, else the worst last value: all get there
    std::optional<double> common_x;  ///< where the shortest curve ends
    std::vector<RaceGroup> groups;   ///< by number
};

/// Groups are compared where both have a value of each of their runs. `group_of`: the number of each curve's group,
/// from 0. `baseline`: the group that others are compared with. `seeds`: of each curve, where they are known; there is
/// no p of groups in which one was trained twice.
LossRace loss_race(const std::vector<std::vector<CurvePoint>>& curves, const std::vector<std::size_t>& group_of,
                   std::size_t baseline = 0, std::optional<double> target = {},
                   const std::vector<std::uint64_t>& seeds = {});

}  // namespace skippipe
