// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/rest.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/index.h"
#include "core/engine/costs.h"
#include "core/engine/peer_text.h"
#include "core/engine/transport.h"
#include "core/planner/replan/rest_reductions.h"
#include "core/planner/timeline/flat_plan.h"

namespace skippipe {

namespace {

using nlohmann::json;

/// When the rest's timeline hands over each input.
using HandedOver = std::map<std::tuple<NodeIndex, MicrobatchIndex, bool>, double>;  ///< by receiver; backwards
HandedOver handed_over(const Timeline& timeline) {
    HandedOver times;
    for (const auto& span : timeline.spans)
        if (is_transfer(span.kind) && span.microbatch >= 0)
            times[{span.to_node, span.microbatch, span.kind == SpanKind::transfer_backward}] = span.ready_s;
    return times;
}

}  // namespace

std::vector<InputAgain> inputs_again(const Residual& residual, const RouteTable& routes) {
    std::vector<InputAgain> inputs;
    std::vector<char> fed(residual.redo.size(), 0);
    for (const auto& open : residual.open)
        if (open.redo) fed[at(open.index * residual.steps() + open.step)] = 1;
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        if (residual.begin[at(i)] != Residual::Begin::underway) continue;
        const int microbatch = residual.microbatches[i];
        for (int step = 0; step < residual.steps(); ++step) {
            if (!residual.redone(i, step) || fed[at(i * residual.steps() + step)] != 0 ||
                (step > 0 && residual.redone(i, step - 1)))
                continue;
            inputs.push_back({step == 0 ? -1 : routes.node_of(microbatch, step - 1), microbatch, step, 1});
        }
        if (residual.resend[at(i)] == 0) continue;
        const int step = residual.next_step[at(i)];
        inputs.push_back({routes.node_of(microbatch, step - 1), microbatch, step, 0});
    }
    return inputs;
}

std::string to_text(const RankProgress& progress) {
    auto open = json::array();
    for (const auto& one : progress.open) open.push_back({int{one.index}, one.step, one.weight, one.redo});
    std::string again;
    for (const char step : progress.again) again += step != 0 ? '1' : '0';
    return json{{"done", progress.steps_done}, {"again", again}, {"open", open}}.dump();
}

RankProgress read_progress(const std::string& text, int rank, int microbatches, int length) {
    const int steps = 2 * length + 1;
    const auto require = [&](bool holds, const char* what, int number) {
        if (!holds) throw PeerFault(rank, fmt::format("tells of {} {}, which this iteration has not", what, number));
    };
    return read_from_peer(rank, text, [&](const json& v) {
        RankProgress progress{PerRelease<int>(v.at("done").get<std::vector<int>>()), {}, {}};
        require(progress.steps_done.size() == at(microbatches),
                "so many microbatches:", static_cast<int>(progress.steps_done.size()));
        for (const int done : progress.steps_done) require(done >= 0 && done <= steps, "so many steps:", done);
        const auto again = v.at("again").get<std::string>();
        require(again.empty() || again.size() == at(microbatches) * at(steps),
                "so many steps again:", static_cast<int>(again.size()));
        for (const char step : again) progress.again.push_back(step == '1' ? 1 : 0);
        for (const auto& one : v.at("open")) {
            const int index = one.at(0), step = one.at(1);
            require(index >= 0 && index < microbatches, "microbatch", index);
            require(step >= 0 && step < steps, "step", step);
            progress.open.push_back(
                {.index = ReleaseIndex(index), .step = step, .weight = one.at(2), .redo = one.at(3)});
        }
        return progress;
    });
}

