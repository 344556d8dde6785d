// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the rules afresh (docs/semantics.md), apart from planners and evaluator, so that it can catch both.
#include <algorithm>

#include <fmt/format.h>

#include "core/planner/plan/checks.h"

namespace skippipe {
namespace validation {

void check_counts(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, int length,
                  Shares shares, int cap, Violations& found) {
    if (length != problem.path_length && length != problem.stages)
        found.push_back(
            {"skip-ratio", fmt::format("paths visit {} stages; the skip ratio asks for {}, a full pipeline for {}",
                                       length, problem.path_length, problem.stages)});
    PerStage<int> visits(at(problem.stages), 0);
    std::map<NodeIndex, int> starts;
    for (const NodeIndex node : plan.stages[0]) starts[node] = 0;
    for (const auto& path : plan.paths) {
        ++starts[path.nodes.front()];
        for (const NodeIndex node : path.nodes) ++visits[stage_of[node]];
    }
    if (shares == Shares::equal)
        for (const auto& [node, count] : starts)
            if (count * static_cast<int>(starts.size()) != problem.microbatches)
                found.push_back(
                    {"CC1", fmt::format("data node {} starts {} of {} microbatches; {} data nodes share them equally",
                                        id(problem, node), count, problem.microbatches, starts.size())});
    if (!problem.constraints.uniform_execution) return;
    for (StageIndex stage = 1; stage < problem.stages; ++stage)
        if (visits[stage] > cap)
            found.push_back({"CC2", fmt::format("stage {} runs {} microbatches, at most {} are allowed", stage,
                                                visits[stage], cap)});
}

void check_disorder(const Problem& problem, const Plan& plan, const PerNode<StageIndex>& stage_of, Violations& found) {
    const auto& rules = problem.constraints;
    if (!rules.bounded_disorder) return;
    for (const auto& path : plan.paths) {
        StageIndex furthest = 0;
        int swaps = 0;
        for (std::size_t hop = 1; hop < path.nodes.size(); ++hop) {
            const StageIndex stage = stage_of[path.nodes[hop]];
            if (stage < furthest) {
                ++swaps;
                if (furthest - stage > rules.max_swap_distance)
                    found.push_back(
                        {"CC3", fmt::format("microbatch {} goes back from stage {} to {}, at most {} is allowed",
                                            path.microbatch, furthest, stage, rules.max_swap_distance)});
            } else if (stage - furthest - 1 > rules.max_passed_over) {
                found.push_back(
                    {"CC3",
                     fmt::format("microbatch {} passes over {} stages between {} and {}, at most {} are allowed",
                                 path.microbatch, stage - furthest - 1, furthest, stage, rules.max_passed_over)});
            }
            furthest = std::max(furthest, stage);
        }
        if (swaps > rules.max_swaps)
            found.push_back({"CC3", fmt::format("microbatch {} swaps {} times, at most {} are allowed", path.microbatch,
                                                swaps, rules.max_swaps)});
    }
}

void check_nodes(const Problem& problem, const Plan& plan, const Timeline& timeline,
                 const std::map<NodeIndex, int>& held_before, Ran ran, Violations& found) {
    struct Change {
        double time_s;
        int delta;
    };
    std::map<NodeIndex, std::vector<const Span*>> work;
    std::map<NodeIndex, std::vector<Change>> held;
    const auto last = plan.split_backward ? SpanKind::weight_gradient : SpanKind::backward;
    for (const auto& span : timeline.spans) {
        if (!is_compute(span.kind)) continue;
        work[span.node].push_back(&span);
        if (span.kind == SpanKind::forward) held[span.node].push_back({span.start_s, +1});
        if (span.kind == last) held[span.node].push_back({span.end_s, -1});
    }
    for (auto& [node, changes] : held) {
        // Memory is released before the node dispatches, so at one instant releases come first.
        std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
            return a.time_s != b.time_s ? a.time_s < b.time_s : a.delta < b.delta;
        });
        const auto before = held_before.find(node);
        int now = before == held_before.end() ? 0 : before->second, most = 0;
        for (const auto& change : changes) most = std::max(most, now += change.delta);
        if (most > problem.memory[node])
            found.push_back({"TC1", fmt::format("{} holds {} microbatches, its memory takes {}", id(problem, node),
                                                most, problem.memory[node])});
    }
    for (auto& [node, spans] : work) {
        // Of operations that take no time, the order in which they were recorded is that in which they ran.
        std::stable_sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
            return a->start_s != b->start_s ? a->start_s < b->start_s : a->end_s < b->end_s;
        });
        for (std::size_t i = 1; i < spans.size(); ++i)
            if (spans[i]->start_s < spans[i - 1]->end_s)
                found.push_back(
                    {"TC2", fmt::format("{} runs microbatches {} and {} at once at {:.6g} s", id(problem, node),
                                        spans[i - 1]->microbatch, spans[i]->microbatch, spans[i]->start_s)});
        if (plan.order.empty()) continue;
        const auto& order = plan.order[node];
        const std::size_t first = ran == Ran::rest && order.size() > spans.size() ? order.size() - spans.size() : 0;
        for (std::size_t i = 0; i < std::min(order.size() - first, spans.size()); ++i)
            if (order[first + i].microbatch != spans[i]->microbatch) {
                found.push_back({"order", fmt::format("{} ran microbatch {} where its order says {}", id(problem, node),
                                                      spans[i]->microbatch, to_string(order[first + i]))});
                break;
            }
    }
}

}  // namespace validation

