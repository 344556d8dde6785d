// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/joint_start.h"

#include <cmath>
#include <numeric>

#include "core/base/fault.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/plan/validator.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/joint/feasible_paths.h"

namespace skippipe::planners::joint {

SkipCandidate any_start(const Problem& problem, const PlanRequest& request, const Budget& budget) {
    check_solvable(problem);
    try {
        return conflict_free_paths(problem, request, budget, default_expansions);
    } catch (const InputError&) {
        auto found = feasible_paths(problem, request.seed);
        if (!found) throw;
        SkipCandidate start{std::move(*found), 0, {}};
        ensure_complete(problem, start.candidate, start.note);
        if (!std::isfinite(iteration_s(problem, start.candidate))) throw;
        return start;
    }
}

void scatter(const Problem& problem, Rng rng, PlanCandidate& candidate) {
    const PlanCandidate before = candidate;
    if (problem.plan_blocks) {
        int spare = std::accumulate(candidate.blocks.begin(), candidate.blocks.end(), 0) - problem.stages;
        candidate.blocks.assign(candidate.blocks.size(), 1);
        for (; spare > 0; --spare) ++candidate.blocks[rng.below(candidate.blocks.size())];
    }
    if (problem.sizes.size() > 1) rng.shuffle(candidate.schedule.microbatches);
    if (!std::isfinite(iteration_s(problem, candidate))) candidate = before;  // memory does not take that
}

bool fits_as_start(const Problem& problem, const Plan& plan) {
    return check_structure(problem, plan).empty() &&
           static_cast<int>(plan.paths.front().nodes.size()) == problem.path_length &&
           check_plan(problem, plan, evaluate(problem, plan)).empty();
}

}  // namespace skippipe::planners::joint
