// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/plan_ahead.h"

#include <algorithm>
#include <chrono>

#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe {

namespace {

std::optional<Plan> shorter_plan(const Planner& planner, Problem rest, const Plan& start, PlanRequest request) {
    rest.placement = start.stages;
    rest.stage_sizes.clear();
    for (const auto& ring : start.stages) rest.stage_sizes.push_back(static_cast<int>(ring.size()));
    if (rest.plan_blocks) rest.set_blocks(start.blocks);
    rest.plan_blocks = false;
    const bool goes = check_structure(rest, start).empty();
    if (goes) request.warm_start = &start;
    try {
        auto plan = planner.plan(rest, request);
        if (request.stop.stop_requested()) return std::nullopt;
        if (goes && !(evaluate(rest, plan).iteration_s < evaluate(rest, start).iteration_s)) return std::nullopt;
        return plan;
    } catch (const InputError&) {
        return std::nullopt;  // the plan in force may break what planners keep to, and goes on
    }
}

}  // namespace

void PlanAhead::begin(const Problem& network, const Plan& start) {
    give_up();
    const auto lost = [](const std::vector<NodeIndex>& ring) { return ring.empty(); };
    if (planner_ == nullptr || std::any_of(start.stages.begin(), start.stages.end(), lost)) return;
    stop_ = {};
    result_ = std::async(std::launch::async,
                         [planner = planner_, network, start,
                          request = PlanRequest{.seed = seed_, .steps = steps_, .stop = stop_.get_token()}] {
                             return shorter_plan(*planner, network, start, request);
                         });
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
