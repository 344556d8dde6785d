// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe fork`: another run that begins where a checkpoint is, with other settings.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/failing.h"
#include "app/cli/job_checks.h"
#include "app/cli/planning.h"
#include "app/cli/resuming.h"
#include "app/cli/train_job.h"
#include "core/device/nccl_api.h"
#include "core/experiment/io.h"
#include "core/experiment/paths.h"
#include "core/experiment/set_field.h"

namespace skippipe::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ForkOptions {
    std::vector<AlarmKind> stop_on;
    std::string run, file, save_weights;
    std::vector<std::string> settings;
    int at = -1, threads = 0;
    bool ignore_memory = false;
    FailureOptions failures;
};

/// "training.learning_rate=1e-4" into the document.
void take_setting(Json& document, const std::string& setting) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos || equals == 0)
        throw InputError("--set", fmt::format("\"{}\" is no FIELD=VALUE", setting), "",
                         "Write it as training.learning_rate=1e-4");
    set_field(document, setting.substr(0, equals), value_of_text(setting.substr(equals + 1)), "--set");
}

/// What a checkpoint's tensors do not fit is refused by name.
void require_fit(const Experiment& old, const Experiment& now, const Plan& plan) {
    Faults faults;
    const auto keep = [&](const char* pointer, const auto& was, const auto& is, const char* why) {
        if (was != is)
            faults.push_back({pointer, fmt::format("{}; the checkpoint has {}", is, was), why,
                              "Leave it as it is, or start a run of its own"});
    };
    const char* shape = "its tensors have the shapes of their model";
    keep("/model/blocks", old.model.blocks, now.model.blocks, shape);
    keep("/model/width", old.model.width, now.model.width, shape);
    keep("/model/heads", old.model.heads, now.model.heads, shape);
    keep("/model/kv_heads", old.model.kv_heads, now.model.kv_heads, shape);
    keep("/model/ffn_width", old.model.ffn_width, now.model.ffn_width, shape);
    keep("/model/vocabulary", old.model.vocabulary, now.model.vocabulary, shape);
    keep("/model/rotary_base", old.model.rotary_base, now.model.rotary_base, "its weights were trained with it");
    keep("/pipeline/stages", old.pipeline.stages, now.pipeline.stages, "there is one file a stage");
    const auto& given = now.pipeline.blocks_per_stage;
    if (!given.empty() && given != plan.blocks)
        faults.push_back(
            {"/pipeline/blocks_per_stage",
             fmt::format("[{}]; the checkpoint has [{}]", fmt::join(given, ", "), fmt::join(plan.blocks, ", ")),
             "there is one file a stage", "Leave it as it is, or start a run of its own"});
    if (old.execution.compute != now.execution.compute)
        faults.push_back({"/execution/compute", "it is not that of the checkpoint", "only `torch` has weights",
                          "Leave it as it is, or start a run of its own"});
    if (!faults.empty()) throw InputError(faults);
}

/// Where no file says otherwise, the run's document, with the iterations that it was extended to since.
Experiment changed(const FoundCheckpoint& from, const RunInfo& run, const ForkOptions& options) {
    Faults faults;
    const auto text = options.file.empty() ? from.manifest.experiment_json : read_file(options.file, faults);
    auto json = has_errors(faults) ? Json{} : parse_json(text, faults);
    if (has_errors(faults)) throw InputError(faults);
    if (options.file.empty()) json["training"]["iterations"] = run.iterations;
    for (const auto& setting : options.settings) take_setting(json, setting);
    auto parsed = parse_experiment(json);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    report(parsed.faults, false);
    parsed.experiment.seeds = 1;
    return std::move(parsed.experiment);
}

/// Everybody was there and as fast as drawn, and nodes are where they were placed for that.
bool is_whole(const Membership& members) {
    return members.absent.empty() && members.slower.empty() && members.placed == Membership::Placed{};
}

/// The plan in force stays where nothing that a plan depends on has changed: a fork begins with everybody, also where
/// the run it begins in had lost some.
Plan plan_for(const RunJob& job, const FoundCheckpoint& from, const Experiment& old, const Plan& was,
              const ForkOptions& options, Context& context) {
    if (is_whole(from.manifest.position.members) && experiment_hash(old) == experiment_hash(job.experiment) &&
        old.pipeline.planner == job.experiment.pipeline.planner)
        return plan_of(from, job.problem);
    const auto& planner = find_planner(context.planners, job.experiment.pipeline.planner);
    auto plan = make_plan(planner, job.problem, plan_request(job.experiment, options.threads), !context.json);
    if (plan.blocks != was.blocks)
        throw InputError("/pipeline/blocks_per_stage",
                         fmt::format("{} gives stages [{}] blocks; the checkpoint has [{}]", plan.planner,
                                     fmt::join(plan.blocks, ", "), fmt::join(was.blocks, ", ")),
                         "there is one file a stage", "Choose another planner");
    return plan;
}

