// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/stored_record.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/record/record.h"
#include "plugins/planners/planners.h"

namespace skippipe {
namespace {

constexpr std::chrono::seconds patience{60};

Experiment quick_start() {
    Faults faults;
    return parse_experiment(read_file(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json", faults))
        .experiment;
}

void require(bool written) {
    if (!written) throw std::runtime_error("the record was not written in time");
}

}  // namespace

void make_runs_record(const std::filesystem::path& file, int runs, int metrics) {
    Recorder recorder(file);
    Rng rng(3);
    const auto experiment = to_text(quick_start());
    for (int r = 0; r < runs; ++r) {
        const RunId run = recorder.begin({.name = "experiment " + std::to_string(rng.below(100)),
                                          .planner = rng.below(2) == 0 ? "gpipe" : "skippipe-joint",
                                          .experiment_json = experiment,
                                          .plan_json = "{}",
                                          .versions_json = "{}",
                                          .machine_json = "{}",
                                          .seed = rng.below(5) + 1,
                                          .iterations = metrics});
        double loss = 6;
        for (int i = 0; i < metrics; ++i) {
            loss -= 0.02 * rng.uniform();
            recorder.metric(run, {.iteration = i, .name = "loss", .value = loss, .network_s = 1.0 * i});
        }
        recorder.finish(run, RunState::finished,
                        {.iterations_done = metrics, .iteration_s = 1 + rng.uniform(), .last_validation_loss = loss},
                        "{}");
    }
    require(recorder.flush(patience));
}

namespace {

/// The quick start and one iteration of a plan for it.
struct Planned {
    Experiment experiment = quick_start();
    Problem problem = make_problem(experiment);
    Plan plan = planners::make_skippipe()->plan(problem, {.steps = 200});
    Timeline timeline = evaluate(problem, plan);

    RunId begin(Recorder& recorder, int iterations) const {
        return recorder.begin({.name = experiment.name,
                               .planner = plan.planner,
                               .experiment_json = to_text(experiment),
                               .plan_json = to_json(plan, problem, to_json(experiment)).dump(),
                               .versions_json = "{}",
                               .machine_json = "{}",
                               .iterations = iterations});
    }
    void record(Recorder& recorder, RunId run, int i, double machine_s) const {
        recorder.spans(run, i, i * timeline.iteration_s, timeline.spans);
        const double end_s = (i + 1) * timeline.iteration_s;
        recorder.metric(run,
                        {.iteration = i, .name = "iteration_s", .value = timeline.iteration_s, .network_s = end_s});
        recorder.metric(run, {.iteration = i, .name = "loss", .value = 6.0 - i * 1e-4, .network_s = end_s});
        recorder.iteration_done(run, i + 1, machine_s);
    }
};

}  // namespace

void make_spans_record(const std::filesystem::path& file, std::int64_t spans) {
    const Planned planned;
    Recorder recorder(file);
    const int iterations = static_cast<int>(spans / static_cast<std::int64_t>(planned.timeline.spans.size())) + 1;
    const RunId run = planned.begin(recorder, iterations);
    for (int i = 0; i < iterations; ++i) {
        planned.record(recorder, run, i, i);
        if (i % 100 == 99) require(recorder.flush(patience));  // a run gives them more slowly
    }
    recorder.finish(run, RunState::finished,
                    {.iterations_done = iterations, .iteration_s = planned.timeline.iteration_s}, "{}");
    require(recorder.flush(patience));
}

void write_live_run(const std::filesystem::path& file, double spans_per_s, double seconds) {
    using Clock = std::chrono::steady_clock;
    const Planned planned;
    Recorder recorder(file);
    const double pause_s = static_cast<double>(planned.timeline.spans.size()) / spans_per_s;
    const int iterations = static_cast<int>(seconds / pause_s);
    const RunId run = planned.begin(recorder, iterations);
    const auto began = Clock::now();
    for (int i = 0; i < iterations; ++i) {
        planned.record(recorder, run, i, i * pause_s);
        std::this_thread::sleep_until(
            began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>((i + 1) * pause_s)));
    }
    recorder.finish(run, RunState::finished, {.iterations_done = iterations}, "{}");
}

}  // namespace skippipe
