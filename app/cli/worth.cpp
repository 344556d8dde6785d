// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe worth`: whether leaving stages out pays on a network.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/analysis/frozen_run.h"
#include "core/analysis/price.h"
#include "core/analysis/skip_worth.h"
#include "core/base/format.h"
#include "core/planner/plan/problem.h"
#include "core/planner/timeline/evaluator.h"

namespace skippipe::cli {
namespace {

struct WorthOptions {
    std::string file, model, metric = "validation_loss";
    std::vector<std::string> runs;
    std::optional<double> loss;
    double node_hour = 0;
    int threads = 0;
};

/// Losses over tokens, a training each, and their seeds.
struct Trainings {
    std::vector<std::vector<CurvePoint>> losses;
    std::vector<std::uint64_t> seeds;
};

/// Of the runs, by their skip ratio.
std::map<double, Trainings> trainings_of(const WorthOptions& options, const Experiment& drawn, Context& context) {
    Reader reader(context.record);
    std::map<double, Trainings> trainings;
    for (const auto& name : options.runs) {
        const auto run = find_run(reader, name);
        const auto frozen = read_frozen(reader, run.id);
        auto curve = curve_points(reader.metrics(run.id), options.metric, WorkAxis::tokens);
        if (curve.empty())
            throw InputError("RUN", fmt::format("run {} has no {}", run.id, options.metric), "nothing converges there",
                             "Leave it out, or choose another --metric");
        if (frozen.experiment.model != drawn.model)
            std::cerr << fmt::format("note: run {} trained another model than {} has\n", run.id, options.file);
        auto& there = trainings[used_skip_ratio(frozen.plan, frozen.experiment.pipeline.skip_ratio)];
        there.losses.push_back(std::move(curve));
        there.seeds.push_back(frozen.experiment.seed);
    }
    return trainings;
}

/// The network's own plan at a skip ratio.
SkipMeasured planned_at(double skip_ratio, Experiment experiment, const WorthOptions& options, Context& context) {
    experiment.pipeline.skip_ratio = skip_ratio;
    const auto problem = make_problem(experiment);
    const auto plan = make_plan(find_planner(context.planners, experiment.pipeline.planner), problem,
                                plan_request(experiment, options.threads), !context.json);
    const auto account = account_plan(experiment.model, problem, plan);
    if (!account)
        throw InputError(options.file, fmt::format("no plan at skip ratio {}", skip_ratio), plan.note,
                         "Leave the runs of that skip ratio out, or choose another planner");
    std::optional<double> money;
    if (options.node_hour == 0 && has_prices(experiment))
        money = price_of(experiment, problem, plan, evaluate(problem, plan)).total();
    return {skip_ratio, account->network_s, static_cast<double>(account->tokens), account->used_nodes, {}, money};
}

nlohmann::ordered_json spread_json(const Spread& spread) {
    return {{"values", spread.values},
            {"mean", optional_number(spread.mean)},
            {"standard_deviation", optional_number(spread.deviation)},
            {"least", optional_number(spread.least)},
            {"most", optional_number(spread.most)},
            {"share_of_first", optional_number(spread.share)},
            {"welch_p", optional_number(spread.p)}};
}

void print_worths_json(const SkipWorths& worths) {
    nlohmann::ordered_json json{{"target", optional_number(worths.target)}, {"rows", nlohmann::ordered_json::array()}};
    for (const auto& row : worths.rows)
        json["rows"].push_back({{"skip_ratio", row.skip_ratio},
                                {"iteration_seconds", row.iteration_s},
                                {"runs", row.runs},
                                {"there", row.there},
                                {"readings", row.readings},
                                {"there_by_iterations", optional_number(row.by_iterations)},
                                {"iterations", spread_json(row.iterations)},
                                {"network_seconds", spread_json(row.network_s)},
                                {"money", spread_json(row.money)}});
    std::cout << json_line(json) << '\n';
}

/// "1 h 05 min (58 min to 1 h 12 min)"
template <class Words>
std::string band_words(const Spread& spread, const Words& words) {
    if (!spread.mean) return std::string{no_number};
    const auto text = words(*spread.mean);
    return spread.values.size() < 2 ? text
                                    : fmt::format("{} ({} to {})", text, words(*spread.least), words(*spread.most));
}

void print_worths(const SkipWorths& worths, const WorthOptions& options) {
    const auto plain = [](double v) { return format_number(v); };
    const auto seconds = [](double s) { return format_seconds(s); };
    std::vector<std::vector<std::string>> rows{
        {"skip ratio", "runs", "get there", "iteration", "iterations", "network time", "of the first", "p"}};
    const bool has_money = std::any_of(worths.rows.begin(), worths.rows.end(),
                                       [](const SkipWorth& row) { return row.money.mean.value_or(0) > 0; });
    if (has_money) rows[0].insert(rows[0].begin() + 6, "money");
    for (const auto& row : worths.rows) {
        auto& line =
            rows.emplace_back(std::vector<std::string>{fmt::format("{}", row.skip_ratio), std::to_string(row.runs),
                                                       std::to_string(row.there), format_seconds(row.iteration_s)});
        if (row.there > 0 && !row.is_told()) {
            line.push_back("by " + plain(*row.by_iterations));
            line.push_back("by " + seconds(*row.by_iterations * row.iteration_s));
        } else {
            line.push_back(band_words(row.iterations, plain));
            line.push_back(band_words(row.network_s, seconds));
        }
        if (has_money) line.push_back(row.is_told() ? band_words(row.money, plain) : std::string{no_number});
        line.push_back(row.network_s.share ? fmt::format("{:.3f} x", *row.network_s.share) : std::string{no_number});
        line.push_back(row.network_s.p ? fmt::format("{:.3g}", *row.network_s.p) : std::string{no_number});
    }
    std::cout
        << fmt::format("Time of the drawn network until {} is {:.4f}\n", options.metric, worths.target.value_or(0))
        << table(rows)
        << "Iterations: tokens that the runs needed, by those of an iteration; least and most over their seeds. p: "
           "Welch's test of network time against the first row. \"by\": so few readings that what lies between them "
           "is not known\n";
}

void worth(const WorthOptions& options, Context& context) {
    const auto drawn = read_experiment(options.file, options.model);
    std::vector<SkipMeasured> measured;
    for (auto& [skip_ratio, trainings] : trainings_of(options, drawn, context)) {
        measured.push_back(planned_at(skip_ratio, drawn, options, context));
        measured.back().losses = std::move(trainings.losses);
        measured.back().seeds = std::move(trainings.seeds);
    }
    const auto worths = skip_worth(std::move(measured), options.loss, options.node_hour);
    context.json ? print_worths_json(worths) : print_worths(worths, options);
}

}  // namespace

void add_worth(CLI::App& app, Context& context) {
    auto options = std::make_shared<WorthOptions>();
    auto* verb = add_verb(app, context, "worth",
                          "Is the skip worth it? Time of a network to a loss at each skip ratio: its plans' iterations "
                          "times what recorded runs needed",
                          "  skippipe worth authors-20.json 1 2 3 4 5 6\n"
                          "  skippipe worth quick-start.json 1 2 --loss 3.5 --node-hour 0.9");
    verb->add_option("EXPERIMENT", options->file, "Experiment whose network and planner count")->required();
    verb->add_option("RUN", options->runs, "Runs at different skip ratios, with several seeds each")
        ->required()
        ->expected(1, 10'000);
    add_model_option(*verb, options->model);
    verb->add_option("--loss", options->loss, "The loss to get to; default: the worst last one, which all get to");
    verb->add_option("--metric", options->metric, "validation_loss or loss")
        ->check(CLI::IsMember({"validation_loss", "loss"}))
        ->capture_default_str();
    verb->add_option("--node-hour", options->node_hour,
                     "Price of a node for an hour, to tell money too; default: the experiment's prices")
        ->check(number_between(0, 1e12));
    verb->add_option("--threads", options->threads, "Threads of the planner; default: one a core")
        ->check(CLI::Range(1, 1024));
    verb->callback([options, &context] { worth(*options, context); });
}

}  // namespace skippipe::cli
