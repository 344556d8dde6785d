// SPDX-License-Identifier: GPL-3.0-or-later
// One rank's training while it runs (core/engine/trainer.h starts it): the loop over iterations in trainer.cpp,
// going over to another plan in trainer_switch.cpp, meetings of ranks after losses and returns in trainer_regroup.cpp,
// what all go back to in trainer_setback.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/failing_network.h"
#include "core/engine/interrupted_iteration.h"
#include "core/engine/plan_ahead.h"
#include "core/engine/plan_execution.h"
#include "core/engine/state_transfer.h"
#include "core/engine/trainer.h"

namespace skippipe {

/// Machine time while it runs; validation is not part of training.
class Stopwatch {
public:
    explicit Stopwatch(double total_s) : total_s_(total_s) {}
    void resume();
    void pause();
    double total_s() const { return total_s_; }

private:
    std::optional<double> since_s_;
    double total_s_;
};

/// The references outlive it.
class Trainer {
public:
    Trainer(const Experiment& experiment, const Problem& problem, const RankSchedule& schedule, ComputeBackend& compute,
            RankTransport& transport, TrainingListener* listener, TrainingController* controller,
            const TrainingStart& start);

    /// Until the last iteration, or rank 0 says stop. Throws as `train` does.
    void run();

private:
    const RankSchedule& schedule() const { return network_ ? network_->schedule() : execution_->schedule(); }
    static constexpr const char *stop_word = "stop", *meet_word = "meet";  ///< rank 0's, where it tells of no plan

    TrainingPosition position() const;
    bool everybody_is_there() const;
    Plan plan_from(const std::string& plan_json) const;

    /// From one point at which nothing is under way to the next; what a lost rank interrupts is done again.
    void advance();
    /// Rank 0 tells the others: to stop, to take in who has come back, to go over to a plan, or nothing.
    bool go_on();
    /// All ranks, where none is left to do: the training may have been extended meanwhile.
    void hear_extension();
    /// All ranks. Nobody goes over to it until all know it, and have what their nodes need where they go.
    void switch_plan(const std::string& plan_json);
    /// To what all know: from here on it is done. The plan.
    RankSchedule take_switch();
    /// This rank has just come: its nodes are where the others say.
    void settle_in(const Plan& placement);
    /// Where the others are: one that had not heard that all know another plan goes over to it now.
    void take_switches(const Agreement& agreement);
    /// Nodes of this rank's members that have no stage in a plan.
    std::vector<NodeIndex> spares(const Plan& plan) const;
    /// Nodes of ranks that are not there, ascending.
    std::vector<NodeIndex> missing() const;
    /// On rank 0: plans for those who are there, where the placement was made for others.
    void plan_ahead(const Plan& now);
    /// By hand, between two iterations. Whoever trains without failures of the document goes on as one with them.
    void lose(const TrainingCommand::Loss& loss);
    /// Rank 0's, for the ranks that are there; "": none yet, or none that is better.
    std::string plan_made_anew();
    void go_over_to(RankSchedule next);
    void commit(bool last);
    void validate();

    void iterate();
    RankIteration run_once();
    /// Wall clock, every rank: what rank 0 says is slower in the iteration, or its rest, that runs next.
    void change_speeds();
    void go_back(const Setback& setback);
    /// The iteration is over: `commit` is what all ranks gave. Where the others do not say what their nodes did
    /// (`together` false, or one is lost meanwhile), its timeline is that of this rank's.
    void conclude(Commit commit, bool together);
    /// On rank 0 what the GPUs said since the iteration began: of all ranks where they are `together`.
    DeviceReport read_devices(bool together);
    /// Nothing is kept any more of the iteration that was under way.
    void forget_iteration();

