// SPDX-License-Identifier: GPL-3.0-or-later
// The candidate that an annealer changes, with what every move needs to know of it.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "plugins/planners/common/plan_candidate.h"
#include "plugins/planners/joint/anneal/journal.h"

namespace skippipe {

/// What is minimised, seconds: the iteration, and with some weight the data nodes' mean end (mean_end_s()).
struct AnnealingCost {
    double iteration_s = 0, mean_end_s = 0;
};

/// 0 .. n - 1.
inline int pick(Rng& rng, std::size_t n) { return static_cast<int>(rng.below(n)); }
inline int pick(Rng& rng, int n) { return static_cast<int>(rng.below(static_cast<std::uint64_t>(n))); }

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
    int node(int index, int hop) const { return schedule().path(index)[hop]; }
    int stage_of(int node) const { return schedule().stage_of[static_cast<std::size_t>(node)]; }
    const std::vector<int>& ring(int stage) const { return candidate_.stages[static_cast<std::size_t>(stage)]; }
    int blocks(int stage) const { return candidate_.blocks[static_cast<std::size_t>(stage)]; }
    bool plans_blocks() const { return own_.has_value(); }
    bool placement_is_free() const { return problem_.placement.empty() && problem_.nodes() > 1; }
    /// Whether CC2 lets a stage have another visit.
    bool may_visit(int stage) const { return visits_[static_cast<std::size_t>(stage)] < visits_cap_; }
    /// Whether CC2 lets any path visit another stage than it does.
    bool visits_have_slack() const;

    /// Whether the journal has kept what this candidate is derived from in step with it: visits.
    std::string inconsistency() const;

protected:
    int* path(int index) { return candidate_.schedule.path(index); }
    /// Gives a hop another node, and its stage's visits with it.
    void set_hop(int index, int hop, int node);
    void move_blocks(int from, int to, int count);
    /// Two microbatches take each other's path and position in the release order.
    void swap_microbatches(int i, int j);
    void undo_candidate();
    void accept_candidate();

    Journal journal_;
    PlanCandidate candidate_;
    bool blocks_moved_ = false;

private:
    std::optional<Problem> own_;  ///< where blocks are planned
    const Problem& problem_;
    std::vector<int> visits_;  ///< [stages]
    int visits_cap_ = 0;
};

}  // namespace skippipe
