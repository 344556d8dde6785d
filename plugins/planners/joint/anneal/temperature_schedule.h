// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/planner/plan/problem.h"

namespace skippipe::planners::joint {

/// Temperatures of annealing, seconds of what is minimised: from `first_s` by a constant factor a step to `first_s` x
/// `ratio`.
struct TemperatureSchedule {
    double first_s = 0, ratio = 1;

    static TemperatureSchedule between(double first_s, double last_s) { return {first_s, last_s / first_s}; }
};

/// The same as parts of the iteration time of what a search begins with.
struct RelativeTemperatures {
    double first = 0.004, last = 0.0002;  ///< found by trial, 300,000 steps

    /// The fewer operations a problem has, the more of the iteration one change of a path is.
    static RelativeTemperatures of_paths(const Problem& problem);
    TemperatureSchedule times(double iteration_s) const { return {iteration_s * first, last / first}; }
};

/// How many times hotter orders are begun with than paths, and end: as far as there are steps to cool again (found by
/// trial).
struct OrderHeat {
    double first = 1, last = 1;

    /// `steps` of one chain, on a problem of so many operations.
    static OrderHeat of(double steps, double operations);
};

}  // namespace skippipe::planners::joint