using namespace validation;

namespace {

/// Every operation ran once, after its input had arrived.
void check_causes(const Plan& plan, const Timeline& timeline, Violations& found) {
    std::size_t expected = 0, ran = 0;
    for (const auto& [node, operations] : expected_operations(plan)) expected += operations.size();
    for (const auto& span : timeline.spans) {
        if (!is_compute(span.kind)) continue;
        ++ran;
        if (span.start_s < span.ready_s)
            found.push_back({"structure", fmt::format("{} of microbatch {} began before its input arrived",
                                                      to_string(span.kind), span.microbatch)});
    }
    if (timeline.complete && ran != expected)
        found.push_back({"structure", fmt::format("{} operations ran, the paths ask for {}", ran, expected)});
}

/// By the plan's pieces, or an equal share rooted at each replica, where a path visits the stage.
void check_sums(const Problem& problem, const Plan& plan, const PerStage<char>& visited, const Timeline& timeline,
                Violations& found) {
    PerStage<Pieces> pieces(plan.stages.size());
    for (StageIndex stage = 0; at(stage) < plan.stages.size(); ++stage) {
        if (visited[stage] == 0) continue;
        if (!plan.reductions.empty()) pieces[stage] = plan.reductions[stage];
        if (pieces[stage].empty()) pieces[stage] = default_pieces(static_cast<int>(plan.stages[stage].size()));
    }
    PerNode<double> own_part_s(problem.node_ids.size(), 0);
    for (const auto& span : timeline.spans)
        if (is_compute(span.kind)) own_part_s[span.node] = std::max(own_part_s[span.node], span.end_s);
    check_reduced(problem, plan.stages, pieces, own_part_s, timeline, found);
}

}  // namespace

std::vector<Violation> check_plan(const Problem& problem, const Plan& plan, const Timeline& timeline) {
    auto found = check_structure(problem, plan);
    if (!found.empty()) return found;
    const auto stage_of = stage_of_nodes(plan, problem.nodes());
    const int length = static_cast<int>(plan.paths.front().nodes.size());
    check_counts(problem, plan, stage_of, length, problem.balance_data_nodes ? Shares::equal : Shares::any,
                 problem.visits_cap(length), found);
    check_disorder(problem, plan, stage_of, found);
    if (!timeline.complete) {
        std::string what = "events run out before all operations ran";
        for (const auto& blocked : timeline.blocked) what += "; " + blocked;
        found.push_back({"deadlock", what});
    }
    check_causes(plan, timeline, found);
    const PlannedProblem planned(problem, plan.blocks);
    check_nodes(planned.get(), plan, timeline, {}, Ran::everything, found);
    if (problem.plan_reductions && timeline.complete)
        check_sums(planned.get(), plan, visited_stages(plan, stage_of), timeline, found);
    return found;
}

}  // namespace skippipe
