// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe sweep`: an experiment again and again with other values, and what came of it.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "app/cli/sweep_runner.h"
#include "app/cli/verbs.h"
#include "core/analysis/compare.h"
#include "core/base/format.h"
#include "core/base/statistics.h"
#include "core/experiment/paths.h"
#include "core/experiment/text.h"

namespace skippipe::cli {
namespace {

using Json = nlohmann::ordered_json;

struct SweepOptions {
    std::string file, model, name;
    std::vector<std::string> axes;
    int seeds = 1, draws = 0, jobs = 1, threads = 0, iterations = -1;
    std::uint64_t draw_seed = 1;
    bool dry_run = false;
};

std::vector<SweepPoint> points_of(const SweepOptions& options, const PlannerRegistry& planners) {
    auto experiment = read_experiment(options.file, options.model);
    if (options.iterations >= 0) experiment.training.iterations = options.iterations;
    SweepRequest request{{}, options.seeds, options.draws, options.draw_seed, full_pipelines(planners)};
    for (const auto& text : options.axes) request.axes.push_back(parse_axis(text));
    auto points = sweep_points(experiment, request);
    const auto folder = std::filesystem::absolute(options.file).parent_path();
    for (auto& point : points) point.experiment = with_absolute_paths(std::move(point.experiment), folder);
    return points;
}

/// "3.0561 +/- 0.0120": mean and standard deviation over the seeds.
std::string with_deviation(const std::vector<double>& values) {
    if (values.empty()) return std::string{no_number};
    return values.size() < 2 ? fmt::format("{:.4f}", values.front())
                             : fmt::format("{:.4f} ± {:.4f}", mean(values), standard_deviation(values));
}

void print_rows(const std::vector<SweepPoint>& points, const std::vector<SweepRow>& rows) {
    std::vector<std::vector<std::string>> lines(1);
    lines[0] = sweep_fields(points);
    for (const char* title : {"done", "iteration", "validation loss", "machine time", "best trade-off", "runs"})
        lines[0].emplace_back(title);
    const bool has_money = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.money.empty(); });
    if (has_money) lines[0].insert(lines[0].end() - 2, "money");
    const auto front = sweep_front(rows);
    const auto fields = sweep_fields(points);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto& row = rows[i];
        std::vector<std::string> line;
        for (std::size_t k = 0; k < fields.size(); ++k)
            line.push_back(row.is_full_pipeline && fields[k] == skip_ratio_field ? without_it
                                                                                 : setting_text(row.settings[k]));
        const auto iteration = mean_or_none(row.iteration_s), machine = mean_or_none(row.machine_s);
        std::string runs;
        for (const auto run : row.runs) runs += (runs.empty() ? "" : " ") + std::to_string(run);
        for (const auto& text :
             {fmt::format("{}/{}", row.done, row.points),
              iteration ? format_seconds(*iteration) : std::string{no_number}, with_deviation(row.losses),
              machine ? format_seconds(*machine) : std::string{no_number}, std::string(front[i] ? "yes" : ""), runs})
            line.push_back(text);
        if (has_money) {
            const auto money = mean_or_none(row.money);
            line.insert(line.end() - 2, money ? format_number(*money) : std::string{no_number});
        }
        lines.push_back(std::move(line));
    }
    std::cout << table(lines);
}

Json json_of(Reader& reader, const std::vector<SweepPoint>& points, const std::vector<SweepState>& states) {
    auto array = Json::array();
    for (std::size_t i = 0; i < points.size(); ++i) {
        auto settings = Json::object();
        for (const auto& [field, value] : points[i].settings) settings[field] = value;
        const auto run = states[i].run != 0 ? reader.run(states[i].run) : std::nullopt;
        array.push_back({{"settings", settings},
                         {"run", run ? Json(run->id) : Json()},
                         {"state", run ? Json(to_string(run->state)) : Json("waiting")},
                         {"iteration_seconds", optional_number(run ? run->iteration_s : std::nullopt)},
                         {"last_validation_loss", optional_number(run ? run->last_validation_loss : std::nullopt)},
                         {"machine_seconds", run ? Json(run->machine_s) : Json()},
                         {"fault", states[i].fault}});
    }
    return {{"points", array}};
}

