// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <stop_token>

#include <QObject>
#include <QThreadPool>
#include <QTimer>

#include "core/planner/explain/explain.h"
#include "core/planner/planner.h"
#include "views/timeline/plan_outcome.h"

namespace skippipe {

class Document;

/// Plans the document in the background after each edit: waits a moment, cancels what it was at, answers quickly first,
/// then with the experiment's own steps and seed, so that one experiment shows one plan: the command line's. Only where
/// the plan before the edit is shorter still under the edited experiment, the search goes on from that one: an edit
/// never looks worse than it is because a search ended elsewhere. Canvas places and names of the experiment do not
/// matter to it.
class PlanService : public QObject {
    Q_OBJECT
public:
    PlanService(Document& document, const PlannerRegistry& planners, QObject* parent = nullptr);
    ~PlanService() override;

    const PlannerRegistry& planners() const { return planners_; }
    /// The newest answer; null before the first.
    std::shared_ptr<const PlanOutcome> outcome() const { return outcome_; }
    /// Iteration time of the last plan before the edit that led to this one; 0: none, or one of nodes that are gone.
    double previous_iteration_s() const { return previous_s_; }
    /// Why outcome() takes as long as it does; null until it is worked out, after the plan itself is shown.
    std::shared_ptr<const Explanation> explanation() const { return explanation_; }
    bool is_busy() const { return busy_; }
    /// Whether the newest answer is still of the document before the last edit.
    bool is_outdated() const { return outcome_serial_ != serial_; }
    /// The plan of the document as it stands; null while it is searched for, and where there is none.
    std::shared_ptr<const PlanOutcome> ready() const {
        return !busy_ && outcome_ && outcome_->has_plan ? outcome_ : nullptr;
    }
    double progress() const { return progress_; }

Q_SIGNALS:
    void planned();
    void busy_changed();
    /// explanation() is there, or no longer.
    void explained();

private:
    void schedule();
    void start();
    std::shared_ptr<const PlanOutcome> search(const Experiment& experiment, const Planner& planner, PlanRequest request,
                                              const std::shared_ptr<const PlanOutcome>& before, int serial);
    void deliver(std::shared_ptr<const PlanOutcome> outcome, int serial, bool last);
    void deliver(std::shared_ptr<const Explanation> explanation, int serial);

    Document& document_;
    const PlannerRegistry& planners_;
    QTimer delay_;
    QThreadPool pool_;
    std::stop_source stop_;
    std::shared_ptr<const PlanOutcome> outcome_;
    std::shared_ptr<const Explanation> explanation_;
    std::optional<Experiment> key_;  ///< what is planned, or was last
    Faults refused_;                 ///< those that kept it from being planned
    int serial_ = 0, outcome_serial_ = -1;
    bool busy_ = false, compare_ = false;
    double previous_s_ = 0, progress_ = 0;
};

/// Everything the plan depends on, who makes it and how long among it.
Experiment plan_key(const Experiment& experiment);
/// Seed and steps of the experiment; threads never change the plan.
PlanRequest request_for(const Experiment& experiment);
/// Plans an experiment here and now. Never throws: faults say why there is no plan; none of both once it was to stop.
std::shared_ptr<PlanOutcome> make_plan(const Experiment& experiment, const Planner& planner, PlanRequest request,
                                       Bounding bounding = Bounding::worked_out);
/// The plan that is shown in the end: the experiment's own search and, where `kept` is shorter still, one that goes on
/// from there. Null: no plan was there before.
std::shared_ptr<PlanOutcome> settled_plan(const Experiment& experiment, const Planner& planner, PlanRequest request,
                                          const PlanOutcome* kept, Bounding bounding = Bounding::worked_out);
/// The plan in the numbers of `now`, the ids of the nodes; nothing where one that it uses is gone. Of as many nodes one
/// with a new id is the one that stood there.
std::optional<Plan> renumbered(const Plan& plan, const std::vector<std::string>& before,
                               const std::vector<std::string>& now);
/// The same for a plan that is there already, of another state of the experiment, whose nodes may have come, or gone
/// where it used none of them; null where it is none of this one, or, of a planner that skips, one of another skip
/// ratio.
std::shared_ptr<PlanOutcome> carry_over(const Experiment& experiment, const PlanOutcome& before,
                                        const Planner& planner);
/// Why a plan that was found takes as long as it does; null where it has no end (deadlock), or where `stop` asked for
/// an end.
std::shared_ptr<const Explanation> explain_outcome(const PlanOutcome& outcome, std::stop_token stop);
/// Lanes of one executed plan: its spans and its gaps by cause.
std::shared_ptr<const TimelineData> lanes_of(const Problem& problem, const Plan& plan, const Timeline& timeline,
                                             const IdleReport& idle);

}  // namespace skippipe
