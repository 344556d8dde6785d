// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/anneal/temperature_schedule.h"

#include <algorithm>
#include <cmath>

#include "plugins/planners/common/plan_candidate.h"

namespace skippipe::planners::joint {

RelativeTemperatures RelativeTemperatures::of_paths(const Problem& problem) {
    const double operations = operations_of(problem);
    const double factor = operations < 270 ? 270 / operations : std::max(0.25, std::sqrt(270 / operations));
    return {0.004 * factor, 0.0002 * factor};
}

OrderHeat OrderHeat::of(double steps, double operations) {
    const double length = std::clamp(std::log(steps / (400 * operations)) / std::log(300.0), 0.0, 1.0);
    return {1 + 3.5 * length, 1 + 1.5 * length};
}

}  // namespace skippipe::planners::joint
