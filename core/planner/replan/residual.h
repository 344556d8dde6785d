// SPDX-License-Identifier: GPL-3.0-or-later
// What is left of an iteration when nodes are lost.
#pragma once
#include <cstdint>
#include <vector>

#include "core/planner/replan/progress.h"

namespace skippipe {

/// What is left at `at_s` once `down` nodes are lost, whichever nodes take their place. The rules:
/// - Replicas of a stage are equal, so results that exist elsewhere stay valid. Each node keeps what it handed on until
/// the receiving stage has stepped.
/// - A lost node loses what it ran, what waited there, what it sent and had not arrived, the activations it held, and
/// the weight gradients it had added up.
/// - A step whose result is lost so is done again by the node that takes the place.
/// - A step whose result had arrived is *redone* where the node needs it for itself: same time, same memory, nothing
/// handed on but to a redone step. The
///   forward, where the backward is still to come. With `keep_gradients` also every backward that had ended, its
///   forward, and on a data node the loss: then no gradient is lost and the stage steps on all microbatches. Else, or
///   where the stage has no node left, the gradients are lost: it steps on the mean over the others (`lost_gradients`
///   counts them).
/// - The input of a redone step comes again from the node before, handed over at `at_s`, or when that has redone it; on
/// stage 0 the tokens are
///   read again: ready at `at_s`.
/// - Lines serve what was handed to them, also from or to lost nodes; what travels or runs on living nodes ends as it
/// would have.
/// - A forward on its own data node that is redone is dispatched like one from upstream, not like a fresh one.
/// - Where reductions are planned, a stage has reduced once all of its nodes have all sums. Any other's begins anew
/// with the rest, by pieces for the replicas it has then (rest_reductions.h): what travelled of it is of no use.
/// - Where there are uplinks or downlinks, what is on its way passes the queues that are left to it before anything
/// that is handed over in the rest.
/// - Nodes may be lost again during a rest: the same rules, a step that is still to be redone having no result.
struct Residual {
    enum class Begin : std::uint8_t { fresh, underway, finished };

    double at_s = 0;
    int length = 1;  ///< p
    bool split_backward = false;
    PerRelease<MicrobatchIndex> microbatches;
    std::vector<NodeIndex> before;  ///< [T x p] the paths so far
    PerRelease<Begin> begin;        ///< fresh: has not started (any more); finished: nothing is left, nor to be redone
    PerRelease<int> next_step;      ///< first step still to do (2p + 1: none)
    PerRelease<double> fresh_s;     ///< fresh: since when it lies on its data node
    std::vector<char> forced;       ///< [T x p] its node is lost and something is left to do there
    std::vector<char> redo;         ///< [T x (2p + 1)] this step is redone; all of them are before next_step
    PerRelease<char> resend;        ///< the input of next_step is handed over at at_s
    std::vector<char> lost;         ///< [T x p] the gradient of the hop had been added up, or was to be, and is lost
    std::vector<char> gone;         ///< [T x (2p + 1)] this step is over, nobody has its result, and it is not redone
    std::vector<OpenOperation> open;  ///< on living nodes, in event order
    PerNode<int> held;                ///< microbatches held
    PerNode<char> down;               ///< lost now or before
    std::vector<double> line_free_s;
    PerStage<double> stage_end_s, stage_stepped_s;
    PerNode<double> available_s;  ///< works from then on
    int redone_forwards = 0, redone_backwards = 0, lost_gradients = 0;
    int dropped = 0;      ///< microbatches that are left out now
    int heads_alone = 0;  ///< microbatches of which stage 0 has lost the head's gradient or the body's, but not both

    /// Operations that are still to end, those that run included.
    std::size_t operations_left() const;
    int count() const { return static_cast<int>(begin.size()); }
    int steps() const { return 2 * length + 1; }
    bool redone(ReleaseIndex index, int step) const { return redo[at(index) * at(steps()) + at(step)] != 0; }
    /// Whether the node of a hop that lives holds the microbatch: its forward has run there, or runs, and what it left
    /// is of use to a backward that is still to come.
    bool holds(ReleaseIndex index, int hop) const;
    /// Hops of a microbatch that can no longer go elsewhere, lost nodes aside: run, running or about to.
    int fixed_hops(ReleaseIndex index) const;
};

/// `keeps`: gradients that its lost nodes had added up are computed
/// again.
Residual make_residual(const Problem& problem, const Plan& plan, const IterationProgress& progress,
                       const std::vector<NodeIndex>& down, const PerStage<char>& keeps);

/// Leaves out, as if they were over and all of their gradients lost, the microbatches that need a node that is down and
/// whose loss is not computed, nor being computed: no stage has added anything of them up.
void drop_microbatches(Residual& residual, const IterationProgress& progress);

/// Operations that are still to end on each node with these paths ([T x p] of `nodes`), those that run included.
PerNode<int> operations_left(const Residual& residual, const std::vector<NodeIndex>& paths, int nodes);

/// Where reductions are planned: the stages that reduce in the rest, of all their operations. Any that is visited and
/// has not reduced, or runs something (again). `left`: operations_left.
PerStage<char> stages_to_reduce(const Residual& residual, const PerStage<std::vector<NodeIndex>>& stages,
                                const PerNode<int>& left);

/// Stage of each node, those lost before included.
PerNode<StageIndex> stage_of_nodes(const Plan& plan, const IterationProgress& progress, int nodes);

}  // namespace skippipe
