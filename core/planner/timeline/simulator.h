// SPDX-License-Identifier: GPL-3.0-or-later
// The exact timeline as fast as it can be had: what planners ask tens of thousands of times a second.
#pragma once
#include <limits>
#include <optional>
#include <vector>

#include "core/planner/plan/timeline.h"
#include "core/planner/timeline/bound_orders.h"
#include "core/planner/timeline/event_simulator.h"
#include "core/planner/timeline/fast_simulator.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/lone_reduction.h"

namespace skippipe {

/// What one simulation gives; times in seconds. Incomplete (deadlock) or cut off: infinite.
struct SimulatedTimes {
    double makespan_s = std::numeric_limits<double>::infinity();
    double iteration_s = std::numeric_limits<double>::infinity();
};

/// Asks the simulator that is quickest for a plan; all give the same times to the last bit:
/// - dispatch by arrival, no split, every hop to another node: FastSimulator;
/// - bound orders on lines with one sender each: BoundOrders;
/// - all else, whole timelines, planned reductions on shared lines, and uplinks: EventSimulator.
/// Where lines are unlimited planned reductions disturb nothing: LoneReduction adds them.
/// Reuses its memory from call to call; one a thread. Keeps a reference to the problem.
class Simulator {
public:
    explicit Simulator(const Problem& problem) : problem_(problem) {}

    /// Times of a plan; stops early, with infinite times, as soon as the makespan is sure to reach `cutoff_s`; with
    /// planned reductions on shared lines as soon as the iteration is. `stages`: nodes of each stage in ring order, for
    /// the all-reduce.
    SimulatedTimes times(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages,
                         double cutoff_s = std::numeric_limits<double>::infinity());

    /// The whole timeline, every span recorded; what is blocked is named where it is incomplete.
    Timeline timeline(const FlatPlan& flat, const Plan& plan);

    /// After times(): end of each stage's last operation, negative where it was not visited.
    const PerStage<double>& stage_end_s() const { return stage_end_s_; }
    /// After times(): end of each node's last operation, negative where nothing ran.
    const PerNode<double>& node_end_s() const { return node_end_s_; }
    /// After times() that were finite, of a plan without order and split: end of each operation, [release index x
    /// (2p+1) + step]. False, and `end_s` as it was, where that is not known (other plans; times too small for the
    /// quick way).
    bool operation_ends(std::vector<double>& end_s) const;

    /// Follows the orders of a plan that has them, and notes in `start_s` [(release index x (2p+1) + step) x 2, + 1
    /// for W] when what starts. `after_s` [release index x (2p+1) + step]: the least time from an operation's end to
    /// that of all. False where the orders wait for each other, or as soon as the end is sure to reach `cutoff_s`. Then
    /// node_end_s() holds. Where lines are not dedicated, as if they were unlimited.
    bool follow_orders(const FlatPlan& flat, double cutoff_s, const double* after_s, double* start_s);

private:
    bool simulate(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages, double cutoff_s);
    double reduced_s(const FlatPlan& flat, const PerStage<std::vector<NodeIndex>>& stages);
    void set_relative_sizes(const FlatPlan& flat);
    void set_stage_ends(const FlatPlan& flat);
    bool dedicated_lines();
    EventSimulator& exact();
    BoundOrders& bound_orders();

    const Problem& problem_;
    std::optional<EventSimulator> exact_;  ///< each once it is needed
    std::optional<FastSimulator> fast_;
    std::optional<BoundOrders> bound_orders_;
    std::optional<LoneReduction> lone_reduction_;
    std::optional<bool> dedicated_lines_;
    PerRelease<double> relative_sizes_;  ///< where microbatches differ in size; else empty
    PerNode<double> node_end_s_;
    PerStage<double> stage_end_s_;
    double makespan_s_ = 0;
    bool fast_done_ = false;  ///< the last run was FastSimulator's, to its end
};

}  // namespace skippipe
