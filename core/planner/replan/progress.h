// SPDX-License-Identifier: GPL-3.0-or-later
// How far an iteration has come: what replanning starts from.
#pragma once
#include <compare>
#include <vector>

#include "core/planner/plan/timeline.h"

namespace skippipe {

/// An operation that has not ended and whose input has come or is on its way: it travels (ready_s > at_s), waits, or
/// runs.
struct OpenOperation {
    ReleaseIndex index = 0;  ///< of the microbatch in release order (Plan::paths)
    int step = 0;            ///< 0..p-1 forward, p loss, p+1..2p backward (input gradient where split)
    bool weight = false;     ///< the weight gradient of that step (split backward)
    bool redo = false;       ///< it is run again: what it had left on a lost node is lost
    bool running = false;
    double ready_s = 0;             ///< arrival of its input
    double start_s = 0, end_s = 0;  ///< where it runs
    bool operator==(const OpenOperation&) const = default;
};

/// A step of a microbatch, by its place in the release order.
struct MicrobatchStep {
    ReleaseIndex index = 0;
    int step = 0;
    auto operator<=>(const MicrobatchStep&) const = default;
};

/// A node that is down, and the stage it held.
struct LostNode {
    NodeIndex node = 0;
    StageIndex stage = 0;
    bool operator==(const LostNode&) const = default;
};

/// The state of an iteration at `at_s` seconds from its start, all events up to and with that instant handled.
struct IterationProgress {
    double at_s = 0;
    PerRelease<int> steps_done;  ///< steps ended, of 2p+1 (a weight gradient is no step)
    /// In the order in which their events were created, which decides ties. A microbatch without steps done that is not
    /// named here has not started and lies on its data node since 0 s; named and not running: since `ready_s`. Any
    /// other that is neither finished nor named waits for nothing but its input, which is sent again.
    std::vector<OpenOperation> open;
    std::vector<double> line_free_s;  ///< of each line, where they are shared: until then it serves what was handed to
                                      ///< it; empty: all free
    PerStage<double> stage_end_s;     ///< end of its last operation so far (where later: its all-reduce
                                      ///< began anew), negative: none
    /// Left by an earlier loss; all empty where there was none.
    std::vector<MicrobatchStep> redo;  ///< that is to be run again or runs
    std::vector<MicrobatchStep> gone;  ///< that has been run, is not run again, and whose result nobody has
    std::vector<LostNode> lost;
    PerStage<double> stage_stepped_s;  ///< when the all-reduce and step that have begun end; negative: none has
    PerNode<double> available_s;       ///< when one that joined has its weights
    bool operator==(const IterationProgress&) const = default;
};

/// A timeline (evaluator's or engine's) of `plan`, cut at `at_s`: going on from there gives the rest of that timeline
/// to the last tie. The timeline may end at `at_s` too; an operation that runs then and is not among its spans counts
/// as waiting. With uplinks or downlinks it must be the evaluator's.
IterationProgress progress_at(const Problem& problem, const Plan& plan, const Timeline& timeline, double at_s);

/// Progress of which no more is known than the steps done, in release order: every next input lies ready at `at_s`,
/// nothing runs, every line is free. Throws InputError where the numbers do not fit the plan.
IterationProgress progress_from_steps(const Problem& problem, const Plan& plan, const PerRelease<int>& steps_done,
                                      double at_s);

}  // namespace skippipe
