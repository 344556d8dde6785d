// SPDX-License-Identifier: GPL-3.0-or-later
// skippipe-no-tc2 and skippipe: a placement for paths that skip, and cheap paths on it.
#include "plugins/planners/skippipe/skipping.h"

#include <limits>

#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/skippipe/conflict_search.h"
#include "plugins/planners/planners.h"

namespace skippipe::planners {

SkipCandidate cheapest_paths(const Problem& problem, const PlanRequest& request, const Budget& budget) {
    check_solvable(problem);
    const Network network(problem);
    const auto sequences = balanced_sequences(problem, problem.path_length);
    const PlacementCost cost(problem, network, stage_flow(problem, sequences));
    const auto found = genetic_placement(problem, cost, {100, 1500}, request.seed,
                                         [&](double fraction) { return budget.go_on(0.5 * fraction); });
    SkipCandidate result{make_candidate(problem, found.placement, problem.path_length), found.offspring, {}};
    route(problem, network, sequences, {.aware = true, .balanced = false}, request.seed, result.candidate);
    ensure_complete(problem, result.candidate, result.note);
    return result;
}

SkipCandidate conflict_free_paths(const Problem& problem, const PlanRequest& request, const Budget& budget,
                                  std::int64_t expansions) {
    auto result = cheapest_paths(problem, request, budget);
    const Network network(problem);
    auto even = make_candidate(problem, result.candidate.stages, problem.path_length);
    route(problem, network, balanced_sequences(problem, problem.path_length), {.aware = true, .balanced = true},
          request.seed, even);
    std::string note;
    ensure_complete(problem, even, note);
    if (iteration_s(problem, even) < iteration_s(problem, result.candidate)) result = {even, result.steps, note};
    const double before_s = iteration_s(problem, result.candidate);
    auto found = conflict_search(problem, network, even, {expansions},
                                 [&](double fraction) { return budget.go_on(0.5 + 0.5 * fraction, before_s); });
    result.steps = found.expansions;
    if (found.found && found.iteration_s < before_s) result = {std::move(found.candidate), found.expansions, {}};
    return result;
}

namespace {

class SkipPlanner final : public Planner {
public:
    explicit SkipPlanner(bool collisions) : collisions_(collisions) {}
    std::string name() const override { return collisions_ ? "skippipe" : "skippipe-no-tc2"; }
    std::string description() const override {
        return collisions_ ? "Paths that skip stages, found by a conflict-based search over uniform execution, memory "
                             "and collisions (SkipPipe)."
                           : "Cheapest paths that skip stages; that microbatches wait for each other on a node "
                             "(collisions, SkipPipe's TC2) is left out.";
    }
    bool full_pipeline() const override { return false; }

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        const Budget budget(request, 0, 1);
        std::int64_t expansions = request.steps > 0 ? request.steps : default_expansions;
        if (budget.by_clock()) expansions = std::numeric_limits<std::int64_t>::max();
        const auto found = collisions_ ? conflict_free_paths(problem, request, budget, expansions)
                                       : cheapest_paths(problem, request, budget);
        if (request.progress) request.progress({1, iteration_s(problem, found.candidate)});
        return make_plan(problem, found.candidate, name(), request, found.steps, found.note);
    }

private:
    bool collisions_;
};

}  // namespace

std::unique_ptr<Planner> make_skippipe_without_tc2() { return std::make_unique<SkipPlanner>(false); }
std::unique_ptr<Planner> make_skippipe() { return std::make_unique<SkipPlanner>(true); }

}  // namespace skippipe::planners
