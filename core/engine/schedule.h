// SPDX-License-Identifier: GPL-3.0-or-later
// A plan dealt out to processes: which rank hosts which node, and the one order in which transfers between two ranks
// are posted.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/document.h"
#include "core/planner/plan/timeline.h"

namespace skippipe {

struct Replan;

/// A message from a node to one on another rank.
struct RankTransfer {
    int number = 0;       ///< place in the plan's order over all ranks; the message's tag
    Operation operation;  ///< what the receiver will run with it; not of a planned reduction
    int from_node = 0, to_node = 0;
    int slot = -1;  ///< of a planned reduction: the ReductionMachine's, of the schedule's stages and pieces; else -1
    bool is_reduction() const { return slot >= 0; }
    bool operator==(const RankTransfer&) const = default;
};

/// What posts transfers: every pair of ranks apart, receives ahead of their time; or a lane a rank, which does one
/// thing after the other, sums of stages among them (lane_order.h).
enum class TransferOrder { pairs, lanes };

/// A plan as ranks execute it. Transfers between two ranks are posted in the order of `transfers` on both sides, and
/// nodes keep a binding order, so that no rank waits for a transfer that its peer posts later.
struct RankSchedule {
    int ranks = 1;
    Plan plan;                            ///< with a binding order where there are several ranks
    std::vector<int> rank_of;             ///< of each node, also of spares; -1: it has no part in this
    std::vector<RankTransfer> transfers;  ///< between ranks, in the order in which the plan's timeline hands them over
    std::vector<int> reduce_order;        ///< stages, as the timeline ends them: the order of every rank's all-reduces
    /// Of each stage in reduce_order, how many of `transfers` are handed over before its last operation ends; empty:
    /// all.
    std::vector<std::size_t> reduce_after;
    TransferOrder transfer_order = TransferOrder::pairs;
    /// Where reductions are planned, how each stage is summed (summed_pieces); else empty.
    PerStage<Pieces> pieces;
    /// Of the rest of an iteration (schedule_of_rest): how many operations each node has still to start.
    std::optional<PerNode<std::size_t>> operations_left;

    std::vector<int> nodes_of(int rank) const;         ///< that have a stage, ascending
    std::vector<int> stages_of(int rank) const;        ///< hosted there, in reduce_order
    std::vector<int> ranks_of_stage(int stage) const;  ///< ascending
    std::vector<RankTransfer> between(int from_rank, int to_rank) const;
};

/// Operations of each node in an iteration, or in what is left of one.
PerNode<std::size_t> operations_of_nodes(const RankSchedule& schedule);
/// Operations of each stage that run on the rank in an iteration, or in what is left of one.
std::vector<std::size_t> operations_of_stages(const RankSchedule& schedule, int rank);

/// Whether nodes of a run by several ranks may go to other stages while it goes on.
bool nodes_may_move(const Experiment& experiment);

/// Deals nodes to `ranks` processes: where the topology names a rank, there; the others in equal shares, region by
/// region and in the order drawn. Throws InputError where a rank would host nothing, or a named rank is not below
/// `ranks`.
std::vector<int> assign_ranks(const Topology& topology, const std::vector<NodeIndex>& nodes, int ranks);
/// The plan's nodes, dealt to the experiment's ranks; all nodes where they may move: the deal is the same whoever has
/// a stage now.
std::vector<int> assign_ranks(const Experiment& experiment, const Plan& plan);

/// The schedule of a plan that passed check_structure and runs to its end. For several ranks a plan without an order is
/// bound to the order of its timeline.
RankSchedule make_schedule(const Problem& problem, const Plan& plan, std::vector<int> rank_of, int ranks,
                           TransferOrder transfer_order = TransferOrder::pairs);
/// That of another plan on the same ranks.
RankSchedule make_schedule(const Problem& problem, const Plan& plan, const RankSchedule& like);

/// All of a plan's nodes (of `nodes` in the topology) in one process.
RankSchedule one_rank_schedule(int nodes, const Plan& plan);

/// Proves that the schedule comes to its end with rendezvous transfers, whatever the times: nothing where it does, else
/// what waits for what. Looks at operations in the order of their node, TC1, the parts and sums of planned reductions,
/// and transfers in the order of their pair of ranks; with lanes, transfers and sums of stages in the order of each
/// rank.
std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule);
/// The same of a rest and its schedule (core/engine/rest.h).
std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule, const Replan& rest);

}  // namespace skippipe
