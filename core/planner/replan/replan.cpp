// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/replan.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/planner/replan/replan_state.h"

namespace skippipe {

namespace {

using Kind = NetworkChange::Kind;

void check(const Problem& problem, const std::vector<NetworkChange>& changes) {
    for (const auto& change : changes) {
        const bool line = change.of_line();
        if (change.node < 0 || change.node >= problem.nodes() ||
            (line && (change.to < 0 || change.to >= problem.nodes())))
            throw InputError("replan", "a change names a node that does not exist", "", "Name nodes of the experiment");
        if (line && !problem.reachable(change.node, change.to))
            throw InputError("replan", problem.unlinked_words(change.node, change.to), "",
                             "Name two nodes between which messages go");
        if (change.slows() && !(change.factor > 0 && std::isfinite(change.factor)))
            throw InputError("replan", fmt::format("a factor of {:g}", change.factor),
                             "it says how many times slower, in seconds for a second", "Give a number above 0");
        if (change.kind == Kind::node_joins && change.stage >= problem.stages)
            throw InputError("replan", fmt::format("there is no stage {}", change.stage), "",
                             fmt::format("Name a stage from 0 to {}", problem.stages - 1));
    }
}

void check_start(const Problem& problem, const Plan& plan, const IterationProgress& progress) {
    if (plan.paths.empty())
        throw InputError("replan", "the plan has no paths", "there is nothing to run",
                         "Give a plan of this experiment");
    if (progress.steps_done.size() != plan.paths.size() || progress.stage_end_s.size() != plan.stages.size())
        throw InputError(
            "replan",
            fmt::format("progress of {} microbatches and {} stages for a plan of {} and {}", progress.steps_done.size(),
                        progress.stage_end_s.size(), plan.paths.size(), plan.stages.size()),
            "it must be of this very plan", "Take it from the plan's own timeline");
    const auto stage_of = stage_of_nodes(plan, progress, problem.nodes());
    for (const auto& path : plan.paths)
        for (const NodeIndex node : path.nodes)
            if (stage_of[node] < 0)
                throw InputError(
                    "replan",
                    fmt::format("microbatch {} has run on {}, which holds no stage", path.microbatch,
                                problem.node_ids[node]),
                    "the plan is one for the rest of an iteration, and the progress does not say what was lost before",
                    "Take the progress from that replanning");
}

void check_rings(const ReplanState& state) {
    if (!state.problem.charge_all_reduce) return;
    for (StageIndex s = 0; s < state.problem.stages; ++s) {
        const auto& ring = state.best.stages[s];
        for (std::size_t k = 0;
             ring != state.plan.stages[s] && ring.size() > 1 && state.visits[s] > 0 && k < ring.size(); ++k) {
            const NodeIndex from = ring[k], to = ring[(k + 1) % ring.size()];
            if (state.network().reachable(from, to)) continue;
            throw InputError(
                "replan", fmt::format("all-reduce of stage {}: {}", s, state.network().unlinked_words(from, to)),
                "its ring closes over the nodes that are left", "Draw that link, or let the two nodes leave together");
        }
    }
}

/// Makes the answer of the best paths found.
class Answer {
public:
    explicit Answer(ReplanState& state) : s_(state) {}

