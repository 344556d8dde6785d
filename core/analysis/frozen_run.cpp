// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/frozen_run.h"

#include "core/experiment/io.h"

namespace skippipe {

FrozenRun read_frozen(Reader& reader, RunId run) {
    FrozenRun frozen;
    auto parsed = parse_experiment(reader.experiment_json(run));
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    frozen.experiment = std::move(parsed.experiment);
    frozen.problem = make_problem(frozen.experiment);
    frozen.plan = recorded_plan(reader, run, frozen.problem, 0);
    return frozen;
}

Plan recorded_plan(Reader& reader, RunId run, const Problem& problem, int iteration) {
    Faults faults;
    auto plan = parse_plan(parse_json(reader.plan_json(run, iteration), faults), problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return plan;
}

std::map<int, Plan> recorded_plans(Reader& reader, RunId run, const Problem& problem) {
    std::map<int, Plan> plans;
    plans.emplace(0, recorded_plan(reader, run, problem, 0));
    for (const auto& change : reader.plan_changes(run))
        plans.try_emplace(change.iteration, recorded_plan(reader, run, problem, change.iteration));
    return plans;
}

int first_drawable_iteration(Reader& reader, RunId run) {
    const auto rows = reader.iteration_rows(run);
    return rows.empty() ? 0 : rows.front().iteration;
}

}  // namespace skippipe
