// SPDX-License-Identifier: GPL-3.0-or-later
// What replanning works on: for the files of replan alone.
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/infinite.h"
#include "core/planner/replan/replan.h"
#include "core/planner/replan/residual_simulator.h"

namespace skippipe {

/// The rest of an iteration, the best paths for it so far, and what other paths would take. `request` and the rest
/// outlive it.
class ReplanState {
public:
    ReplanState(const Problem& problem, const Plan& plan, const ReplanRequest& request);

    const Problem& network() const { return changed_ ? *changed_ : problem; }
    const std::string& name(NodeIndex node) const { return problem.node_ids[node]; }
    bool living(NodeIndex node) const { return residual.down[node] == 0; }
    StageIndex stage_of(NodeIndex node) const { return best.stage_of[node]; }
    bool finished(ReleaseIndex i) const { return residual.begin[i] == Residual::Begin::finished; }
    bool fresh(ReleaseIndex i) const { return residual.begin[i] == Residual::Begin::fresh; }
    bool forced(ReleaseIndex i, int hop) const {
        return residual.forced[static_cast<std::size_t>(i * length + hop)] != 0;
    }
    NodeIndex* path(std::vector<NodeIndex>& nodes, ReleaseIndex i) const {
        return nodes.data() + static_cast<std::ptrdiff_t>(i) * length;
    }
    const NodeIndex* path(const std::vector<NodeIndex>& nodes, ReleaseIndex i) const {
        return nodes.data() + static_cast<std::ptrdiff_t>(i) * length;
    }
    /// Whether a microbatch that has not started may go to another data node without one coming back for it.
    bool may_unbalance() const;

    /// Living nodes and those that join, which fetch weights and the optimizer's state from the sibling that can send
    /// them first.
    void update_stages();
    /// Whether the plan as it is needs a lost node: for an operation, or for an all-reduce that has not ended.
    bool stuck() const;

    /// Seconds that a node would work for what is left of a microbatch at a hop.
    double work_s(ReleaseIndex i, int hop, NodeIndex node) const;
    /// There with the activation and back with the gradient on an idle network; infinite without a line.
    double round_s(NodeIndex from, NodeIndex to) const;
    /// When a node could have done a hop's work, roughly: what it has to do already, the way there and on, the work.
    /// Neighbours that are down do not count.
    double cost_s(const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, NodeIndex node) const;
    /// Up to `most` living nodes of the stage in the order of their costs, without `except`.
    std::vector<NodeIndex> best_siblings(const std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, StageIndex stage,
                                         NodeIndex except, std::size_t most) const;
    /// Moves a hop to another node, with its load.
    void move(std::vector<NodeIndex>& nodes, ReleaseIndex i, int hop, NodeIndex node);
    /// Takes paths as the best so far.
    void adopt(const std::vector<NodeIndex>& nodes, double seconds);

    /// Iteration of the rest with these paths; `timeline` (may be null) takes its spans.
    double try_out(const std::vector<NodeIndex>& nodes, double cutoff_s = infinite, Timeline* timeline = nullptr);
    /// Whether the search has had its share of what it may; of many nodes, or would with one rest more and the
    /// answer's.
    bool spent(double share = 1) const {
        return static_cast<double>(simulator().operations() + reserved_) > share * static_cast<double>(limit_);
    }
    Operation operation_of(int id) const;
    /// What the order binds with these paths; a node that takes a microbatch over runs it when it can.
    PerNode<std::vector<int>> bound_order(const std::vector<NodeIndex>& nodes) const;
    ResidualSimulator& simulator() { return *simulator_; }
    const ResidualSimulator& simulator() const { return *simulator_; }
    const ResidualPlan& trial() const { return trial_; }
    const std::vector<int>& running() const { return begun_; }

    const Problem& problem;
    const Plan& plan;
    const ReplanRequest& request;
    Residual residual;
    int length = 1;
    ResidualPlan best;
    double best_s = infinite;
    PerNode<std::vector<Operation>> order;  ///< empty: dispatch decides
    PerNode<double> load_s;                 ///< work left with the best paths
    PerStage<int> visits;
    std::vector<std::string> said;  ///< sentences about nodes that join
    std::vector<Span> fetches;      ///< of weights

private:
    void make_residual_with_joins();
    void update_reductions();
    StageIndex neediest_stage(const PerStage<std::vector<NodeIndex>>& stages) const;
    void join(NodeIndex node, StageIndex stage);
    void fetch_weights(NodeIndex node, StageIndex stage);
    void count_load();
    void index_operations();
    int id_of(const std::vector<NodeIndex>& nodes, NodeIndex node, const Operation& operation) const;
    bool is_left(int id) const;

    std::optional<Problem> changed_;
    std::vector<NodeIndex> down_;    ///< lost now
    std::vector<StageIndex> joins_;  ///< stages of the nodes that join
    std::optional<ResidualSimulator> simulator_;
    ResidualPlan trial_;
    std::int64_t limit_ = 0, reserved_ = 0;  ///< operations
    IndexedVector<MicrobatchIndex, ReleaseIndex> index_of_;
    std::vector<int> begun_, weights_;  ///< ids that run; weight gradients that wait after their step
};

/// Puts in place of what is lost what the change forces and no more. Throws InputError where no rest can be.
void repair(ReplanState& state);
/// Moves microbatches that have not started, for as long as each move is worth the threshold.
void improve(ReplanState& state);

}  // namespace skippipe