    /// Ranks were lost, or one has come back: who is there agrees on where the training stands, and goes on.
    void regroup();
    /// Ends what is under way. What this rank has of the iteration stays, until it is committed or begins again.
    void interrupt();
    RankPosition position_among_ranks() const;
    Agreement agree_with_all(const Regrouping& met, const std::vector<std::string>& positions);
    /// Where the others are: one that had not heard how the last iteration ended takes its step now.
    void take_place(const Agreement& agreement);
    void go_on_with(PlannedRest rest, const Agreement& agreement, RegroupReport& report);
    /// Nodes that are not there from now on were so since that long after the iteration's start.
    void note_absent(double since_s);
    /// On rank 0: whether they go on, go back or wait.
    void choose_way(const Regrouping& met, Agreement& agreement);
    /// Everybody becomes what it was in the checkpoint. Until all are, whoever is interrupted is torn. What that cost,
    /// but for the meeting.
    Setback go_back_with_all(const Agreement& agreement);
    void tell_setback(Setback setback, double going_back_s);
    /// A stage has no node left: until somebody has come for it, or the training is to stop.
    void stand_still();
    /// On rank 0: whether there is a plan for those who are there.
    bool has_plan_for(const std::vector<int>& members);
    /// Who has just come gets what the others have, or what its stage starts from.
    void give_weights(const std::vector<int>& members, const Agreement& agreement);
    void tell(const Regrouping& met, const Agreement& agreement, RegroupReport report);

    const Experiment& experiment_;
    const Problem& problem_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    TrainingListener* listener_;
    TrainingController* controller_;
    RankSchedule everybody_;  ///< with every rank there: of the plan in force, or of the one that is when all are back
    std::optional<FailingNetwork> network_;  ///< where the drawn network has failures
    std::optional<SpeedFailures> speeds_;    ///< under the wall clock, on rank 0
    std::vector<SpeedChange> slower_;        ///< so told last
    ReplanController replanner_;
    const Planner* planner_;
    PlanAhead ahead_;     ///< under the wall clock, on rank 0
    std::string reason_;  ///< of the plan that is gone over to; "": the controller's
    /// A plan that this rank knows and the others may not know yet, and what leads there.
    struct Switch {
        RankSchedule next;
        std::vector<NodeMove> moves;
        FetchedStates fetched;
        std::vector<NodeIndex> without;  ///< who was not there when it was made
    };
    std::optional<Switch> switch_;
    int switches_ = 0;                          ///< so far
    Membership::Placed placed_;                 ///< for whom nodes are where they are; wall clock, rank 0's
    PerNode<StageIndex> held_;                  ///< the stage that each node has, or had last
    std::unique_ptr<PlanExecution> execution_;  ///< where network_ has none
    CommitListener* commits_;
    DeviceMeter* meter_;
    Stopwatch watch_;
    double network_s_;
    std::int64_t tokens_;
    int iterations_;                          ///< to be done in all
    int done_, committed_at_, validated_at_;  ///< iterations
    bool validation_due_, over_ = false;

    std::optional<double> began_s_;          ///< when what is under way and not committed began, steady_s()
    std::optional<RankIteration> computed_;  ///< what has ended here and not been shared with all
    double step_from_s_ = 0;                 ///< common clock
    Commit commit_;                          ///< of the last iteration done

    InterruptedIteration under_way_;          ///< of the wall clock
    std::optional<RankSchedule> after_rest_;  ///< where a rest is to run: what all go over to then

    // Where the weights of a stage were lost, or all go back whoever is (core/engine/way_on.h).
    int waits_for_ = -1;                             ///< the stage that all stand still for
    double stands_since_s_ = 0;                      ///< steady_s()
    bool torn_ = false;                              ///< goes back, and the others may not have
    int done_before_ = 0;                            ///< iterations, where it goes back
    std::optional<std::pair<int, double>> went_to_;  ///< a checkpoint's iterations, and network_s_ once all were there

    std::vector<double> squared_norms_;   ///< of each stage's last gradient; negative or none: not known
    std::vector<double> learning_rates_;  ///< of each stage, as factors of the training's; rank 0's; none: 1

    std::vector<int> told_members_;  ///< ranks that were there when it was told last
    bool is_new_;                    ///< has come back, and knows nothing of what the others know
};

}  // namespace skippipe
