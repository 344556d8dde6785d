// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iostream>
#include <optional>

#include <fmt/format.h>

#include "app/cli/failing.h"
#include "app/cli/job_checks.h"
#include "app/cli/planning.h"
#include "app/cli/train_job.h"
#include "app/cli/verbs.h"
#include "core/device/nccl_api.h"
#include "core/engine/launch.h"
#include "core/experiment/atomic_file.h"
#include "core/experiment/io.h"
#include "core/experiment/paths.h"
#include "core/planner/runnable.h"
#include "core/run/coordinator.h"
#include "core/run/worker_process.h"

namespace skippipe::cli {

namespace {

struct RunOptions {
    std::string file, model, planner, plan_file, save_weights;
    bool ignore_memory = false, calibrate = false;
    int threads = 0, iterations = -1, ranks = 0, checkpoint_every = -1;
    std::optional<std::uint64_t> seed;
    FailureOptions failures;
    std::vector<AlarmKind> stop_on;
};

/// How many ranks there are instead of the document's; 0: as many as it says. Under a launcher its processes count.
int ranks_given(const RunOptions& options, const std::optional<LaunchEnvironment>& launch) {
    if (!launch || launch->world_size == 1) return options.ranks;
    if (launch->master_port == 0)
        throw InputError("MASTER_PORT", "0", "the other ranks must know where rank 0 listens",
                         "Set it to the same free port on every rank");
    return launch->world_size;
}

/// Before the document is read: what it asks for must go together with them.
nlohmann::ordered_json with_ranks(nlohmann::ordered_json document, int ranks) {
    if (ranks > 0 && document.is_object())
        if (auto& how = document["execution"]; how.is_null() || how.is_object()) how["ranks"] = ranks;
    return document;
}

void tell_of_ranks(const std::optional<LaunchEnvironment>& launch, const nlohmann::ordered_json& document) {
    if (!launch || launch->world_size == 1) return;
    const nlohmann::ordered_json::json_pointer pointer("/execution/ranks");
    const auto said = document.contains(pointer) ? document.at(pointer) : nlohmann::ordered_json(1);
    if (said != launch->world_size)
        std::cerr << fmt::format("note: {} started {} ranks; execution.ranks was {}\n", launch->launcher,
                                 launch->world_size, said.dump());
}

nlohmann::ordered_json read_json(const std::string& file) {
    Faults faults;
    const auto text = read_file(file, faults);
    auto json = has_errors(faults) ? nlohmann::ordered_json{} : parse_json(text, faults);
    if (has_errors(faults)) throw InputError(faults);
    return json;
}

Experiment experiment_of(const nlohmann::ordered_json& json, const std::string& at) {
    auto parsed = parse_experiment(json, at);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    report(parsed.faults, false);
    return std::move(parsed.experiment);
}

/// What options changed is a document still: nobody could read the run's frozen experiment again otherwise.
void require_valid(const Experiment& experiment) {
    auto faults = parse_experiment(to_json(experiment)).faults;  // ranges too
    std::erase_if(faults, [](const Fault& fault) { return fault.severity != Fault::Severity::error; });
    if (!faults.empty()) throw InputError(std::move(faults));
}

Plan plan_of(const nlohmann::ordered_json& json, const Problem& problem) {
    Faults faults;
    auto plan = parse_plan(json, problem, faults);
    if (!has_errors(faults)) faults = check_runnable(problem, plan);
    if (has_errors(faults)) throw InputError(faults);
    report(faults, false);
    return plan;
}

/// The absolute path of the weights to write, found to be writable now rather than after hours of training.
std::filesystem::path writable(const std::string& path, const Experiment& experiment) {
    if (path.empty()) return {};
    if (experiment.execution.compute == Compute::cost)
        throw InputError("--save-weights", "the experiment computes nothing", "execution.compute is cost",
                         "Set it to \"torch\", or leave the option out");
    if (experiment.seeds > 1)
        throw InputError("--save-weights", fmt::format("the experiment has {} seeds", experiment.seeds),
                         "each of their runs would write over the weights of the one before",
                         "Set \"seeds\" to 1 and run each with --seed and a file of its own");
    const auto target = std::filesystem::absolute(path);
    AtomicFile probe(target);
    return target;
}

RunJob make_job(const RunOptions& options, const std::optional<LaunchEnvironment>& launch, Context& context) {
    const auto json = read_json(options.file);
    const bool is_plan = json.is_object() && json.contains("paths");
    if (is_plan && !json.contains("experiment"))
        throw InputError(options.file + "#/experiment", "the plan does not carry its experiment",
                         "a plan alone does not say what to train",
                         "Use `skippipe run EXPERIMENT --plan PLAN`, or write the plan with `skippipe plan -o`");
    RunJob job;
    if (is_plan && !options.plan_file.empty())
        throw InputError("--plan", options.file + " carries a plan already", "a run has one plan",
                         "Name the experiment's file with --plan, or leave --plan out");
    if (is_plan && !options.model.empty())
        throw InputError("--model", "the plan carries its experiment's own model", "it was made for that",
                         "Run the experiment with --model instead");
    const int ranks = ranks_given(options, launch);
    job.launched = launch && launch->world_size > 1;
    const auto document = is_plan ? json["experiment"] : with_model(json, options.model);
    job.experiment = experiment_of(with_ranks(document, ranks), is_plan ? "/experiment" : "");
    tell_of_ranks(launch, document);
    if (options.iterations >= 0) job.experiment.training.iterations = options.iterations;
    if (options.checkpoint_every >= 0) job.experiment.training.checkpoint_every = options.checkpoint_every;
    if (options.seed) job.experiment.seed = *options.seed;
    if (!options.planner.empty()) job.experiment.pipeline.planner = options.planner;
    add_failures(job.experiment, options.failures);
    require_valid(job.experiment);
    if (job.experiment.execution.transport == Transport::nccl) nccl();  // is it there
    job.save_weights = writable(options.save_weights, job.experiment);
    job.calibrate = options.calibrate;
    job.ignore_memory = options.ignore_memory;
    job.stop_on = {options.stop_on.begin(), options.stop_on.end()};
    if (job.calibrate && job.experiment.execution.clock == Clock::virtual_time)
        throw InputError("--calibrate", "the virtual clock runs", "there the drawn times are true by definition",
                         "Set execution.clock to \"wall\", or leave the option out");
    job.problem = make_problem(job.experiment);
    job.record = context.record;
    job.base_dir = std::filesystem::absolute(options.file).parent_path();
    job.experiment = with_absolute_paths(std::move(job.experiment), job.base_dir);
    require_files(job.experiment, job.base_dir);
    prepare_text(job, context);
    job.threads = options.threads > 0 ? options.threads : job.experiment.execution.threads;
    if (is_plan && options.planner.empty()) {
        job.plan = plan_of(json, job.problem);
    } else if (!options.plan_file.empty()) {
        job.plan = plan_of(read_json(options.plan_file), job.problem);
    } else {
        const auto& planner = find_planner(context.planners, job.experiment.pipeline.planner);
        job.plan = make_plan(planner, job.problem, plan_request(job.experiment, options.threads), !context.json);
    }
    require_machine(job);
    return job;
}

void run(const RunOptions& options, Context& context) {
    const auto launch = launch_environment();
    if (launch && launch->rank > 0) become_worker();  // the job comes from rank 0
    auto job = make_job(options, launch, context);
    const int seeds = job.experiment.seeds;
    for (int i = 0; i < seeds; ++i) {
        if (!train_job(job, context)) return;
        ++job.experiment.seed;
    }
}

}  // namespace

void add_run(CLI::App& app, Context& context) {
    auto options = std::make_shared<RunOptions>();
    auto* verb = add_verb(
        app, context, "run", "Train an experiment (or a plan that carries its experiment) for real and record it",
        "  skippipe run quick-start.json\n  skippipe run quick-start.json --planner 1f1b --iterations 10\n"
        "  skippipe run plan.json --threads 2 --db my.sqlite\n"
        "  skippipe run quick-start.json --fail crash:node-3@2min+60s --fail crash:any@3%+20s --trace outages.csv");
    verb->add_option("EXPERIMENT|PLAN", options->file, "Experiment or plan file")->required();
    add_model_option(*verb, options->model);
    verb->add_option("--save-weights", options->save_weights,
                     "Write the trained model there at the end (safetensors, LLaMA's names)");
    add_memory_option(*verb, options->ignore_memory);
    verb->add_flag("--calibrate", options->calibrate,
                   "Wall clock: keep the cost model true to what is measured, and plan again when it drifts");
    auto* plan = verb->add_option("--plan", options->plan_file, "Use this plan with the experiment");
    verb->add_option("--planner", options->planner, "Planner instead of the experiment's")->excludes(plan);
    verb->add_option("--threads", options->threads,
                     "Workers; default: the experiment's, else one a core; never changes the losses")
        ->check(CLI::Range(1, 1024));
    verb->add_option("--ranks", options->ranks,
                     "Processes instead of the experiment's (wall clock); under torchrun, srun or mpirun theirs counts")
        ->check(CLI::Range(1, 4096));
    verb->add_option("--iterations", options->iterations,
                     "Iterations instead of the experiment's; 0 with --save-weights writes the untrained model")
        ->check(CLI::NonNegativeNumber);
    verb->add_option("--checkpoint-every", options->checkpoint_every,
                     "Iterations between checkpoints instead of the experiment's; 0: none")
        ->check(CLI::NonNegativeNumber);
    add_seed_option(*verb, options->seed, "Seed instead of the experiment's");
    add_failure_options(*verb, options->failures);
    add_stop_option(*verb, options->stop_on);
    verb->callback([options, &context] { run(*options, context); });
}

}  // namespace skippipe::cli
