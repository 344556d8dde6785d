// SPDX-License-Identifier: GPL-3.0-or-later
// A candidate whose nodes run what comes first, judged by the exact timeline or over drawn networks: what annealing
// over placement, paths and priorities changes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "plugins/planners/common/network.h"
#include "plugins/planners/joint/anneal/search_state.h"
#include "plugins/planners/joint/paths/drawn_networks.h"
#include "plugins/planners/joint/paths/tail_cost.h"

namespace skippipe::planners::joint {

struct PathOptions {
    /// Kept by reference. Not null: their TailCost is minimised instead of the iteration on the network as drawn.
    const Scenarios* scenarios = nullptr;
    /// The same by DrawnNetworks.
    const Jitter* drawn = nullptr;
    std::uint64_t seed = 0;    ///< of the drawn networks
    bool hold_blocks = false;  ///< the blocks of the stages stay as they are
};

class PathState : public SearchState {
public:
    static constexpr double mean_end_weight = 0.5;
    /// Data nodes that end a tenth sooner on the mean, by one step, do not happen: past that, the iteration alone rules
    /// a candidate out.
    static double cutoff_s(double threshold_s, const AnnealingCost& current, double) {
        return threshold_s - mean_end_weight * 0.9 * current.mean_end_s;
    }

    /// `start` is complete and within CC1-CC3, without a binding order.
    PathState(const Problem& problem, const Network& network, const PlanCandidate& start,
              const PathOptions& options = {});

    AnnealingCost cost(double cutoff_s);
    void accept() { accept_candidate(); }
    void undo() { undo_candidate(); }
    /// What is wrong with the candidate, of which `claimed` was said; empty: nothing.
    std::string fault(const AnnealingCost& claimed);

    bool may_move_blocks() const { return may_move_blocks_; }
    /// Whether a path that was changed is within CC1, CC3 and has its lines.
    bool fits(ReleaseIndex index) const;
    /// The same of all paths and rings, where only lines can be missing.
    bool lines_fit() const;

    void set_hop(ReleaseIndex index, int hop, NodeIndex node) { SearchState::set_hop(index, hop, node); }
    void swap_hops(ReleaseIndex i, int a, ReleaseIndex j, int b);
    void swap_paths(ReleaseIndex i, ReleaseIndex j);
    /// Moves a path to another position in the release order; those between move up by one.
    void move_path(ReleaseIndex from, ReleaseIndex to);
    /// The two nodes exchange stage, position in the ring and every visit.
    void swap_nodes(NodeIndex u, NodeIndex v);
    void swap_in_ring(StageIndex stage, int a, int b);
    /// Its visits go to its siblings, at random. It is not the last node of the stage.
    void leave_stage(NodeIndex node, Rng& rng);
    /// Takes its share of the stage's visits, at random; it was in none.
    void enter_stage(NodeIndex node, StageIndex stage, Rng& rng);
    using SearchState::move_blocks;
    using SearchState::swap_microbatches;

private:
    AnnealingCost tail_cost(double cutoff_s);
    void set_positions(StageIndex stage);

    Simulator simulator_;
    bool is_robust() const { return tail_cost_ || drawn_networks_; }

    std::optional<TailCost> tail_cost_;
    std::optional<DrawnNetworks> drawn_networks_;
    std::vector<double> operation_end_s_;  ///< for tail_cost_
    bool missing_lines_ = false, may_move_blocks_ = false;
    PerNode<int> position_;  ///< index within its ring; -1: in none
};

}  // namespace skippipe::planners::joint
