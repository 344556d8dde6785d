// SPDX-License-Identifier: GPL-3.0-or-later
// What a loss takes on a network at each skip ratio: measured convergence times planned iterations. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/analysis/loss_race.h"

namespace skippipe {

/// Trainings at one skip ratio, and the plan for the network at the same.
struct SkipMeasured {
    double skip_ratio = 0;
    double iteration_s = 0;                       ///< planned, network time
    double tokens_per_iteration = 0;              ///< of the plan's experiment
    int nodes = 0;                                ///< that the plan uses
    std::vector<std::vector<CurvePoint>> losses;  ///< a training each, x in tokens
    std::optional<double> iteration_money;        ///< of the plan, by the experiment's prices; absent: by `node_hour`
    std::vector<std::uint64_t> seeds = {};        ///< of each training; known of all ratios or of none
};

struct SkipWorth {
    double skip_ratio = 0, iteration_s = 0;
    std::size_t runs = 0, there = 0;      ///< how many there are, and how many of them are ever at the target
    std::size_t readings = 0;             ///< of the training that has fewest
    bool seeds_differ = true;             ///< no seed was trained twice
    std::optional<double> by_iterations;  ///< the last of those that are there was seen there by then
    Spread iterations;                    ///< of the network's experiment, until the target
    Spread network_s;                     ///< the same as time of the network
    Spread money;                         ///< in the unit of the price

    /// Each of its trainings got there, and readings were near enough to say when: it can be held against others.
    bool is_whole() const { return runs > 0 && iterations.values.size() == runs; }
    /// Readings were near enough to say when those that are there got there.
    bool is_told() const { return there > 0 && iterations.values.size() == there; }
};

/// `target`: the loss to get to; absent: the worst last one, which all get to. Compared with the smallest skip ratio.
/// One seed trained twice says nothing of chance: no p is told where two trainings of a row have the same.
/// `node_hour`: price of a node for an hour of network time, where prices are not known. By skip ratio.
struct SkipWorths {
    std::optional<double> target;
    std::vector<SkipWorth> rows;
};
SkipWorths skip_worth(std::vector<SkipMeasured> measured, std::optional<double> target, double node_hour);

}  // namespace skippipe
