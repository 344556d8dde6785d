// SPDX-License-Identifier: GPL-3.0-or-later
// The proof that a schedule of ranks comes to its end.
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/engine/lane_order.h"
#include "core/engine/rest.h"
#include "core/engine/schedule.h"
#include "core/planner/timeline/reduction_machine.h"

namespace skippipe {

namespace {

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
            if (!transfer.is_reduction()) crossing_[{transfer.to_node, transfer.operation}] = transfer.number;
        add_inputs();
        if (!schedule_.pieces.empty()) add_reductions();
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

    /// A piece of a stage at a replica, and whether it is the part that it hands on or the sum.
    using PartKey = std::tuple<int, int, int, bool>;

    /// Own gradients after the last operation of their node; a part after what it is made of, a sum after that of who
    /// hands it down.
    void add_reductions() {
        for (std::size_t stage = 0; stage < schedule_.pieces.size(); ++stage)
            for (std::size_t piece = 0; piece < schedule_.pieces[stage].size(); ++piece)
                add_piece(static_cast<int>(stage), static_cast<int>(piece));
    }
    void add_piece(int stage, int number) {
        const auto& piece = schedule_.pieces[at(stage)][at(number)];
        const auto& nodes = schedule_.plan.stages[at(stage)];
        const int replicas = static_cast<int>(nodes.size());
        const bool tree = piece.form == PieceForm::tree;
        std::vector<std::size_t> own, parts, sums;
        for (int place = 0; place < replicas; ++place) {
            const NodeIndex node = nodes[at(place)];
            const auto name = [&](const char* what) {
                return add(
                    fmt::format("{} of piece {} of stage {} on {}", what, number, stage, problem_.node_ids[node]));
            };
            own.push_back(name("the own part"));
            parts.push_back(name("the part"));
            sums.push_back(name("the sum"));
            if (const auto& order = order_[node]; !order.empty()) precede(items_.at({node, order.back()}), own.back());
            precede(own.back(), parts.back());
            if (!tree || place == piece.root) precede(parts.back(), sums.back());
        }
        const auto hand = [&](int from, int to, bool sum) {
            const auto source = sum ? sums[at(from)] : tree ? parts[at(from)] : own[at(from)];
            const auto target = sum ? sums[at(to)] : parts[at(to)];
            const NodeIndex a = nodes[at(from)], b = nodes[at(to)];
            if (schedule_.rank_of[a] == schedule_.rank_of[b]) return precede(source, target);
            crossing_parts_[{{stage, number, to, sum}, a}] = {source, target};
        };
        for (int a = 0; a < replicas; ++a)
            if (!tree) {
                for (int b = 0; b < replicas; ++b)
                    if (b != a) hand(a, b, false);
            } else if (a != piece.root) {
                hand(a, piece.up[at(a)], false);
                hand(piece.down[at(a)], a, true);
            }
    }

    void add_transfers() {
        ReductionMachine machine;
        if (!schedule_.pieces.empty()) machine.prepare(problem_, schedule_.plan.stages, schedule_.pieces);
        std::vector<std::size_t> items;
        for (const auto& transfer : schedule_.transfers)
            items.push_back(transfer.is_reduction() ? add_part(machine, transfer) : add_message(transfer));
        for (const auto& [key, ends] : crossing_parts_) precede(ends.second, ends.second);  // never handed over
        schedule_.transfer_order == TransferOrder::lanes ? order_lanes(items) : order_pairs(items);
    }

    std::string between(const RankTransfer& transfer) const {
        return fmt::format("from {} to {}", problem_.node_ids[at(transfer.from_node)],
                           problem_.node_ids[at(transfer.to_node)]);
    }
    std::size_t add_part(ReductionMachine& machine, const RankTransfer& transfer) {
        const auto part = machine.handed(static_cast<std::uint32_t>(transfer.slot));
        const auto item = add(fmt::format("piece {} of stage {} {}", part.piece, int{part.stage}, between(transfer)));
        const auto ends = crossing_parts_.extract({{part.stage, part.piece, part.place, part.sum}, transfer.from_node});
        precede(ends ? ends.mapped().first : item, item);
        if (ends) precede(item, ends.mapped().second);
        return item;
    }
    std::size_t add_message(const RankTransfer& transfer) {
        const auto item = add(fmt::format("{} {}", to_string(transfer.operation), between(transfer)));
        const Key target{transfer.to_node, transfer.operation};
        const auto source = source_.find(target);
        // Without a source nothing ever hands it over.
        if (!given_.contains(target)) precede(source == source_.end() ? item : source->second, item);
        if (items_.contains(target)) precede(item, items_.at(target));
        return item;
    }

    void order_pairs(const std::vector<std::size_t>& items) {
        std::map<std::pair<int, int>, std::size_t> last;
        for (std::size_t i = 0; i < items.size(); ++i) {
            const auto& transfer = schedule_.transfers[i];
            const std::pair pair{schedule_.rank_of[at(transfer.from_node)], schedule_.rank_of[at(transfer.to_node)]};
            if (last.contains(pair)) precede(last[pair], items[i]);
            last[pair] = items[i];
        }
    }

    /// Every rank does one thing after the other, each together with whom it concerns.
    void order_lanes(const std::vector<std::size_t>& items) {
        std::map<int, std::size_t> last;
        for (const auto& step : lane_order(schedule_)) {
            const auto item = step.is_sum() ? add_sum(step.stage) : items[step.transfer];
            for (const int rank : ranks_of(step)) {
                if (last.contains(rank)) precede(last[rank], item);
                last[rank] = item;
            }
        }
    }
    std::vector<int> ranks_of(const LaneStep& step) const {
        if (step.is_sum()) return schedule_.ranks_of_stage(step.stage);
        const auto& transfer = schedule_.transfers[step.transfer];
        return {schedule_.rank_of[at(transfer.from_node)], schedule_.rank_of[at(transfer.to_node)]};
    }
    /// After the last operation of each of its nodes.
    std::size_t add_sum(int stage) {
        const auto item = add(fmt::format("the sum of stage {}", stage));
        for (const NodeIndex node : schedule_.plan.stages[at(stage)])
            if (const auto& order = order_[node]; !order.empty()) precede(items_.at({node, order.back()}), item);
        return item;
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
    /// By what arrives and who hands it over: what comes before the transfer, and after it.
    std::map<std::pair<PartKey, int>, std::pair<std::size_t, std::size_t>> crossing_parts_;
};

}  // namespace

std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule) {
    if (schedule.plan.order.empty()) return std::nullopt;
    return Dependencies(PlannedProblem(problem, schedule.plan.blocks).get(), schedule).stuck();
}

std::optional<std::string> find_deadlock(const Problem& problem, const RankSchedule& schedule, const Replan& rest) {
    return Dependencies(PlannedProblem(problem, schedule.plan.blocks).get(), schedule, rest).stuck();
}

}  // namespace skippipe
