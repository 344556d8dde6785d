// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/index.h"
#include "core/engine/node.h"
#include "core/engine/rest.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/timeline/executed_order.h"

namespace skippipe {

namespace {

std::vector<RankTransfer> transfers_of(const Timeline& timeline, const Plan& plan, const std::vector<int>& rank_of) {
    const RouteTable routes(plan);
    std::vector<const Span*> spans;
    for (const auto& span : timeline.spans)
        if (is_transfer(span.kind) && rank_of[at(span.node)] != rank_of[at(span.to_node)]) spans.push_back(&span);
    std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->ready_s < b->ready_s; });
    std::vector<RankTransfer> transfers;
    for (const Span* span : spans) {
        const bool backward = span->kind == SpanKind::transfer_backward;
        const auto kind = backward ? (plan.split_backward ? OpKind::I : OpKind::B)
                          : routes.hop(span->microbatch, span->to_node) == 0 ? OpKind::L
                                                                             : OpKind::F;
        transfers.push_back({static_cast<int>(transfers.size()), {kind, span->microbatch}, span->node, span->to_node});
    }
    return transfers;
}

std::vector<int> stages_by_end(const Timeline& timeline, std::size_t stages) {
    std::vector<double> end_s(stages, -1);
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) end_s[at(span.stage)] = std::max(end_s[at(span.stage)], span.end_s);
    std::vector<int> order(stages);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return end_s[at(a)] < end_s[at(b)]; });
    return order;
}

/// Operations and transfers as a graph of "before", walked from what waits for nothing.
class Dependencies {
public:
    Dependencies(const Problem& problem, const RankSchedule& schedule)
        : problem_(problem), schedule_(schedule), routes_(schedule.plan), order_(schedule.plan.order) {
        build();
    }
    Dependencies(const Problem& problem, const RankSchedule& schedule, const Replan& rest)
        : problem_(problem),
          schedule_(schedule),
          routes_(rest.residual, rest.residual_plan.nodes),
          order_(rest.order_left),
          held_(rest.residual.held) {
        for (const auto& [from, microbatch, step, attempt] : inputs_again(rest.residual, routes_))
            given_.insert({routes_.node_of(microbatch, step), routes_.operation_of(microbatch, step, attempt)});
        build();
    }

    std::optional<std::string> stuck() {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < waits_.size(); ++i)
            if (waits_[i] == 0) open.push_back(i);
        std::size_t done = 0;
        for (; !open.empty(); ++done) {
            const auto item = open.back();
            open.pop_back();
            for (const auto follower : followers_[item])
                if (--waits_[follower] == 0) open.push_back(follower);
        }
        if (done == waits_.size()) return std::nullopt;
        std::string text;
        for (std::size_t i = 0, named = 0; i < waits_.size() && named < 4; ++i)
            if (waits_[i] > 0) {
                text += (named++ ? "; " : "") + names_[i];
            }
        return text + " wait for each other";
    }

private:
    using Key = std::pair<int, Operation>;
    struct Before {
        bool operator()(const Key& a, const Key& b) const {
            return std::tie(a.first, a.second.microbatch, a.second.kind) <
                   std::tie(b.first, b.second.microbatch, b.second.kind);
        }
    };

    void build() {
        for (std::size_t n = 0; n < order_.size(); ++n) add_order(static_cast<int>(n));
        for (const auto& transfer : schedule_.transfers)
            crossing_[{transfer.to_node, transfer.operation}] = transfer.number;
        add_inputs();
        add_transfers();
    }

    std::size_t add(std::string name) {
        names_.push_back(std::move(name));
        waits_.push_back(0);
        followers_.emplace_back();
        return names_.size() - 1;
    }
    void precede(std::size_t first, std::size_t then) {
        followers_[first].push_back(then);
        ++waits_[then];
    }

    /// The node's order, and TC1: the F that would be one too many comes after the end that makes room, if the order
    /// has one before it.
    void add_order(int node) {
        std::optional<std::size_t> last;
        int held = held_.empty() ? 0 : held_[at(node)];
        for (const auto& operation : order_[at(node)]) {
            const auto item = add(problem_.node_ids[at(node)] + " " + to_string(operation));
            items_[{node, operation}] = item;
            if (last) precede(*last, item);
            if (operation.kind == OpKind::F && ++held > problem_.memory[at(node)]) precede(item, item);
            if (operation.kind == (routes_.split_backward() ? OpKind::W : OpKind::B)) --held;
            last = item;
        }
    }

    void add_inputs() {
        for (const auto& [key, item] : std::map<Key, std::size_t, Before>(items_)) {
            const auto next = routes_.after(key.second, key.first);
            if (key.second.kind == OpKind::I) precede(item, items_.at({key.first, {OpKind::W, key.second.microbatch}}));
            if (next.node >= 0 && !crossing_.contains({next.node, next.operation}))
                precede(item, items_.at({next.node, next.operation}));
            if (next.node >= 0) source_[{next.node, next.operation}] = item;
            if (key.second.kind == OpKind::F && key.second.attempt > 0) before_backward(key, item);
        }
    }

    /// A backward waits for its forward to be run again.
    void before_backward(const Key& forward, std::size_t item) {
        const auto kind = routes_.split_backward() ? OpKind::I : OpKind::B;
        const auto backward = items_.find({forward.first, {kind, forward.second.microbatch}});
        if (backward != items_.end()) precede(item, backward->second);
    }

    void add_transfers() {
        std::map<std::pair<int, int>, std::size_t> last;
        for (const auto& transfer : schedule_.transfers) {
            const auto item =
                add(fmt::format("{} from {} to {}", to_string(transfer.operation),
                                problem_.node_ids[at(transfer.from_node)], problem_.node_ids[at(transfer.to_node)]));
            const Key target{transfer.to_node, transfer.operation};
            const auto source = source_.find(target);
            // Without a source nothing ever hands it over.
            if (!given_.contains(target)) precede(source == source_.end() ? item : source->second, item);
            if (items_.contains(target)) precede(item, items_.at(target));
            const std::pair pair{schedule_.rank_of[at(transfer.from_node)], schedule_.rank_of[at(transfer.to_node)]};
            if (last.contains(pair)) precede(last[pair], item);
            last[pair] = item;
        }
    }

    const Problem& problem_;
    const RankSchedule& schedule_;
    RouteTable routes_;
    const PerNode<std::vector<Operation>>& order_;
    PerNode<int> held_;            ///< of each node, to begin with; or empty
    std::set<Key, Before> given_;  ///< what is handed over to begin with
    std::vector<std::string> names_;
    std::vector<int> waits_;
    std::vector<std::vector<std::size_t>> followers_;
    std::map<Key, std::size_t, Before> items_, source_;
    std::map<Key, int, Before> crossing_;
};

}  // namespace