namespace {

/// What a rank has that has only begun with a rest.
RankProgress at_the_start_of(const Replan& rest, const std::vector<int>& rank_of, int rank) {
    const auto& residual = rest.residual;
    RankProgress progress{residual.next_step, {residual.redo.begin(), residual.redo.end()}, {}};
    for (const auto& open : residual.open) {
        const auto* path = rest.residual_plan.nodes.data() + static_cast<std::ptrdiff_t>(open.index) * residual.length;
        if (rank_of[at(step_node(path, residual.length, open.step))] == rank) progress.open.push_back(open);
    }
    return progress;
}

/// What is over of an iteration, or is to be run again, as earlier losses have left it.
void add_losses(const Replan& before, const std::vector<char>& again, IterationProgress& progress) {
    const auto& residual = before.residual;
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        for (int step = 0; step < residual.steps(); ++step)
            if (again[at(i * residual.steps() + step)] != 0)
                progress.redo.push_back({i, step});
            else if (residual.gone[at(i * residual.steps() + step)] != 0)
                progress.gone.push_back({i, step});
    const auto& stage_of = before.residual_plan.stage_of;
    for (NodeIndex n = 0; at(n) < stage_of.size(); ++n)
        if (residual.down[n] != 0 && stage_of[n] >= 0) progress.lost.push_back({n, stage_of[n]});
}

}  // namespace

IterationProgress join_progress(const Problem& problem, const Plan& plan, const Replan* before,
                                const std::map<int, std::optional<RankProgress>>& ranks,
                                const std::vector<int>& rank_of, double at_s) {
    RankProgress done{PerRelease<int>(plan.paths.size(), 0), {}, {}};
    if (before != nullptr) done = at_the_start_of(*before, rank_of, -1);
    std::map<std::tuple<ReleaseIndex, int, bool>, OpenOperation> open;
    for (const auto& [rank, told] : ranks) {
        const auto has = told ? *told : before != nullptr ? at_the_start_of(*before, rank_of, rank) : RankProgress{};
        for (std::size_t i = 0; i < has.steps_done.size(); ++i)
            done.steps_done[i] = std::max(done.steps_done[i], has.steps_done[i]);
        for (std::size_t k = 0; k < std::min(has.again.size(), done.again.size()); ++k)
            if (has.again[k] == 0) done.again[k] = 0;
        for (auto one : has.open) {
            // Whoever has the input of a step knows that the one before has run, also where that was on a lost node.
            if (!one.redo) done.steps_done[at(one.index)] = std::max(done.steps_done[at(one.index)], one.step);
            one.ready_s = at_s;
            open[{one.index, one.step, one.weight}] = one;
        }
    }
    IterationProgress progress{
        .at_s = at_s, .steps_done = done.steps_done, .stage_end_s = PerStage<double>(at(problem.stages), -1.0)};
    for (const auto& [place, one] : open) progress.open.push_back(one);
    if (before != nullptr) add_losses(*before, done.again, progress);
    const auto stage_of = stage_of_nodes(plan, progress, problem.nodes());
    for (std::size_t i = 0; i < plan.paths.size(); ++i) {
        const auto& nodes = plan.paths[i].nodes;
        for (int step = 0; step < done.steps_done[i]; ++step)
            progress.stage_end_s[stage_of[step_node(nodes.data(), static_cast<int>(nodes.size()), step)]] = at_s;
    }
    return progress;
}

namespace {

/// Every hand-over of the rest between nodes of two ranks, in the order of its timeline.
std::vector<RankTransfer> transfers_of(const Replan& rest, const std::vector<int>& rank_of) {
    const auto& residual = rest.residual;
    const RouteTable routes(residual, rest.residual_plan.nodes);
    std::vector<std::pair<double, RankTransfer>> timed;
    const auto times = handed_over(rest.timeline);
    const auto add = [&](int from, int to, const Operation& operation) {
        if (from < 0 || rank_of[at(from)] == rank_of[at(to)]) return;
        const auto time = times.find({NodeIndex(to), operation.microbatch, is_backward(operation.kind)});
        timed.push_back({time == times.end() ? residual.at_s : time->second, {0, operation, from, to}});
    };
    for (const auto& [from, microbatch, step, attempt] : inputs_again(residual, routes))
        add(from, routes.node_of(microbatch, step), routes.operation_of(microbatch, step, attempt));
    for (std::size_t node = 0; node < rest.order_left.size(); ++node)
        for (const auto& operation : rest.order_left[node])
            if (const auto next = routes.after(operation, static_cast<int>(node)); next.node >= 0)
                add(static_cast<int>(node), next.node, next.operation);
    std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<RankTransfer> transfers;
    for (auto& [time_s, transfer] : timed) {
        transfer.number = static_cast<int>(transfers.size());
        transfers.push_back(transfer);
    }
    return transfers;
}

}  // namespace