    void finish(Replan& result, const std::vector<NodeIndex>& repaired) {
        s_.best_s = s_.try_out(s_.best.nodes, infinite, &result.timeline);
        const auto& started = s_.simulator().started();
        result.iteration_s = s_.best_s;
        for (const auto& ring : s_.best.stages) result.timeline.used_nodes += static_cast<int>(ring.size());
        auto& made = result.plan;
        made = s_.plan;
        made.stages = s_.best.stages;
        if (s_.problem.plan_reductions && (!made.reductions.empty() || made.stages != s_.plan.stages))
            give_reductions(made);
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            made.paths[at(i)].nodes.assign(s_.path(s_.best.nodes, i), s_.path(s_.best.nodes, i) + s_.length);
        made.order.clear();
        if (!s_.order.empty()) {
            made.order = whole_order(started);
            result.order_left = left_order(started);
        }
        result.changes = s_.said;
        result.timeline.spans.insert(result.timeline.spans.end(), s_.fetches.begin(), s_.fetches.end());
        for (const auto& span : s_.fetches) result.timeline.bytes += span.bytes;
        for (StageIndex s = 0; s < s_.problem.stages; ++s)
            if (s_.best.stages[s].empty() && !s_.plan.stages[s].empty())
                result.changes.push_back(fmt::format("stage {} has no node left: it is passed over", s));
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i) describe(i, repaired, result);
        if (s_.plan.order.empty() && !s_.order.empty())
            result.changes.push_back("nodes work in a bound order: first come, first served would deadlock (TC1)");
        if (made != s_.plan)
            made.note = fmt::format("replanned at {:.6g} s: {} paths changed", s_.residual.at_s,
                                    result.forced_paths + result.improved_paths);
    }

private:
    /// The pieces of stages whose replicas are others now.
    void give_reductions(Plan& made) const {
        made.reductions.resize(made.stages.size());
        for (StageIndex s = 0; s < s_.problem.stages; ++s)
            if (made.stages[s] != s_.plan.stages[s]) made.reductions[s] = s_.best.reductions[s];
    }

    void describe(ReleaseIndex i, const std::vector<NodeIndex>& repaired, Replan& result) const {
        const NodeIndex *was = s_.path(s_.residual.before, i), *is = s_.path(s_.best.nodes, i),
                        *forced = s_.path(repaired, i);
        if (std::equal(was, was + s_.length, is)) return;
        const bool had_to = !std::equal(was, was + s_.length, forced);
        ++(had_to ? result.forced_paths : result.improved_paths);
        const auto same_stages = [&] {
            return std::equal(was, was + s_.length, is,
                              [&](NodeIndex a, NodeIndex b) { return s_.stage_of(a) == s_.stage_of(b); });
        };
        const MicrobatchIndex m = s_.residual.microbatches[i];
        if (!same_stages()) {
            const auto words = [&](const NodeIndex* way) {
                std::string text;
                for (int k = 0; k < s_.length; ++k) text += (k == 0 ? "" : ", ") + s_.name(way[k]);
                return text;
            };
            result.changes.push_back(
                fmt::format("microbatch {}: {} -> {} (a stage has no node left)", m, words(was), words(is)));
            return;
        }
        for (int hop = 0; hop < s_.length; ++hop) {
            if (was[hop] == is[hop]) continue;
            const std::string why = s_.living(was[hop]) ? "the rest is shorter"
                                    : s_.residual.redone(i, 2 * s_.length - hop)
                                        ? fmt::format("{} is down, forward and backward run again", s_.name(was[hop]))
                                    : s_.residual.redone(i, hop)
                                        ? fmt::format("{} is down, the forward runs again", s_.name(was[hop]))
                                        : fmt::format("{} is down", s_.name(was[hop]));
            result.changes.push_back(fmt::format("microbatch {}: {} -> {} at stage {} ({})", m, s_.name(was[hop]),
                                                 s_.name(is[hop]), s_.stage_of(is[hop]), why));
        }
    }

    PerNode<std::vector<Operation>> left_order(const PerNode<std::vector<int>>& started) const {
        PerNode<std::vector<Operation>> order(started.size());
        for (std::size_t n = 0; n < started.size(); ++n)
            for (const int id : started[n]) {
                order[n].push_back(s_.operation_of(id));
                order[n].back().attempt = ResidualSimulator::variant_of(id) == ResidualSimulator::redo ? 1 : 0;
            }
        return order;
    }

    /// Of each node: what has run (in the old order where there was one), what runs, then what is to run.
    PerNode<std::vector<Operation>> whole_order(const PerNode<std::vector<int>>& started) const {
        auto order = what_has_run(started);
        for (const int id : s_.running()) {
            const ReleaseIndex i = s_.simulator().index_of(id);
            order[step_node(s_.path(s_.best.nodes, i), s_.length, s_.simulator().step_of(id))].push_back(
                s_.operation_of(id));
        }
        for (NodeIndex n = 0; at(n) < order.size(); ++n)
            for (const int id : started[n]) order[n].push_back(s_.operation_of(id));
        return order;
    }

