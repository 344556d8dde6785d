// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/engine/node.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"
#include "core/planner/timeline/handed_parts.h"

namespace skippipe {

namespace {

/// Numbers them in the order of their times, and says of each stage in reduce_order how many are handed over by its
/// end.
void order_by_time(std::vector<std::pair<double, RankTransfer>> timed, const std::vector<double>& stage_end_s,
                   RankSchedule& schedule) {
    std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (auto& [ready_s, transfer] : timed) {
        transfer.number = static_cast<int>(schedule.transfers.size());
        schedule.transfers.push_back(transfer);
    }
    for (const int stage : schedule.reduce_order) {
        const auto later = std::upper_bound(timed.begin(), timed.end(), stage_end_s[at(stage)],
                                            [](double end_s, const auto& one) { return end_s < one.first; });
        schedule.reduce_after.push_back(static_cast<std::size_t>(later - timed.begin()));
    }
}

std::vector<std::pair<double, RankTransfer>> timed_transfers(const Problem& problem, const Timeline& timeline,
                                                             const RankSchedule& schedule) {
    const auto& plan = schedule.plan;
    const RouteTable routes(plan);
    std::vector<std::pair<double, RankTransfer>> timed;
    const auto add = [&](double ready_s, const RankTransfer& transfer) {
        if (schedule.rank_of[at(transfer.from_node)] != schedule.rank_of[at(transfer.to_node)])
            timed.emplace_back(ready_s, transfer);
    };
    for (const auto& span : timeline.spans) {
        if (!is_transfer(span.kind)) continue;
        const bool backward = span.kind == SpanKind::transfer_backward;
        const auto kind = backward ? (plan.split_backward ? OpKind::I : OpKind::B)
                          : routes.hop(span.microbatch, span.to_node) == 0 ? OpKind::L
                                                                           : OpKind::F;
        add(span.ready_s, {0, {kind, span.microbatch}, span.node, span.to_node});
    }
    for (const auto& part : handed_parts(problem, plan, schedule.pieces, timeline))
        add(part.ready_s, {0, {}, part.from, part.to, static_cast<int>(part.slot)});
    return timed;
}

/// When each stage's last operation ends.
std::vector<double> stage_ends(const Timeline& timeline, std::size_t stages) {
    std::vector<double> end_s(stages, -1);
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) end_s[at(span.stage)] = std::max(end_s[at(span.stage)], span.end_s);
    return end_s;
}

std::vector<int> stages_by_end(const std::vector<double>& end_s) {
    std::vector<int> order(end_s.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return end_s[at(a)] < end_s[at(b)]; });
    return order;
}

}  // namespace

std::vector<int> RankSchedule::nodes_of(int rank) const {
    std::vector<int> nodes;
    for (const auto& ring : plan.stages)
        for (const NodeIndex node : ring)
            if (rank_of[at(node)] == rank) nodes.push_back(node);
    std::sort(nodes.begin(), nodes.end());
    return nodes;
}

std::vector<int> RankSchedule::ranks_of_stage(int stage) const {
    std::set<int> found;
    for (const int node : plan.stages[at(stage)]) found.insert(rank_of[at(node)]);
    return {found.begin(), found.end()};
}

std::vector<int> RankSchedule::stages_of(int rank) const {
    std::vector<int> stages;
    for (const int stage : reduce_order) {
        const auto hosts = ranks_of_stage(stage);
        if (std::find(hosts.begin(), hosts.end(), rank) != hosts.end()) stages.push_back(stage);
    }
    return stages;
}

std::vector<RankTransfer> RankSchedule::between(int from_rank, int to_rank) const {
    std::vector<RankTransfer> found;
    for (const auto& transfer : transfers)
        if (rank_of[at(transfer.from_node)] == from_rank && rank_of[at(transfer.to_node)] == to_rank)
            found.push_back(transfer);
    return found;
}

bool nodes_may_move(const Experiment& experiment) {
    return experiment.recovery.move_nodes_s > 0 && experiment.execution.clock == Clock::wall &&
           experiment.execution.ranks > 1;
}

