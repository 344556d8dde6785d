// SPDX-License-Identifier: GPL-3.0-or-later
// Where failures stand on an axis of network time; no widget.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// One target's failures at known times, or one failure that comes by chance or at a rate.
struct FailureLane {
    std::string name;
    std::vector<std::size_t> failures;  ///< places in Experiment::failures, by time
    bool timed = true;
};

/// Network time that a failure takes.
struct FailureStretch {
    double begin_s = 0, end_s = 0;  ///< end_s: back again; infinite: never
    bool vague = false;             ///< somewhere in [begin_s, end_s): an iteration, at an instant that the seed fixes
};

/// Where a failure stands; nothing for chance and rate, nor for an iteration while its length is not known (0).
std::optional<FailureStretch> stretch_of(const Failure& failure, double iteration_s);
/// A lane for each target, in the order in which they first occur; then one for each failure without a time.
std::vector<FailureLane> failure_lanes(const std::vector<Failure>& failures, double iteration_s);
/// Network time of the training, or until the last failure is over, whichever is later.
double failure_extent_s(const Experiment& experiment, double iteration_s);

/// A time as a person would enter it: a multiple of the largest of 1, 2, 5 x 10^n that is at most `resolution_s`; not
/// before 0.
double rounded_time(double seconds, double resolution_s);

}  // namespace skippipe