std::vector<int> RankSchedule::nodes_of(int rank) const {
    std::vector<int> nodes;
    for (std::size_t n = 0; n < rank_of.size(); ++n)
        if (rank_of[n] == rank) nodes.push_back(static_cast<int>(n));
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

std::vector<int> assign_ranks(const Topology& topology, const Plan& plan, int ranks) {
    std::vector<int> rank_of(topology.nodes.size(), -1), unnamed, load(at(ranks), 0);
    for (const auto& stage : plan.stages)
        for (const int node : stage) {
            const auto& named = topology.nodes[at(node)].rank;
            if (!named) {
                unnamed.push_back(node);
                continue;
            }
            if (*named < 0 || *named >= ranks)
                throw InputError(fmt::format("/topology/nodes/{}/rank", node),
                                 fmt::format("rank {} is not there", *named),
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

RankSchedule make_schedule(const Problem& problem, const Plan& plan, std::vector<int> rank_of, int ranks) {
    const auto timeline = evaluate(problem, plan);
    RankSchedule schedule{ranks, plan, std::move(rank_of), {}, stages_by_end(timeline, plan.stages.size())};
    if (ranks == 1) return schedule;
    if (plan.order.empty()) schedule.plan.order = executed_order(timeline, problem.nodes());
    schedule.transfers = transfers_of(timeline, plan, schedule.rank_of);
    return schedule;
}

RankSchedule one_rank_schedule(int nodes, const Plan& plan) {
    RankSchedule schedule{
        .ranks = 1, .plan = plan, .rank_of = std::vector<int>(at(nodes), 0), .transfers = {}, .reduce_order = {}};
    schedule.reduce_order.resize(plan.stages.size());
    std::iota(schedule.reduce_order.begin(), schedule.reduce_order.end(), 0);
    return schedule;
}

std::vector<std::size_t> operations_of_stages(const RankSchedule& schedule, int rank) {
    std::vector<std::size_t> left(schedule.plan.stages.size(), 0);
    for (std::size_t stage = 0; schedule.operations_left && stage < left.size(); ++stage)
        for (const NodeIndex node : schedule.plan.stages[stage])
            if (schedule.rank_of[at(node)] == rank) left[stage] += (*schedule.operations_left)[at(node)];
    if (schedule.operations_left) return left;
    const auto stage_of = stage_of_nodes(schedule.plan, static_cast<int>(schedule.rank_of.size()));
    std::vector<std::size_t> operations(schedule.plan.stages.size(), 0);
    const std::size_t each_visit = schedule.plan.split_backward ? 3 : 2;
    for (const auto& path : schedule.plan.paths)
        for (std::size_t hop = 0; hop < path.nodes.size(); ++hop)
            if (schedule.rank_of[at(path.nodes[hop])] == rank)
                operations[at(stage_of[at(path.nodes[hop])])] += each_visit + (hop == 0 ? 1 : 0);
    return operations;
}

std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule) {
    if (schedule.plan.order.empty()) return std::nullopt;
    return Dependencies(PlannedProblem(problem, schedule.plan.blocks).get(), schedule).stuck();
}

std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule, const Replan& rest) {
    return Dependencies(PlannedProblem(problem, schedule.plan.blocks).get(), schedule, rest).stuck();
}

}  // namespace skippipe