namespace {

/// Of a tree's replicas but its root: those nearest to it first.
std::vector<int> from_the_root(const std::vector<int>& parents, int root) {
    std::vector<int> order{root};
    for (std::size_t next = 0; next < order.size(); ++next)
        for (int replica = 0; at(replica) < parents.size(); ++replica)
            if (replica != root && parents[at(replica)] == order[next]) order.push_back(replica);
    order.erase(order.begin());
    return order;
}

/// Every stage of several nodes is summed by the pieces of those that are left, after all else: what follows from the
/// plan and from who is there, for who looks on knows of nothing else.
void reduce_after_rest(const Problem& problem, const RankSchedule& everybody, RankSchedule& schedule) {
    constexpr int first_number = 1 << 24;  // beyond those of messages, which not every rank knows
    const PlannedProblem planned(problem, everybody.plan.blocks);
    const auto had = pieces_of(planned.get(), everybody.plan);
    schedule.pieces.assign(schedule.plan.stages.size(), {});
    int number = first_number;
    std::uint32_t first_slot = 0;
    for (StageIndex stage = 0; at(stage) < schedule.plan.stages.size(); ++stage) {
        const auto& nodes = schedule.plan.stages[stage];
        if (nodes.size() < 2) continue;
        // As under the virtual clock a stage whose replicas are still those of the plan keeps its pieces.
        const auto& had_nodes = everybody.plan.stages[stage];
        schedule.pieces[stage] = nodes == had_nodes ? had[stage]
                                                    : rest_pieces(planned.get(), stage, nodes, had[stage], had_nodes)
                                                          .value_or(default_pieces(static_cast<int>(nodes.size())));
        const auto add = [&](int from, int to, bool sum) {
            const auto slot = (first_slot + static_cast<std::uint32_t>(to)) << 1 | (sum ? 1u : 0u);
            if (schedule.rank_of[nodes[at(from)]] != schedule.rank_of[nodes[at(to)]])
                schedule.transfers.push_back({number, {}, nodes[at(from)], nodes[at(to)], static_cast<int>(slot)});
            ++number;
        };
        for (const Piece& piece : schedule.pieces[stage]) {
            if (piece.form == PieceForm::exchange) {
                visit_transfers(piece, static_cast<int>(nodes.size()), [&](int from, int to) { add(from, to, false); });
            } else {
                auto up = from_the_root(piece.up, piece.root);
                std::reverse(up.begin(), up.end());
                for (const int child : up) add(child, piece.up[at(child)], false);
                for (const int child : from_the_root(piece.down, piece.root)) add(piece.down[at(child)], child, true);
            }
            first_slot += static_cast<std::uint32_t>(nodes.size());
        }
    }
    schedule.plan.reductions = schedule.pieces;
}

}  // namespace

RankSchedule schedule_of_rest(const Problem& problem, const RankSchedule& everybody, const std::vector<int>& members,
                              const Replan* rest) {
    RankSchedule schedule{.ranks = everybody.ranks, .plan = rest ? rest->plan : everybody.plan};
    schedule.rank_of = everybody.rank_of;
    schedule.transfer_order = everybody.transfer_order;
    schedule.plan.stages = everybody.plan.stages;
    for (auto& ring : schedule.plan.stages)
        std::erase_if(ring, [&](NodeIndex node) {
            return !std::binary_search(members.begin(), members.end(), everybody.rank_of[at(node)]);
        });
    for (int stage = static_cast<int>(schedule.plan.stages.size()); stage-- > 0;)
        schedule.reduce_order.push_back(stage);  // as backwards come to them
    auto& left = schedule.operations_left.emplace(everybody.rank_of.size(), 0);
    for (std::size_t node = 0; rest != nullptr && node < rest->order_left.size(); ++node)
        left[node] = rest->order_left[node].size();
    if (rest != nullptr) schedule.transfers = transfers_of(*rest, everybody.rank_of);
    if (!everybody.pieces.empty()) reduce_after_rest(problem, everybody, schedule);
    return schedule;
}

}  // namespace skippipe
