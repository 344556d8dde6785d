// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/engine/compute.h"
#include "core/experiment/document.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Progress of one finished iteration.
struct IterationReport {
    int iteration = 0;    ///< 0-based
    double offset_s = 0;  ///< network time at its start
    const Timeline* timeline = nullptr;
    IterationResult result;
    double machine_s = 0;     ///< this machine's time since training began, validation left out
    std::int64_t tokens = 0;  ///< trained so far
};

/// Hears what training does, and may end it.
class TrainingListener {
public:
    virtual ~TrainingListener() = default;
    virtual void validated(int iterations_done, double network_s, double machine_s, std::int64_t tokens,
                           const ValidationResult& result) = 0;
    virtual void iterated(const IterationReport& report) = 0;
    /// Asked between iterations; may block while paused. True ends the training.
    virtual bool stop() = 0;
    /// Under the wall clock, asked after `stop`: the plan (JSON) to go over to, with the nodes where they are; empty:
    /// the present one.
    virtual std::string next_plan() { return {}; }
    /// From this iteration on it is the plan in force.
    virtual void went_over(int) {}
};

/// All iterations of an experiment under the virtual clock. Validates before the first step, every `validate_every`,
/// and after the last one. Throws std::runtime_error where the plan comes to a deadlock.
void train(const Experiment& experiment, const Problem& problem, const Plan& plan, ComputeBackend& compute,
           TrainingListener& listener);

}  // namespace skippipe