std::vector<int> assign_ranks(const Topology& topology, const std::vector<NodeIndex>& nodes, int ranks) {
    std::vector<int> rank_of(topology.nodes.size(), -1), unnamed, load(at(ranks), 0);
    for (const int node : nodes) {
        const auto& named = topology.nodes[at(node)].rank;
        if (!named) {
            unnamed.push_back(node);
            continue;
        }
        if (*named < 0 || *named >= ranks)
            throw InputError(fmt::format("/topology/nodes/{}/rank", node), fmt::format("rank {} is not there", *named),
                             fmt::format("the run has ranks 0 to {}", ranks - 1),
                             "Name one of these, or leave it out, or raise execution.ranks");
        rank_of[at(node)] = *named;
        ++load[at(*named)];
    }
    const auto region = [&](int node) {
        const auto& id = topology.nodes[at(node)].region;
        return std::find_if(topology.regions.begin(), topology.regions.end(),
                            [&](const Region& r) { return r.id == id; }) -
               topology.regions.begin();
    };
    std::sort(unnamed.begin(), unnamed.end(),
              [&](int a, int b) { return std::pair(region(a), a) < std::pair(region(b), b); });
    // Neighbours stay together: each rank is filled to its share before the next one.
    const int total = static_cast<int>(unnamed.size()) + std::accumulate(load.begin(), load.end(), 0);
    std::size_t dealt = 0;
    for (int rank = 0; rank < ranks; ++rank)
        for (const int share = total / ranks + (rank < total % ranks ? 1 : 0);
             dealt < unnamed.size() && (load[at(rank)] < share || rank + 1 == ranks); ++load[at(rank)])
            rank_of[at(unnamed[dealt++])] = rank;
    for (int rank = 0; rank < ranks; ++rank)
        if (load[at(rank)] == 0)
            throw InputError("/execution/ranks", fmt::format("rank {} would host no node", rank),
                             fmt::format("the plan uses {} nodes", total),
                             fmt::format("Start at most {} ranks, or spread the nodes' ranks", total));
    return rank_of;
}

std::vector<int> assign_ranks(const Experiment& experiment, const Plan& plan) {
    std::vector<NodeIndex> nodes;
    for (const auto& ring : plan.stages) nodes.insert(nodes.end(), ring.begin(), ring.end());
    if (nodes_may_move(experiment)) {
        nodes.clear();
        for (NodeIndex node = 0; at(node) < experiment.topology.nodes.size(); ++node) nodes.push_back(node);
    }
    return assign_ranks(experiment.topology, nodes, experiment.execution.ranks);
}

RankSchedule make_schedule(const Problem& problem, const Plan& plan, std::vector<int> rank_of, int ranks,
                           TransferOrder transfer_order) {
    const auto timeline = evaluate(problem, plan);
    const auto end_s = stage_ends(timeline, plan.stages.size());
    RankSchedule schedule{.ranks = ranks,
                          .plan = plan,
                          .rank_of = std::move(rank_of),
                          .transfers = {},
                          .reduce_order = stages_by_end(end_s),
                          .reduce_after = {},
                          .transfer_order = transfer_order,
                          .pieces = summed_pieces(problem, plan)};
    if (ranks == 1) return schedule;
    if (plan.order.empty()) schedule.plan.order = executed_order(timeline, problem.nodes());
    order_by_time(timed_transfers(problem, timeline, schedule), end_s, schedule);
    return schedule;
}

RankSchedule make_schedule(const Problem& problem, const Plan& plan, const RankSchedule& like) {
    return make_schedule(problem, plan, like.rank_of, like.ranks, like.transfer_order);
}

RankSchedule one_rank_schedule(int nodes, const Plan& plan) {
    RankSchedule schedule{
        .ranks = 1, .plan = plan, .rank_of = std::vector<int>(at(nodes), 0), .transfers = {}, .reduce_order = {}};
    schedule.reduce_order.resize(plan.stages.size());
    std::iota(schedule.reduce_order.begin(), schedule.reduce_order.end(), 0);
    return schedule;
}

PerNode<std::size_t> operations_of_nodes(const RankSchedule& schedule) {
    if (schedule.operations_left) return *schedule.operations_left;
    PerNode<std::size_t> operations(schedule.rank_of.size(), 0);
    const std::size_t each_visit = schedule.plan.split_backward ? 3 : 2;
    for (const auto& path : schedule.plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
            operations[path.nodes[hop]] += each_visit + (hop == 0 ? 1 : 0);
    return operations;
}

std::vector<std::size_t> operations_of_stages(const RankSchedule& schedule, int rank) {
    const auto of_nodes = operations_of_nodes(schedule);
    std::vector<std::size_t> operations(schedule.plan.stages.size(), 0);
    for (std::size_t stage = 0; stage < operations.size(); ++stage)
        for (const NodeIndex node : schedule.plan.stages[stage])
            if (schedule.rank_of[at(node)] == rank) operations[stage] += of_nodes[node];
    return operations;
}

}  // namespace skippipe
