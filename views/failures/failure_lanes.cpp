// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/failures/failure_lanes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/experiment/failure_text.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {
constexpr double forever = std::numeric_limits<double>::infinity();
constexpr double room = 1.05;            // behind the last failure
constexpr double unknown_extent_s = 60;  // without a plan and without times
}  // namespace

std::optional<FailureStretch> stretch_of(const Failure& failure, double iteration_s) {
    if (failure.at_s)
        return FailureStretch{*failure.at_s, failure.rejoin_after_s ? *failure.at_s + *failure.rejoin_after_s : forever,
                              false};
    if (!failure.at_iteration || iteration_s <= 0) return std::nullopt;
    const double begin_s = *failure.at_iteration * iteration_s;
    return FailureStretch{begin_s, begin_s + iteration_s, true};
}

std::vector<FailureLane> failure_lanes(const std::vector<Failure>& failures, double iteration_s) {
    std::vector<FailureLane> timed, others;
    for (std::size_t i = 0; i < failures.size(); ++i) {
        const auto name = failure_subject(failures[i]);
        if (!stretch_of(failures[i], iteration_s)) {
            others.push_back({name, {i}, false});
            continue;
        }
        const auto same =
            std::find_if(timed.begin(), timed.end(), [&](const FailureLane& lane) { return lane.name == name; });
        if (same == timed.end())
            timed.push_back({name, {i}, true});
        else
            same->failures.push_back(i);
    }
    for (auto& lane : timed)
        std::stable_sort(lane.failures.begin(), lane.failures.end(), [&](std::size_t a, std::size_t b) {
            return stretch_of(failures[a], iteration_s)->begin_s < stretch_of(failures[b], iteration_s)->begin_s;
        });
    timed.insert(timed.end(), others.begin(), others.end());
    return timed;
}

double failure_extent_s(const Experiment& experiment, double iteration_s) {
    double extent_s = iteration_s * experiment.training.iterations;
    for (const auto& failure : experiment.failures)
        if (const auto stretch = stretch_of(failure, iteration_s)) {
            const double last_s = std::isfinite(stretch->end_s) ? stretch->end_s : stretch->begin_s;
            if (last_s > extent_s) extent_s = last_s * room;
        }
    return extent_s > 0 ? extent_s : unknown_extent_s;
}

double rounded_time(double seconds, double resolution_s) {
    if (!(resolution_s > 0) || !std::isfinite(resolution_s)) return std::max(0.0, seconds);
    const double base = std::pow(10.0, std::floor(std::log10(resolution_s) + 1e-9));
    const double step = base * (resolution_s >= 5 * base ? 5 : resolution_s >= 2 * base ? 2 : 1);
    const double steps = std::max(0.0, std::round(seconds / step));
    // By division where the step is a fraction: 0.3, not 0.30000000000000004.
    return step < 1 ? steps / std::round(1 / step) : steps * step;
}

}  // namespace skippipe
