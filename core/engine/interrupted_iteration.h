// SPDX-License-Identifier: GPL-3.0-or-later
// The iteration under way on one rank, by the wall clock, as losses of ranks interrupt it (core/engine/rest.h).
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/engine/plan_execution.h"
#include "core/engine/regroup.h"

namespace skippipe {

/// What this rank knows of it: by which plan it began, each rest of it that was made after a loss, which of those is to
/// run, and, while nothing runs, what this rank has of it.
class InterruptedIteration {
public:
    /// It begins, whole.
    void begin(const Plan& plan);
    /// It is over, or begins again: nothing is kept of it.
    void forget();

    /// Ends what `execution` has under way of it. `computed`: what had ended here and not been shared, or null.
    void interrupt(PlanExecution& execution, const RankIteration* computed);
    /// Where this rank stands in it.
    void say(RankPosition& position) const;
    /// A rest that all can go on with, as all of them make it; nothing: the iteration begins again. All members call
    /// it. `is_new`: this rank has just come. Throws PeerFault where a rank makes another than rank 0.
    std::optional<PlannedRest> plan_rest(const Problem& problem, const RankSchedule& everybody, const Regrouping& met,
                                         const Agreement& agreement, bool is_new, RecoveryController& controller,
                                         RankTransport& transport) const;
    /// That rest is to run now; the report says what runs again for it. Returns how the ranks execute it.
    RankSchedule go_on(PlannedRest rest, const Agreement& agreement, bool is_new, RegroupReport& report);
    /// Whether a rest is to run, not the whole.
    bool has_rest() const { return rests_to_begin_ > 0; }
    /// Runs that rest.
    RankIteration run_rest(int iteration, PlanExecution& execution);

    /// These nodes are not there from now on, so long after the iteration's start.
    void note_lost(const std::vector<NodeIndex>& nodes, double since_s);
    const std::map<NodeIndex, double>& down_since_s() const { return down_since_s_; }

private:
    Plan plan_;                                  ///< by which it began
    double origin_s_ = 0;                        ///< when, common clock
    std::vector<Replan> rests_;                  ///< each of what was left after a loss
    bool looks_on_ = false;                      ///< this rank came in the middle of it
    int rests_to_begin_ = 0;                     ///< of the rests this one is to run; 0: the whole iteration
    int rests_begun_ = RankPosition::not_begun;  ///< which of them interrupted_ is of
    std::optional<Interrupted> interrupted_;     ///< what this rank has of it, while nothing runs
    std::map<NodeIndex, double> down_since_s_;   ///< lost in it, and when, from its start
};

}  // namespace skippipe
