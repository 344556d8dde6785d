// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/common/plan_candidate.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/common/reduction_starts.h"

namespace skippipe::planners {

namespace {

Operation operation_of(const FlatPlan& schedule, std::uint32_t packed) {
    const int step = packed_step(packed), plain = step & ~weight_gradient_bit;
    const OpKind backward = schedule.split_backward ? OpKind::I : OpKind::B;
    const OpKind kind = (step & weight_gradient_bit) != 0 ? OpKind::W
                        : plain < schedule.length         ? OpKind::F
                        : plain == schedule.length        ? OpKind::L
                                                          : backward;
    return {kind, schedule.microbatches[packed_index(packed)]};
}

}  // namespace

bool operator==(const PlanCandidate& a, const PlanCandidate& b) {
    return a.stages == b.stages && a.blocks == b.blocks && a.schedule.length == b.schedule.length &&
           a.schedule.split_backward == b.schedule.split_backward &&
           a.schedule.microbatches == b.schedule.microbatches && a.schedule.nodes == b.schedule.nodes &&
           a.schedule.stage_of == b.schedule.stage_of && a.schedule.order == b.schedule.order &&
           a.schedule.reductions == b.schedule.reductions;
}

PerStage<int> stage_sizes(const Problem& problem) {
    return problem.stage_sizes.empty() ? problem.default_stage_sizes() : problem.stage_sizes;
}

PerStage<int> sizes_of(const Placement& placement) {
    PerStage<int> sizes;
    for (const auto& stage : placement) sizes.push_back(static_cast<int>(stage.size()));
    return sizes;
}

PlanCandidate candidate_without_pieces(const Problem& problem, const Placement& stages, int length) {
    PlanCandidate candidate{stages, {}, problem.blocks};
    auto& schedule = candidate.schedule;
    schedule.length = length;
    schedule.split_backward = problem.split_backward;
    schedule.stage_of.assign(at(problem.nodes()), -1);
    for (StageIndex s = 0; at(s) < stages.size(); ++s)
        for (const NodeIndex node : stages[s]) schedule.stage_of[node] = s;
    for (MicrobatchIndex m = 0; m < problem.microbatches; ++m) schedule.microbatches.push_back(m);
    schedule.nodes.assign(at(problem.microbatches) * at(length), -1);
    return candidate;
}

PlanCandidate make_candidate(const Problem& problem, const Placement& stages, int length) {
    PlanCandidate candidate = candidate_without_pieces(problem, stages, length);
    choose_reductions(problem, candidate);
    return candidate;
}

void choose_reductions(const Problem& problem, PlanCandidate& candidate) {
    candidate.schedule.reductions.clear();
    if (!problem.plan_reductions) return;
    const PlannedProblem planned(problem, candidate.blocks);
    ReductionChoice choice(planned.get());
    for (StageIndex s = 0; at(s) < candidate.stages.size(); ++s)
        candidate.schedule.reductions.push_back(choice.best(candidate.stages[s], s));
}

PlanCandidate candidate_of(const Problem& problem, const Plan& plan) {
    return {plan.stages, flatten(problem, plan), plan.blocks};
}

Plan make_plan(const Problem& problem, const PlanCandidate& candidate, const std::string& planner,
               const PlanRequest& request, std::int64_t steps, std::string note) {
    Plan plan;
    plan.planner = planner;
    plan.seed = request.seed;
    plan.steps = steps;
    plan.experiment_hash = problem.experiment_hash;
    plan.split_backward = candidate.schedule.split_backward;
    plan.stages = candidate.stages;
    plan.blocks = candidate.blocks;
    plan.reductions = candidate.schedule.reductions;
    for (ReleaseIndex i = 0; i < candidate.schedule.count(); ++i) {
        const NodeIndex* path = candidate.schedule.path(i);
        plan.paths.push_back(
            {candidate.schedule.microbatches[i], std::vector<NodeIndex>(path, path + candidate.schedule.length)});
    }
    for (const auto& node : candidate.schedule.order) {
        auto& order = plan.order.emplace_back();
        for (const auto packed : node) order.push_back(operation_of(candidate.schedule, packed));
    }
    plan.note = std::move(note);
    return plan;
}

double mean_end_s(const std::vector<NodeIndex>& data_nodes, const PerNode<double>& node_end_s) {
    double sum_s = 0;
    for (const NodeIndex node : data_nodes) sum_s += std::max(0.0, node_end_s[node]);
    return sum_s / static_cast<double>(data_nodes.size());
}

double iteration_s(const Problem& problem, const PlanCandidate& candidate) {
    return Simulator(PlannedProblem(problem, candidate.blocks).get())
        .times(candidate.schedule, candidate.stages)
        .iteration_s;
}

double evaluated_s(const Problem& problem, const PlanCandidate& candidate) {
    return evaluate(problem, make_plan(problem, candidate, {}, {}, 0, {})).iteration_s;
}

}  // namespace skippipe::planners
