// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/joint_start.h"

#include <cmath>
#include <numeric>

#include "core/base/fault.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/plan/validator.h"
#include "plugins/planners/joint/any_paths.h"

namespace skippipe {

SkipDraft any_start(const Problem& problem, const PlanRequest& request, const Budget& budget) {
    check_solvable(problem);
    try {
        return conflict_free_paths(problem, request, budget, default_expansions);
    } catch (const InputError&) {
        auto found = any_paths(problem, request.seed);
        if (!found) throw;
        SkipDraft start{std::move(*found), 0, {}};
        ensure_complete(problem, start.draft, start.note);
        if (!std::isfinite(iteration_s(problem, start.draft))) throw;
        return start;
    }
}

void scatter(const Problem& problem, Rng rng, Draft& draft) {
    const Draft before = draft;
    if (problem.plan_blocks) {
        int spare = std::accumulate(draft.blocks.begin(), draft.blocks.end(), 0) - problem.stages;
        draft.blocks.assign(draft.blocks.size(), 1);
        for (; spare > 0; --spare) ++draft.blocks[rng.below(draft.blocks.size())];
    }
    if (problem.sizes.size() > 1) rng.shuffle(draft.schedule.microbatches);
    if (!std::isfinite(iteration_s(problem, draft))) draft = before;  // memory does not take that
}

bool fits_as_start(const Problem& problem, const Plan& plan) {
    return check_structure(problem, plan).empty() &&
           static_cast<int>(plan.paths.front().nodes.size()) == problem.path_length &&
           check_plan(problem, plan, evaluate(problem, plan)).empty();
}

}  // namespace skippipe