void fork(const ForkOptions& options, Context& context) {
    become_worker_if_launched();
    const auto [run, document] = [&] {
        Reader reader(context.record);
        const auto found = find_run(reader, options.run);
        return std::pair(found, reader.experiment_json(found.id));
    }();
    const auto from = checkpoint_at(context.record, run.id, document, options.at);
    const auto old = experiment_of(from);
    const auto was = plan_of(from, make_problem(old));
    RunJob job;
    job.experiment = changed(from, run, options);
    add_failures(job.experiment, options.failures);
    if (job.experiment.execution.transport == Transport::nccl) nccl();  // is it there
    require_fit(old, job.experiment, was);
    if (job.experiment.training.iterations <= options.at)
        throw InputError(
            "/training/iterations",
            fmt::format("{}; the checkpoint has {} behind it", job.experiment.training.iterations, options.at),
            "nothing is left to train", fmt::format("Add --set training.iterations={}", std::max(1, 2 * options.at)));
    // Stages stay as they are: there is a file of each.
    job.experiment.pipeline.plan_blocks = false;
    job.experiment.pipeline.blocks_per_stage = was.blocks;
    if (old.pipeline.blocks_per_stage.empty() && !old.pipeline.plan_blocks)
        job.experiment.pipeline.blocks_per_stage.clear();
    job.problem = make_problem(job.experiment);
    job.record = context.record;
    job.base_dir = options.file.empty() ? std::filesystem::path(from.manifest.base_dir)
                                        : std::filesystem::absolute(options.file).parent_path();
    job.experiment = with_absolute_paths(std::move(job.experiment), job.base_dir);
    require_files(job.experiment, job.base_dir);
    prepare_text(job, context);
    job.threads = options.threads > 0 ? options.threads : job.experiment.execution.threads;
    job.plan = plan_for(job, from, old, was, options, context);
    job.ignore_memory = options.ignore_memory;
    if (!options.save_weights.empty()) job.save_weights = std::filesystem::absolute(options.save_weights);
    const bool same_messages = job.plan == was && job.experiment.costs.wire == old.costs.wire &&
                               job.experiment.model == old.model && job.experiment.pipeline == old.pipeline;
    job.origin = RunOrigin{run.id, from.folder, from.manifest.position, true, same_messages};
    job.origin->started_utc = run.started_utc;
    job.origin->position.validated = false;
    job.stop_on = {options.stop_on.begin(), options.stop_on.end()};
    take_launched_ranks(job);
    require_machine(job);
    train_job(job, context);
}

}  // namespace

void add_fork(CLI::App& app, Context& context) {
    auto options = std::make_shared<ForkOptions>();
    auto* verb = add_verb(app, context, "fork", "Begin another run at a checkpoint of a run, with other settings",
                          "  skippipe fork 3 --at 100 --set training.learning_rate=1e-4\n"
                          "  skippipe fork latest --at 100 --set training.iterations=200 --set pipeline.skip_ratio=0\n"
                          "  skippipe fork 3 --at 100 --fail crash:any@1%+60s\n"
                          "  skippipe fork 3 --at 100 changed.json");
    verb->add_option("RUN", options->run, "Run number or `latest`")->required();
    verb->add_option("EXPERIMENT", options->file, "Experiment file with the other settings; default: the run's own");
    verb->add_option("--at", options->at, "Iterations done at the checkpoint")
        ->required()
        ->check(CLI::NonNegativeNumber);
    verb->add_option("--set", options->settings, "FIELD=VALUE: a field of the document, parts between dots")
        ->allow_extra_args(false);
    verb->add_option("--save-weights", options->save_weights, "Write the trained model there at the end (safetensors)");
    verb->add_option("--threads", options->threads, "Workers; default: the experiment's, else one a core")
        ->check(CLI::Range(1, 1024));
    add_memory_option(*verb, options->ignore_memory);
    add_failure_options(*verb, options->failures);
    add_stop_option(*verb, options->stop_on);
    verb->callback([options, &context] { fork(*options, context); });
}

}  // namespace skippipe::cli
