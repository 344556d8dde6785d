// SPDX-License-Identifier: GPL-3.0-or-later
// The candidate that an annealer changes, with what every move needs to know of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/common/reduction_starts.h"
#include "plugins/planners/joint/anneal/journal.h"

namespace skippipe::planners::joint {

/// What is minimised, seconds: the iteration, and with some weight the data nodes' mean end (mean_end_s()).
struct AnnealingCost {
    double iteration_s = 0, mean_end_s = 0;
};

/// Whether, once orders are bound, times are sums and maxima along a graph: nothing on a line waits for another node's.
inline bool follows_a_graph(const Problem& problem) { return has_dedicated_lines(problem) && !problem.plan_reductions; }

/// 0 .. n - 1.
template <typename Number = int>
Number pick(Rng& rng, std::integral auto n) {
    return Number(rng.below(static_cast<std::uint64_t>(n)));
}

/// Moves change the candidate through the journal alone. Keeps a reference to the problem.
class SearchState {
public:
    SearchState(const Problem& problem, const PlanCandidate& start);
    SearchState(const SearchState&) = delete;
    SearchState& operator=(const SearchState&) = delete;

    /// With the candidate's blocks where they are planned.
    const Problem& problem() const { return problem_; }
    const PlanCandidate& candidate() const { return candidate_; }
    const FlatPlan& schedule() const { return candidate_.schedule; }
    int count() const { return candidate_.schedule.count(); }  ///< T
    int length() const { return candidate_.schedule.length; }  ///< p
    NodeIndex node(ReleaseIndex index, int hop) const { return schedule().path(index)[hop]; }
    StageIndex stage_of(NodeIndex node) const { return schedule().stage_of[node]; }
    const std::vector<NodeIndex>& ring(StageIndex stage) const { return candidate_.stages[stage]; }
    int blocks(StageIndex stage) const { return candidate_.blocks[stage]; }
    bool plans_blocks() const { return own_.has_value(); }
    bool placement_is_free() const { return problem_.placement.empty() && problem_.nodes() > 1; }
    /// Whether CC2 lets a stage have another visit.
    bool may_visit(StageIndex stage) const { return visits_[stage] < visits_cap_; }
    /// Whether CC2 lets any path visit another stage than it does.
    bool visits_have_slack() const;

    /// Where reductions are planned: a stage's pieces at one place, or its best start, or any. False: nothing changed.
    bool vary_reduction(StageIndex stage, Rng& rng);

    /// Whether the journal has kept what this candidate is derived from in step with it: visits.
    std::string inconsistency() const;

protected:
    NodeIndex* path(ReleaseIndex index) { return candidate_.schedule.path(index); }
    /// Gives a hop another node, and its stage's visits with it.
    void set_hop(ReleaseIndex index, int hop, NodeIndex node);
    void move_blocks(StageIndex from, StageIndex to, int count);
    /// Two microbatches take each other's path and position in the release order.
    void swap_microbatches(ReleaseIndex i, ReleaseIndex j);
    /// After other nodes came to a stage: its pieces stay where that is no longer than the best start of these nodes;
    /// where their number is another, it is the best start.
    void refit_reduction(StageIndex stage);
    void undo_candidate();
    void accept_candidate();

    Journal journal_;
    PlanCandidate candidate_;
    bool blocks_moved_ = false;

private:
    std::optional<Problem> own_;  ///< where blocks are planned
    const Problem& problem_;
    std::optional<ReductionChoice> reductions_;  ///< where they are planned
    PerStage<int> visits_;
    int visits_cap_ = 0;
};

/// Proposes another way to sum a stage's gradient.
template <class State>
bool propose_reduction(State& state, Rng& rng) {
    return state.vary_reduction(pick<StageIndex>(rng, state.candidate().stages.size()), rng) && state.lines_fit();
}
/// How often that is drawn.
template <class State>
int reduction_weight(const State& state) {
    return state.problem().plan_reductions ? 4 : 0;
}

/// Proposes that two microbatches of different sizes take each other's path and position.
template <class State>
bool propose_sizes(State& state, Rng& rng) {
    const auto i = pick<ReleaseIndex>(rng, state.count()), j = pick<ReleaseIndex>(rng, state.count());
    const auto samples = [&](ReleaseIndex index) {
        return state.problem().samples_of(state.schedule().microbatches[index]);
    };
    if (samples(i) == samples(j)) return false;
    state.swap_microbatches(i, j);
    return true;
}

}  // namespace skippipe::planners::joint
