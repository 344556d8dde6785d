// SPDX-License-Identifier: GPL-3.0-or-later
// A new plan for the rest of an iteration, when the network changes while it runs.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/planner/replan/progress.h"
#include "core/planner/replan/residual_simulator.h"

namespace skippipe {

/// Something that happens to the network at the instant of the progress.
struct NetworkChange {
    enum class Kind : std::uint8_t {
        node_down,
        node_joins,
        line_slower,
        node_slower,
        line_cut,
        line_varies,
        node_varies
    };
    Kind kind = Kind::node_down;
    NodeIndex node = -1;    ///< which node; a line's sender
    NodeIndex to = -1;      ///< line_...: its receiver. It happens to all pairs that share the line
    StageIndex stage = -1;  ///< node_joins: which stage it holds; -1: where most work is left for each node
    double factor = 1;  ///< line_slower: latency and bytes/bandwidth; node_slower: seconds per sample and block; > 0.
                        ///< ..._varies: standard deviation of a duration, as a share of it; plans know nothing of it

    bool slows() const { return kind == Kind::line_slower || kind == Kind::node_slower; }
    bool of_line() const { return kind == Kind::line_slower || kind == Kind::line_cut || kind == Kind::line_varies; }
    bool operator==(const NetworkChange&) const = default;
};

/// What becomes of microbatches that need a node that is down.
enum class LossRule : std::uint8_t {
    redo,       ///< siblings do what it had done, and what is left
    pass_over,  ///< the same, but paths go to another stage instead where CC2 and CC3 allow
    drop        ///< those whose loss is not computed yet are left out of the iteration; siblings do the others
};

struct ReplanRequest {
    IterationProgress progress;
    std::vector<NetworkChange> changes;
    /// Whether gradients that a lost node had added up are computed again on its siblings, forward and backward, so
    /// that none is lost. Else the stage steps on the mean over the others, and the rest is shorter.
    bool keep_gradients = true;
    LossRule losses = LossRule::redo;
    /// A microbatch that need not move is moved only where that shortens the rest (after the repair) by more than this
    /// share of it, for each one moved.
    double threshold = 0.002;
    /// Operations that the search may simulate; 0: 250,000 and 2,500 a node (about 0.05 s for 20 nodes, 1 s for 1,000).
    /// Not time: the result is reproducible.
    std::int64_t operations = 0;
};

/// Seconds are of the iteration, from its start; `at_s` less is what remains.
struct Replan {
    /// Living nodes in `stages` (empty where a stage has lost its last), the path of every microbatch in the release
    /// order of the old plan: as it was where it has finished, with the executed prefix where it is underway. A path
    /// names a node that is down only where nothing is left to do there. With an order where the old plan had one, or
    /// where memory asks for one; it names what has run first.
    Plan plan;
    std::vector<std::string>
        changes;  ///< one sentence each, for people: "microbatch 7: n5 -> n12 at stage 2 (n5 is down)"
    double at_s = 0;
    double unchanged_s = 0;  ///< if the plan stayed as it is; infinite where it needs a node that is down, or deadlocks
    double repaired_s = 0;   ///< with only what the change forces
    double iteration_s = 0;  ///< as planned now
    int forced_paths = 0;    ///< microbatches whose path had to change
    int improved_paths = 0;  ///< further ones that were moved to be faster
    int redone_forwards = 0;   ///< forwards that had ended and run again: their activations were lost
    int redone_backwards = 0;  ///< backwards that had ended and run again: their weight gradients were lost
    int lost_gradients = 0;    ///< backwards that had ended on nodes that are down and do not run again, and those of
                               ///< microbatches that are left out: their stage steps on the mean over the others
    int dropped = 0;           ///< microbatches that are left out
    Timeline timeline;  ///< what ends after at_s (transfers, and steps after planned reductions: what begins from
                        ///< then on; weights that are fetched: microbatch -1)
    /// [node] what it starts after at_s, in this order, where an order binds; empty: dispatch decides.
    PerNode<std::vector<Operation>> order_left;
    Residual residual;           ///< from which the rest goes on
    ResidualPlan residual_plan;  ///< on which it goes on
};

/// The network after the changes; over a line that is cut nothing is reachable. Throws InputError where one names no
/// node, line or stage, or a factor is not positive.
Problem changed_network(const Problem& problem, const std::vector<NetworkChange>& changes);

/// A plan for the rest. `plan` must be valid for `problem`. What the change forces is repaired first: the work of a
/// lost node goes to the sibling that can end it first; where a stage has no node left, microbatches pass over it to a
/// stage that they would have skipped, within CC3, and within CC2 counted over the stages that are left. Then
/// microbatches that have not started are moved, one by one and in groups, where that is worth the threshold. A
/// microbatch stays with its data node, unless that is down, or it has not started and the data nodes stay balanced.
/// What a rest means: core/planner/replan/residual.h. A node that joins first fetches weights and optimizer state (3 x
/// its stage's gradient bytes) from the sibling that can send them first, over their line, and works from then on.
/// Where the stage has no node left, it must bring them (from a checkpoint) and works at once. Throws InputError where
/// no rest can be: a stage has no node left and cannot be passed over, a line is missing, memory blocks (TC1).
Replan replan(const Problem& problem, const Plan& plan, const ReplanRequest& request);

/// How far the rest that `result` plans (replan(problem, plan, request)) has come at `at_s`: what replanning it again
/// starts from, with changed_network(problem, request.changes) and result.plan. Without a change that goes on to the
/// last tie.
IterationProgress progress_at(const Problem& problem, const Plan& plan, const ReplanRequest& request,
                              const Replan& result, double at_s);

}  // namespace skippipe