void print_faults(const std::vector<SweepPoint>& points, const std::vector<SweepState>& states) {
    for (std::size_t i = 0; i < points.size(); ++i)
        if (!states[i].done && !states[i].fault.empty())
            std::cerr << fmt::format("{}: {}\n", to_string(points[i]), states[i].fault);
}

void sweep(const SweepOptions& options, Context& context) {
    const auto points = points_of(options, context.planners);
    if (options.dry_run && !context.json)
        for (const auto& point : points) std::cout << to_string(point) << '\n';
    Reader reader(context.record);
    auto states = find_points(reader, points);
    const auto done = std::count_if(states.begin(), states.end(), [](const SweepState& state) { return state.done; });
    const auto taken = std::count_if(states.begin(), states.end(), [](const SweepState& state) { return state.taken; });
    if (!context.json)
        std::cout << fmt::format("{} points, {} of them in the record{}\n", points.size(), done,
                                 taken > 0 ? fmt::format(", {} trained by another program now", taken) : "")
                  << std::flush;
    bool all = done == static_cast<std::ptrdiff_t>(points.size());
    if (!options.dry_run) {
        const SweepJob job{context.record, options.jobs, options.threads, options.name, !context.json};
        all = run_sweep(job, points, states);
    }
    if (context.json)
        std::cout << json_line(json_of(reader, points, states)) << '\n';
    else
        print_rows(points, sweep_rows(reader, points, states));
    if (options.dry_run || all) return;
    print_faults(points, states);
    if (!context.json) std::cout << "Not all points are done; the same command goes on with the others\n";
    context.exit_code = run_failed;
}

}  // namespace

void add_sweep(CLI::App& app, Context& context) {
    auto options = std::make_shared<SweepOptions>();
    auto* verb = add_verb(
        app, context, "sweep",
        "Train an experiment with every combination of chosen values; what the record has already is not done again",
        "  skippipe sweep quick-start.json --vary pipeline.skip_ratio=0,0.25,0.33 --seeds 3 --jobs 2\n"
        "  skippipe sweep quick-start.json --vary pipeline.planner=gpipe,1f1b,skippipe --dry-run\n"
        "  skippipe sweep quick-start.json --vary training.learning_rate=log:1e-4..1e-2 --draws 20");
    verb->add_option("EXPERIMENT", options->file, "Experiment file")->required();
    verb->add_option("--vary", options->axes,
                     "FIELD=VALUE,VALUE,... with names between dots; FIELD=LOW..HIGH or log:LOW..HIGH with --draws")
        ->required()
        ->allow_extra_args(false);
    add_model_option(*verb, options->model);
    verb->add_option("--seeds", options->seeds, "Runs of each combination: the experiment's seed, the next one, ...")
        ->check(CLI::Range(1, 1000));
    verb->add_option("--draws", options->draws, "So many random draws instead of every combination")
        ->check(CLI::Range(1, static_cast<int>(most_sweep_points)));
    verb->add_option("--draw-seed", options->draw_seed, "Seed of the draws")->capture_default_str();
    verb->add_option("--iterations", options->iterations, "Iterations instead of the experiment's")
        ->check(CLI::PositiveNumber);
    verb->add_option("--jobs", options->jobs, "Runs at a time")->check(CLI::Range(1, 1024))->capture_default_str();
    verb->add_option("--threads", options->threads, "Workers of one run; default: the cores, shared by --jobs")
        ->check(CLI::Range(1, 1024));
    verb->add_option("--name", options->name, "Tag of its runs in the record");
    verb->add_flag("--dry-run", options->dry_run, "List the points and what the record has of them");
    verb->callback([options, &context] { sweep(*options, context); });
}

}  // namespace skippipe::cli
