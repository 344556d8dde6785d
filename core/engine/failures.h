// SPDX-License-Identifier: GPL-3.0-or-later
// What goes wrong in a run, and when: a pure function of the document, its seed, and network time.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/engine/recovery.h"
#include "core/experiment/document.h"

namespace skippipe {

/// A failure of the document as it happens in an iteration.
struct FailureEvent {
    Disturbance disturbance;
    double back_s = std::numeric_limits<double>::infinity();  ///< network time at which the node is there again, or the
                                                              ///< slower one as fast as before; infinite: never
    std::size_t failure = 0;                                  ///< place in Experiment::failures
};

/// The coordinator is lost in an iteration, and the training with it.
struct CoordinatorLoss {
    double at_s = 0;       ///< from the iteration's start
    double restore_s = 0;  ///< until another one has read the last checkpoint
    std::size_t failure = 0;
};

/// When a loss is believed: nodes report every heartbeat, and the controller waits for the deadline after the last one.
/// `at_s` of network time.
double detected_s(const Recovery& recovery, double at_s);

/// The failures of a document. Failures by time and by rate happen at network times that seed and document fix; those
/// by iteration at an instant of it that they fix; neither depends on what happened before.
class FailureSchedule {
public:
    /// Both outlive it.
    FailureSchedule(const Experiment& experiment, const Problem& problem);

    /// What would happen in an iteration that begins at `offset_s` of network time and would last `expected_s`: by
    /// their times, those by time and rate also beyond its end. `stages`: the plan's, for what happens to a stage.
    std::vector<FailureEvent> of_iteration(int iteration, double offset_s, double expected_s,
                                           const PerStage<std::vector<NodeIndex>>& stages) const;

    /// Alike.
    std::vector<CoordinatorLoss> coordinator_losses(int iteration, double offset_s, double expected_s) const;

private:
    /// When, from the iteration's start, a failure happens, each with a number that its draws depend on.
    std::vector<std::pair<double, std::uint64_t>> instants(std::size_t failure, int iteration, double offset_s,
                                                           double expected_s) const;
    /// Network times of a failure by rate or time, in [from_s, until_s).
    std::vector<double> times(std::size_t failure, double from_s, double until_s) const;
    void add(std::size_t failure, double at_s, double offset_s, std::uint64_t draw,
             const PerStage<std::vector<NodeIndex>>& stages, std::vector<FailureEvent>& events) const;

    /// An instant of a failure by rate, and the draws that follow.
    struct Drawn {
        Rng rng;
        double at_s = 0;
    };

    const Experiment& experiment_;
    const Problem& problem_;
    /// Of each failure the last instant before those that were asked for last: time goes on, and a long training would
    /// else draw its first day again in every iteration of its last.
    mutable std::vector<std::optional<Drawn>> drawn_;
};

}  // namespace skippipe
