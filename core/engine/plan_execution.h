// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "core/engine/compute.h"
#include "core/engine/driver.h"
#include "core/engine/shaping.h"
#include "core/engine/speed_failures.h"
#include "core/experiment/document.h"

namespace skippipe {

class WallClock;

/// Nodes, driver and clock of one plan in force, on this rank.
class PlanExecution {
public:
    /// All but the schedule outlive it.
    PlanExecution(const Experiment& experiment, const Problem& problem, RankSchedule schedule, ComputeBackend& compute,
                  RankTransport& transport);

    const RankSchedule& schedule() const { return schedule_; }
    RankIteration run(int iteration) { return driver_->run_iteration(iteration); }
    RankIteration run(int iteration, const std::vector<Disturbance>& disturbances, RecoveryController& controller) {
        return driver_->run_iteration(iteration, disturbances, controller);
    }
    RankIteration run_rest(int iteration, const RestOfIteration& rest, Interrupted& before) {
        return driver_->run_rest(iteration, rest, before);
    }
    /// By the wall clock: what is slower, or varies, from the next iteration on, or its rest.
    void change_speeds(const std::vector<SpeedChange>& changes);
    /// Whether all ranks have begun the iteration, or the rest, that was to run last.
    bool begun() const { return driver_->begun(); }
    /// Ends what is under way of an iteration by the wall clock: what this rank has of it. Nothing where that cannot be
    /// known, because something threw.
    std::optional<Interrupted> interrupt();
    /// Null under the virtual clock.
    const WallClock* wall() const { return wall_; }

private:
    PlannedProblem planned_;
    RankSchedule schedule_;
    std::unique_ptr<LinkShaper> shaper_;
    std::unique_ptr<EventSource> events_;
    WallClock* wall_ = nullptr;
    std::set<int> varying_;  ///< lines
    std::optional<Driver> driver_;
};

}  // namespace skippipe
