// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/explain/shared_work.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/planner/plan/validator.h"
#include "core/planner/timeline/executed_order.h"
#include "core/planner/timeline/flat_plan.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {
namespace {

constexpr std::size_t most_evaluations = 400, most_visits = 200'000;  ///< of all evaluations together

/// So many that a large plan takes no longer than a small one.
std::size_t evaluations_of(const Plan& plan) {
    std::size_t visits = 1;
    for (const auto& path : plan.paths) visits += path.nodes.size();
    return std::min(most_evaluations, most_visits / visits);
}

std::vector<MicrobatchIndex> microbatches_of(const Plan& plan, NodeIndex node) {
    std::vector<MicrobatchIndex> all;
    for (const auto& path : plan.paths)
        if (std::find(path.nodes.begin() + 1, path.nodes.end(), node) != path.nodes.end())
            all.push_back(path.microbatch);
    return all;
}

/// From whom to whom, and how many at the most.
struct Pair {
    NodeIndex from = -1, to = -1;
    std::size_t most = 0;
};

std::optional<Pair> pair_of(const Plan& plan, const std::vector<NodeIndex>& stage, NodeIndex node) {
    const auto count = [&](NodeIndex of) { return microbatches_of(plan, of).size(); };
    const auto by_count = [&](NodeIndex a, NodeIndex b) { return count(a) < count(b); };
    const auto [fewest, most] = std::minmax_element(stage.begin(), stage.end(), by_count);
    const bool gives = count(node) == count(*most);
    const NodeIndex from = gives ? node : *most, to = gives ? *fewest : node;
    if (count(from) < count(to) + 2) return std::nullopt;
    return Pair{from, to, (count(from) - count(to)) / 2};
}

}  // namespace

Plan with_shared_work(const Plan& plan, const Problem& problem, const Timeline& timeline, const SharedWork& shared) {
    const auto moves = [&](MicrobatchIndex microbatch) {
        return std::find(shared.microbatches.begin(), shared.microbatches.end(), microbatch) !=
               shared.microbatches.end();
    };
    Plan moved = plan;
    for (auto& path : moved.paths)
        if (moves(path.microbatch)) std::replace(path.nodes.begin() + 1, path.nodes.end(), shared.from, shared.to);
    Timeline as_if = timeline;
    for (auto& span : as_if.spans)
        if (is_compute(span.kind) && span.node == shared.from && moves(span.microbatch)) span.node = shared.to;
    moved.order = executed_order(as_if, problem.nodes());
    return moved;
}

std::optional<SharedWork> shared_work(const Problem& given, const Plan& plan, const Timeline& timeline,
                                      NodeIndex node) {
    const StageIndex stage = stage_of_nodes(plan, given.nodes())[node];
    if (stage <= 0 || plan.stages[stage].size() < 2 || !(timeline.iteration_s > 0)) return std::nullopt;
    const auto pair = pair_of(plan, plan.stages[stage], node);
    if (!pair) return std::nullopt;
    const PlannedProblem planned(given, plan.blocks);
    const Problem& problem = planned.get();
    Simulator simulator(problem);
    const std::size_t most = evaluations_of(plan);
    std::size_t evaluations = 0;
    const auto seconds = [&](const SharedWork& shared) {
        const Plan moved = with_shared_work(plan, problem, timeline, shared);
        ++evaluations;
        return check_structure(problem, moved).empty()
                   ? simulator.times(flatten(problem, moved), moved.stages).iteration_s
                   : std::numeric_limits<double>::infinity();
    };
    SharedWork best{.from = pair->from, .to = pair->to, .microbatches = {}, .change = 0};
    auto left = microbatches_of(plan, pair->from);
    double best_s = std::numeric_limits<double>::infinity();
    while (best.microbatches.size() < pair->most && evaluations + left.size() <= most) {
        SharedWork next = best;
        next.microbatches.emplace_back(-1);
        double next_s = std::numeric_limits<double>::infinity();
        MicrobatchIndex chosen = -1;
        for (const MicrobatchIndex microbatch : left) {
            next.microbatches.back() = microbatch;
            if (const double takes_s = seconds(next); takes_s < next_s) next_s = takes_s, chosen = microbatch;
        }
        if (chosen < 0 || next_s >= best_s || (!best.microbatches.empty() && next_s >= timeline.iteration_s)) break;
        best.microbatches.push_back(chosen);
        best_s = next_s;
        std::erase(left, chosen);
    }
    if (best.microbatches.empty()) return std::nullopt;
    best.change = best_s / timeline.iteration_s - 1;
    return best;
}

}  // namespace skippipe
