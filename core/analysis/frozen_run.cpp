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
    Faults faults;
    frozen.plan = parse_plan(parse_json(reader.plan_json(run), faults), frozen.problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return frozen;
}

}  // namespace skippipe
