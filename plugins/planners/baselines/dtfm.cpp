// SPDX-License-Identifier: GPL-3.0-or-later
// DT-FM: placement by a genetic search; then a full pipeline, or balanced random paths that skip but ignore the
// network.
#include "core/planner/plan/paths.h"
#include "plugins/planners/common/feasibility.h"
#include "plugins/planners/planners.h"
#include "plugins/planners/common/search.h"

namespace skippipe::planners {

namespace {

class Dtfm final : public Planner {
public:
    explicit Dtfm(bool skips) : skips_(skips) {}
    std::string name() const override { return skips_ ? "dtfm-skip" : "dtfm"; }
    std::string description() const override {
        return skips_ ? "DT-FM's placement, with balanced random paths that skip stages and ignore the network."
                      : "Full pipeline on the placement that a genetic search finds (DT-FM: population 200, 8,000 "
                        "offspring).";
    }
    bool full_pipeline() const override { return !skips_; }

    Plan plan(const Problem& problem, const PlanRequest& request) const override {
        check_solvable(problem);
        const Network network(problem);
        // The placement is DT-FM's in both: chosen for the full pipeline.
        const auto full = balanced_sequences(problem, problem.stages);
        const auto sequences = skips_ ? balanced_sequences(problem, problem.path_length) : full;
        const PlacementCost cost(problem, network, stage_flow(problem, full));
        const Budget budget(request, 0, 0.9);
        GeneticBudget genetic;
        if (request.steps > 0 && !budget.by_clock()) genetic.offspring = request.steps;
        if (budget.by_clock()) genetic.offspring = std::numeric_limits<std::int64_t>::max();
        const auto found = genetic_placement(problem, cost, genetic, request.seed,
                                             [&](double fraction) { return budget.go_on(fraction); });
        auto candidate = make_candidate(problem, found.placement, skips_ ? problem.path_length : problem.stages);
        route(problem, network, sequences, {.aware = !skips_, .balanced = true}, request.seed, candidate);
        std::string note;
        ensure_complete(problem, candidate, note);
        if (request.progress) request.progress({1, 0});
        return make_plan(problem, candidate, name(), request, found.offspring, note);
    }

private:
    bool skips_;
};

}  // namespace

std::unique_ptr<Planner> make_dtfm() { return std::make_unique<Dtfm>(false); }
std::unique_ptr<Planner> make_dtfm_skip() { return std::make_unique<Dtfm>(true); }

}  // namespace skippipe::planners
