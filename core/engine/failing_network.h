// SPDX-License-Identifier: GPL-3.0-or-later
// Iterations under the virtual clock while the document's failures happen.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/plan_execution.h"
#include "core/engine/survival.h"
#include "core/engine/trainer.h"

namespace skippipe {

/// Who is there, by which plan iterations go, what who comes back starts from, and what all go back to where something
/// cannot be outlived. Every node is of this rank.
class FailingNetwork {
public:
    /// All but the plan outlive it. `listener` may be null.
    FailingNetwork(const Experiment& experiment, const Problem& problem, const Plan& base, ComputeBackend& compute,
                   RankTransport& transport, TrainingListener* listener, const TrainingStart& start);

    /// Whether the next iteration, that begins at `network_s`, waits for a plan that is being made.
    bool awaits_plan(double network_s) const { return survival_.awaits_plan(network_s); }
    Membership members() const { return survival_.members(); }
    /// The plan with everybody there.
    const Plan& base() const { return survival_.base(); }
    const RankSchedule& schedule() const { return execution_->schedule(); }

    /// A node is lost between two iterations; `network_s` moves on until that is known.
    void lose(int iteration, const TrainingCommand::Loss& loss, double& network_s);
    /// A commit point: training may go back there, where checkpoints are due.
    void commit(const TrainingPosition& position);
    /// The iteration that begins at `network_s`, which moves on over what was lost before it could be done. Nothing
    /// where all go back (`setback`). Throws InputError where there is no way on.
    std::optional<RankIteration> run(int iteration, double& network_s);
    const Setback& setback() const { return setback_; }

private:
    /// What all go back to, as a checkpoint has it.
    struct Remembered {
        TrainingPosition position;
        std::vector<StageState> stages;
        RoundingResiduals residuals;
    };

    bool remembers() const;
    void take_stock(int iteration, double& network_s);
    RejoinReport bring_back(std::vector<int> nodes);
    double start_alone(int node);
    double change_plan(const Plan& plan);
    std::string who_is_left() const;
    void tell_speeds(int iteration, double at_s);
    RankIteration run_once(int iteration, double network_s, std::vector<FailureEvent>& events);
    std::nullopt_t go_back(int iteration, double from_s, double restore_s, std::string why);

    const Experiment& experiment_;
    const Problem& problem_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    TrainingListener* listener_;
    Survival survival_;
    std::vector<SpeedChange> told_speeds_;
    std::unique_ptr<RecoveryController> controller_;
    std::unique_ptr<PlanExecution> execution_;
    std::optional<Remembered> remembered_;
    Setback setback_;
    int furthest_ = -1, setbacks_ = 0;  ///< the iteration that training came to, and how often it went back since
};

}  // namespace skippipe
