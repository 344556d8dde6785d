// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/iterations.h"

#include <algorithm>

namespace skippipe {

std::map<int, IterationTime> iteration_times(const std::vector<Metric>& metrics) {
    std::map<int, IterationTime> times;
    for (const auto& metric : metrics)
        if (metric.name == "iteration_s") times[metric.iteration] = {metric.iteration, metric.network_s, metric.value};
    return times;
}

const IterationTime* iteration_at(const std::vector<IterationTime>& times, double time_s) {
    if (times.empty()) return nullptr;
    const auto after = std::upper_bound(times.begin(), times.end(), time_s,
                                        [](double t, const IterationTime& one) { return t < one.begin_s(); });
    return after == times.begin() ? &times.front() : &*(after - 1);
}

}  // namespace skippipe