    PerNode<std::vector<Operation>> what_has_run(const PerNode<std::vector<int>>& started) const {
        PerNode<std::vector<Operation>> order(at(s_.problem.nodes()));
        const auto slot = [&](ReleaseIndex i, int step, bool weight) {
            return (at(i) * at(s_.residual.steps()) + at(step)) * 2 + (weight ? 1 : 0);
        };
        std::vector<char> ran(at(s_.residual.count()) * at(s_.residual.steps()) * 2, 1);
        const auto still_runs = [&](int id) {
            ran[slot(s_.simulator().index_of(id), s_.simulator().step_of(id),
                     ResidualSimulator::variant_of(id) == ResidualSimulator::weight)] = 0;
        };
        for (const auto& ids : started) std::for_each(ids.begin(), ids.end(), still_runs);
        std::for_each(s_.running().begin(), s_.running().end(), still_runs);
        for (ReleaseIndex i = 0; i < s_.residual.count(); ++i)
            for (int step = 0; step < s_.residual.steps(); ++step) {
                auto& mine = order[step_node(s_.path(s_.best.nodes, i), s_.length, step)];
                if (ran[slot(i, step, false)] != 0) mine.push_back(s_.operation_of(s_.simulator().id(i, step)));
                if (s_.residual.split_backward && step > s_.length && ran[slot(i, step, true)] != 0)
                    mine.push_back({OpKind::W, s_.residual.microbatches[i]});
            }
        for (NodeIndex n = 0; at(n) < std::min(order.size(), s_.plan.order.size()); ++n) {
            std::map<std::pair<OpKind, MicrobatchIndex>, std::size_t>
                place;  // what ran on a lost node has none, and comes first
            for (std::size_t k = 0; k < s_.plan.order[n].size(); ++k)
                place[{s_.plan.order[n][k].kind, s_.plan.order[n][k].microbatch}] = k + 1;
            const auto place_of = [&](const Operation& o) {
                const auto found = place.find({o.kind, o.microbatch});
                return found == place.end() ? 0 : found->second;
            };
            std::stable_sort(order[n].begin(), order[n].end(),
                             [&](const Operation& a, const Operation& b) { return place_of(a) < place_of(b); });
        }
        return order;
    }

    ReplanState& s_;
};

}  // namespace

Problem changed_network(const Problem& problem, const std::vector<NetworkChange>& changes) {
    check(problem, changes);
    Problem network = problem;
    for (const auto& change : changes) {
        if (change.kind == Kind::node_slower) network.seconds_per_sample_per_block[change.node] *= change.factor;
        if (change.kind != Kind::line_slower && change.kind != Kind::line_cut) continue;
        const int line = problem.hop(change.node, change.to).line;
        network.hops.change_line(line, [&](Hop& hop) {
            if (change.kind == Kind::line_cut)
                hop.line = no_line;
            else
                hop.slow(change.factor);
        });
    }
    return network;
}

Replan replan(const Problem& given, const Plan& plan, const ReplanRequest& request) {
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    check(problem, request.changes);
    check_start(problem, plan, request.progress);
    ReplanState state(problem, plan, request);
    Replan result{.at_s = state.residual.at_s,
                  .redone_forwards = state.residual.redone_forwards,
                  .redone_backwards = state.residual.redone_backwards,
                  .lost_gradients = state.residual.lost_gradients,
                  .dropped = state.residual.dropped};
    result.unchanged_s = state.stuck() ? infinite : state.try_out(state.best.nodes);
    state.update_stages();
    check_rings(state);
    repair(state);
    result.repaired_s = state.best_s;
    const auto repaired = state.best.nodes;
    if (!request.changes.empty() && std::isfinite(state.best_s)) improve(state);
    Answer(state).finish(result, repaired);
    result.residual = std::move(state.residual);
    result.residual_plan = state.trial();
    return result;
}

IterationProgress progress_at(const Problem& given, const Plan& plan, const ReplanRequest& request,
                              const Replan& result, double at_s) {
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    const auto network = changed_network(problem, request.changes);
    return ResidualSimulator(network, result.residual, problem, plan.stages).progress(result.residual_plan, at_s);
}

}  // namespace skippipe
