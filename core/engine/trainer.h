// SPDX-License-Identifier: GPL-3.0-or-later
// Training: all iterations of an experiment, this rank's share of them, under either clock.
#pragma once
#include <stdexcept>
#include <string>

#include "core/engine/device_readings.h"
#include "core/engine/regroup.h"
#include "core/engine/speed_failures.h"
#include "core/engine/step.h"
#include "core/engine/survival.h"
#include "core/experiment/document.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

/// Progress of one finished iteration.
struct IterationReport {
    int iteration = 0;    ///< 0-based
    double offset_s = 0;  ///< network time at its start; under the wall clock time that passed while iterations ran
    const Timeline* timeline = nullptr;  ///< of all ranks' nodes
    IterationResult result;
    double machine_s = 0;       ///< this machine's time since training began, validation left out
    std::int64_t tokens = 0;    ///< trained so far
    DeviceReport devices = {};  ///< of all ranks' GPUs, while it ran
};

/// Where a training stands between two iterations.
struct TrainingPosition {
    int iterations_done = 0;
    bool validated = false;  ///< after these iterations
    double network_s = 0;    ///< where the next iteration begins
    double machine_s = 0;
    std::int64_t tokens = 0;
    Membership members;
};

/// Where a training went back to, and what that cost.
struct Setback {
    TrainingPosition position;  ///< where it goes on; its network time is that of going on
    int lost_iterations = 0;    ///< that were done and are done again
    double lost_s = 0;          ///< network time since that position, with what it took to go back
    std::string why;
};

/// Hears what training does; on rank 0 only.
class TrainingListener {
public:
    virtual ~TrainingListener() = default;
    virtual void validated(int iterations_done, double network_s, double machine_s, std::int64_t tokens,
                           const ValidationResult& result) = 0;
    virtual void iterated(const IterationReport& report) = 0;
    /// What was done about nodes that were lost in an iteration that began at `offset_s` of network time.
    virtual void recovered(int iteration, double offset_s, const RecoveryReport& report) {
        static_cast<void>(iteration), static_cast<void>(offset_s), static_cast<void>(report);
    }
    /// Before an iteration nodes came back at `at_s` of network time; it waits for what they fetch.
    virtual void rejoined(int iteration, double at_s, const RejoinReport& report) {
        static_cast<void>(iteration), static_cast<void>(at_s), static_cast<void>(report);
    }
    /// Nothing was to be saved of what was done since a checkpoint: the training goes on from there, at `position`.
    virtual void went_back(const TrainingPosition& position, const Setback& setback) {
        static_cast<void>(position), static_cast<void>(setback);
    }
    /// From `at_s` of network time on, in this iteration, this, and nothing else, is slower or varies by the document's
    /// failures.
    virtual void speeds_changed(int iteration, double at_s, const std::vector<SpeedChange>& changes) {
        static_cast<void>(iteration), static_cast<void>(at_s), static_cast<void>(changes);
    }
    /// Ranks were lost or have come back, and the others went on.
    virtual void regrouped(const RegroupReport& report) { static_cast<void>(report); }
    /// From this iteration on another plan is in force. `why`: "" where the controller asked for it.
    virtual void plan_switched(int iteration, const Plan& plan, const std::string& why) {
        static_cast<void>(iteration), static_cast<void>(plan), static_cast<void>(why);
    }
};

/// What is wanted before an iteration begins.
struct TrainingCommand {
    /// A node that is lost now, and when it is back, in network time from now.
    struct Loss {
        int node = 0;
        double back_after_s = 0;
    };
    bool stop = false;
    std::string plan_json;     ///< to go over to, with the nodes where they are; empty: the present one
    std::vector<Loss> losses;  ///< virtual clock only
};

/// Says how training goes on; on rank 0 only. The others follow.
class TrainingController {
public:
    virtual ~TrainingController() = default;
    /// Asked between iterations; blocks while paused.
    virtual TrainingCommand next() = 0;
    /// Ranks that are lost, or will be at once, and that nobody starts again. Does not wait.
    virtual std::vector<int> never_back() { return {}; }
    /// To be done in all, where that was raised since the start; else 0. Asked before the last one would be over. Does
    /// not wait.
    virtual int iterations() { return 0; }
};

/// Hears on every rank, between two iterations and at the same ones, that the training could go on from here: nothing
/// is under way, and the back end's state is that of the position.
class CommitListener {
public:
    virtual ~CommitListener() = default;
    /// `in_force`: the plan of the iterations so far, with everybody there. `last`: no iteration follows in this
    /// training. Every rank may use the transport, all in the same way.
    virtual void committed(const TrainingPosition& position, const Plan& in_force, bool last) = 0;
    /// Ranks were lost or have come back: what was under way with the others is given up. On every rank that is there.
    virtual void regrouped() {}
    /// On rank 0: a commit point that all can go back to, in words that the other ranks understand; "": none.
    virtual std::string newest() { return {}; }
    /// The back end's nodes here become what they were at that commit point, on every rank that is there, with the same
    /// plan in force. Nothing is under way. Throws InputError where it cannot be read.
    virtual TrainingPosition go_back(const std::string& newest, const Plan& in_force) {
        static_cast<void>(newest), static_cast<void>(in_force);
        throw std::logic_error("nothing is kept that a training could go back to");
    }
    /// The same of a stage alone, while the others stay what they are.
    virtual void rebuild(const std::string& newest, int stage, const Plan& in_force) {
        static_cast<void>(newest), static_cast<void>(stage), static_cast<void>(in_force);
        throw std::logic_error("nothing is kept that a stage could start from");
    }
};

/// From where a training goes on; the back end has that state already.
struct TrainingStart {
    TrainingPosition position;
    bool validate_first = true;  ///< before the first step, where that was not done at this position
    CommitListener* commits = nullptr;
    bool commit_first = false;               ///< the start is a commit point too
    DeviceMeter* meter = nullptr;            ///< of this rank's GPUs: on every rank or on none; null: nobody reads any
    const Planner* planner = nullptr;        ///< plans anew for those who are left after a loss; null: nobody does
    std::int64_t replanning_operations = 0;  ///< of each search for the rest of an iteration, as in ReplanRequest
};

/// Hears what ended a training before anything of it is taken down: the other ranks still listen.
using Failed = std::function<void(std::exception_ptr)>;

/// One rank's share of a training. Listener and controller are rank 0's and null elsewhere. Validates before the first
/// step, every `validate_every`, and after the last one. Throws what operations threw (ComputeError),
/// std::runtime_error where training diverges or the plan comes to a deadlock, InputError where a plan to go over to
/// cannot be executed. After a throw the transport is aborted. From a position with iterations done, and without
/// a validation first, it goes on as a training that has come there does, to the bit.
void train(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
           RankTransport& transport, TrainingListener* listener, TrainingController* controller,
           const Failed& failed = {}, const TrainingStart& start = {});

}  // namespace skippipe
