// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/resuming.h"

#include <iostream>

#include <fmt/format.h>

#include "app/cli/planning.h"
#include "app/cli/train_job.h"
#include "core/engine/build_id.h"
#include "core/engine/launch.h"
#include "core/experiment/io.h"
#include "core/run/worker_process.h"

namespace skippipe::cli {

Experiment experiment_of(const FoundCheckpoint& from) {
    auto parsed = parse_experiment(from.manifest.experiment_json);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    return std::move(parsed.experiment);
}

Plan plan_of(const FoundCheckpoint& from, const Problem& problem) {
    Faults faults;
    auto plan = parse_plan(parse_json(from.manifest.plan_json, faults), problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return plan;
}

void become_worker_if_launched() {
    const auto launch = launch_environment();
    if (launch && launch->rank > 0) become_worker();  // the job comes from rank 0
}

void take_launched_ranks(RunJob& job) {
    const auto launch = launch_environment();
    if (!launch || launch->world_size == 1) return;
    if (launch->world_size != job.experiment.execution.ranks)
        throw InputError("execution.ranks",
                         fmt::format("{} started {} ranks, the run had {}", launch->launcher, launch->world_size,
                                     job.experiment.execution.ranks),
                         "sums in another order have other last bits", "Start as many ranks as the run had");
    job.launched = true;
}

void resume_run(Context& context, const RunInfo& run, const std::vector<AlarmKind>& stop_on, int iterations) {
    become_worker_if_launched();
    if (run.state == RunState::finished && iterations == 0)
        throw InputError(
            "RUN", fmt::format("run {} has finished", run.id), "nothing is left to train",
            fmt::format("`skippipe extend {0} --iterations N` trains on; `skippipe fork {0} --at {1}` does "
                        "so as another run",
                        run.id, run.iterations_done));
    Faults passed_over;
    const auto from =
        newest_checkpoint(context.record, run, Reader(context.record).experiment_json(run.id), passed_over);
    report(passed_over, false);
    const auto& manifest = from.manifest;
    if (manifest.build != build_id())
        report({{from.folder.string(), "was written by another build: " + manifest.build,
                 "what follows may differ in its last bits", "", Fault::Severity::warning}},
               false);
    RunJob job;
    job.experiment = experiment_of(from);
    job.experiment.training.iterations = iterations > 0 ? iterations : run.iterations;
    job.problem = make_problem(job.experiment);
    job.plan = plan_of(from, job.problem);
    job.record = context.record;
    job.base_dir = manifest.base_dir;
    job.threads = manifest.threads;
    job.save_weights = manifest.save_weights;
    job.calibrate = manifest.calibrate;
    job.stop_on = {stop_on.begin(), stop_on.end()};
    job.origin = RunOrigin{run.id, from.folder, manifest.position};
    job.origin->reached = run.iterations_done;
    job.origin->extends = iterations > 0;
    take_launched_ranks(job);
    prepare_text(job, context);
    if (!context.json)
        std::cout << fmt::format("run {} goes on after {} of {} iterations\n", run.id,
                                 manifest.position.iterations_done, job.experiment.training.iterations);
    train_job(job, context);
}

}  // namespace skippipe::cli
