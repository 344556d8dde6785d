// SPDX-License-Identifier: GPL-3.0-or-later
// Steps that several planners share: a placement, paths on it, and an end that is always a complete plan.
#pragma once
#include <string>

#include "plugins/planners/common/placement.h"
#include "plugins/planners/common/routing.h"

namespace skippipe::planners {

/// When a search has to stop, and whom it tells how far it is.
class Budget {
public:
    /// `share`: part of the request's seconds and progress that this search has, from `begin` on.
    Budget(const PlanRequest& request, double begin, double end);
    /// Another part of the same time: what an earlier part took too much is missing here.
    Budget part(double begin, double end) const;
    /// The same, where steps say how far the search is; the clock still ends it, and is what progress shows.
    Budget by_steps() const;
    /// This part is over now: what comes after it has all the time that the request says is left then.
    void end_now();
    /// False once cancelled or out of time; reports `fraction` of this search. Cheap, but not for every step.
    bool go_on(double fraction, double best_s = 0) const;
    /// Part of the time that is used up where the clock decides, else 0.
    double clock_fraction() const;
    /// The same to be asked again and again, as long as this lives; empty where steps decide.
    std::function<double()> clock() const;
    /// Of this part, by the clock.
    double seconds() const { return request_.seconds * (end_ - begin_); }
    /// Until it ends, by the clock.
    double seconds_left() const;
    bool by_clock() const { return request_.seconds > 0 && !by_steps_; }

private:
    double used() const;

    const PlanRequest& request_;
    double begin_, end_, started_s_;
    bool by_steps_ = false;
};

/// Simulated annealing's outer loop: calls `step(temperature_s)` up to `steps` times, the temperature falling from
/// `first_s` to `first_s * ratio`; by the clock where `clock_fraction` is given. `go_on` is asked about every
/// millisecond of timelines of so many operations, with the fraction done.
void cool_down(std::int64_t steps, int operations, double first_s, double ratio,
               const std::function<double()>& clock_fraction, const std::function<bool(double)>& go_on,
               const std::function<void(double)>& step);

/// Paths of stages 0..S-1 in order for every microbatch, every node of a stage as often as its siblings, blind to the
/// network; on the listed placement, or, where lines are missing there, on one that has them.
PlanCandidate full_pipeline_candidate(const Problem& problem, const PlanRequest& request);

/// Makes the candidate complete: where dispatch deadlocks (TC1), a binding order that does not, noted in `note`.
void ensure_complete(const Problem& problem, PlanCandidate& candidate, std::string& note);

/// "throttled by M = 3", with the range where nodes differ; empty where memory is ignored.
std::string throttle_note(const Problem& problem);

}  // namespace skippipe::planners
