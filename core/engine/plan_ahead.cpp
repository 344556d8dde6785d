// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/plan_ahead.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "core/engine/moves.h"
#include "core/planner/plan/part.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

/// Nodes go to other stages only where an iteration is shorter by so much.
constexpr double worth_moving = 0.02;

/// What is planned for, and with what.
struct Outset {
    const Planner& planner;
    Problem rest;  ///< the network, with the stages' blocks
    Plan start;
    bool goes;  ///< `start` fits the network
    PlanRequest request;
    std::vector<NodeIndex> spares;
    double move_s;
};

/// Nothing where the planner finds none: the plan in force may break what planners keep to, and goes on.
std::optional<Plan> planned(const Planner& planner, const Problem& problem, const PlanRequest& request) {
    try {
        auto plan = planner.plan(problem, request);
        if (request.stop.stop_requested()) return std::nullopt;
        return plan;
    } catch (const InputError&) {
        return std::nullopt;
    }
}

/// With the nodes where they are.
std::optional<Plan> plan_in_place(const Outset& from) {
    Problem rest = from.rest;
    rest.placement = from.start.stages;
    rest.stage_sizes.clear();
    for (const auto& ring : from.start.stages) rest.stage_sizes.push_back(static_cast<int>(ring.size()));
    auto request = from.request;
    if (from.goes) request.warm_start = &from.start;
    auto plan = planned(from.planner, rest, request);
    if (plan && from.goes && !(evaluate(rest, *plan).iteration_s < evaluate(rest, from.start).iteration_s))
        return std::nullopt;
    return plan;
}

/// With nodes anywhere, or nowhere, begun from the plan in force and from nothing; the shortest that can be reached.
std::optional<Plan> plan_anywhere(const Outset& from) {
    auto nodes = from.spares;
    for (const auto& ring : from.start.stages) nodes.insert(nodes.end(), ring.begin(), ring.end());
    std::sort(nodes.begin(), nodes.end());
    const auto part = with_nodes(from.rest, nodes);
    const auto start = plan_of_part(from.rest, nodes, from.start);
    std::optional<Plan> best;
    double best_s = std::numeric_limits<double>::infinity();
    for (const Plan* warm : {&start, static_cast<const Plan*>(nullptr)}) {
        if (warm != nullptr && !from.goes) continue;
        auto request = from.request;
        request.warm_start = warm;
        const auto found = planned(from.planner, part, request);
        if (!found) continue;
        auto plan = plan_of_whole(from.rest, nodes, *found);
        const auto moves = moves_between(from.rest, from.start.stages, plan.stages);
        const double iteration_s = evaluate(from.rest, plan).iteration_s;
        if (!moves.possible || moves.lasts_s > from.move_s || !(iteration_s < best_s)) continue;
        best_s = iteration_s;
        best = std::move(plan);
    }
    return best;
}

std::optional<Plan> shorter_plan(const Outset& from) {
    auto in_place = plan_in_place(from);
    if (!(from.move_s > 0)) return in_place;
    auto anywhere = plan_anywhere(from);
    if (from.request.stop.stop_requested() || !anywhere) return in_place;
    const Plan* stays = in_place ? &*in_place : from.goes ? &from.start : nullptr;
    if (stays != nullptr &&
        evaluate(from.rest, *anywhere).iteration_s > (1 - worth_moving) * evaluate(from.rest, *stays).iteration_s)
        return in_place;
    return anywhere;
}

}  // namespace

void PlanAhead::begin(const Problem& network, const Plan& start, std::vector<NodeIndex> spares) {
    give_up();
    const auto lost = [](const std::vector<NodeIndex>& ring) { return ring.empty(); };
    if (planner_ == nullptr || std::any_of(start.stages.begin(), start.stages.end(), lost)) return;
    stop_ = {};
    Outset from{.planner = *planner_,
                .rest = network,
                .start = start,
                .goes = false,
                .request = {.seed = seed_, .steps = steps_, .stop = stop_.get_token()},
                .spares = std::move(spares),
                .move_s = move_s_};
    if (from.rest.plan_blocks) from.rest.set_blocks(start.blocks);
    from.rest.plan_blocks = false;
    from.goes = check_structure(from.rest, start).empty();
    result_ = std::async(std::launch::async, [from = std::move(from)] { return shorter_plan(from); });
}

void PlanAhead::give_up() {
    stop_.request_stop();
    if (result_.valid()) result_.wait();
    result_ = {};
}

bool PlanAhead::ready() const {
    return result_.valid() && result_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

std::optional<Plan> PlanAhead::take() { return result_.valid() ? result_.get() : std::nullopt; }

}  // namespace skippipe
