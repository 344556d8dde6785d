// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "app/cli/explaining.h"
#include "app/cli/jitter.h"
#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/analysis/price.h"
#include "core/base/format.h"
#include "core/experiment/io.h"

namespace skippipe::cli {

namespace {

struct PlanOptions {
    std::string experiment, model, planner, output, plan_file;
    bool all = false, explain = false;
    double seconds = 0;
    std::int64_t steps = 0;
    std::optional<std::uint64_t> seed;
    int threads = 0;
    JitterOptions jitter;
    bool robust = false;
};

std::string seconds_text(double seconds) {
    return seconds > 0 ? fmt::format("{:.2f} s", seconds) : std::string{no_number};
}

void insert_before_last(std::vector<std::string>& row, const std::vector<std::string>& cells) {
    row.insert(row.end() - 1, cells.begin(), cells.end());
}

std::vector<std::string> row_of(const Score& score, bool with_jitter) {
    const bool timed = score.iteration_seconds > 0;
    std::vector<std::string> row{score.planner,
                                 seconds_text(score.iteration_seconds),
                                 seconds_text(score.lower_bound_seconds),
                                 timed ? format_percent(score.gap) : std::string{no_number},
                                 timed ? format_percent(score.idle_fraction) : std::string{no_number},
                                 timed ? format_si(score.bytes, "B") : std::string{no_number},
                                 score.violations.empty() ? "valid"
                                                          : fmt::format("{} violation{}", score.violations.size(),
                                                                        score.violations.size() == 1 ? "" : "s")};
    if (with_jitter) insert_before_last(row, jitter_cells(score));
    return row;
}

/// A plan and why it takes as long as it does.
struct Explained {
    Plan plan;
    Explanation why;
};

/// What is said about one planner's plan.
struct Row {
    Score score;
    std::optional<Accounting> account;
    std::optional<Explained> explained;
    std::vector<int> blocks;  ///< of each stage, where they are planned
    std::optional<BudgetPrice> budget{};
};

/// What all tokens of the experiment take and cost, where it says how many and the plan comes to its end.
std::optional<BudgetPrice> budget(const Experiment& experiment, const std::optional<Accounting>& account) {
    if (!account || experiment.prices.tokens <= 0) return std::nullopt;
    return budget_of(experiment, account->network_s, {account->money.value_or(0), 0});
}

std::string budget_text(const BudgetPrice& budget) {
    return fmt::format("all tokens take {:.0f} iterations, {}{}", budget.iterations, format_seconds(budget.seconds),
                       budget.price > 0 ? ", and cost " + format_number(budget.price) : std::string{});
}

nlohmann::ordered_json row_json(const Row& row, const Problem& problem) {
    auto json = to_json(row.score, row.account);
    if (!row.blocks.empty()) json["blocks"] = row.blocks;
    if (const auto& all = row.budget)
        json["budget"] = {{"iterations", all->iterations}, {"seconds", all->seconds}, {"price", all->price}};
    if (row.explained) json["explanation"] = to_json(row.explained->why, problem);
    return json;
}

void print(const std::vector<Row>& rows, bool json, const Problem& problem) {
    if (json) {
        auto array = nlohmann::ordered_json::array();
        for (const auto& row : rows) array.push_back(row_json(row, problem));
        std::cout << json_line(array) << '\n';
        return;
    }
    std::vector<std::vector<std::string>> lines{
        {"planner", "iteration", "lower bound", "gap", "idle", "bytes sent", ""}};
    const bool with_jitter =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.score.jitter.has_value(); });
    if (with_jitter) insert_before_last(lines.front(), jitter_headings());
    for (const auto& row : rows) lines.push_back(row_of(row.score, with_jitter));
    std::cout << table(lines);
    for (const auto& [score, account, explained, blocks, budget] : rows) {
        for (const auto& violation : score.violations) std::cout << score.planner << ": " << violation << '\n';
        if (!score.note.empty()) std::cout << score.planner << ": " << score.note << '\n';
        if (!blocks.empty())
            std::cout << fmt::format("{}: blocks of the stages {}\n", score.planner, fmt::join(blocks, " "));
        if (budget) std::cout << fmt::format("{}: {}\n", score.planner, budget_text(*budget));
    }
    for (const auto& row : rows)
        if (row.explained) std::cout << explanation_text(row.explained->why, problem, row.explained->plan);
}

std::optional<Explained> explain_where_asked(const PlanOptions& options, const Problem& problem, const Plan& plan) {
    if (!options.explain) return std::nullopt;
    if (auto why = explain_plan(problem, plan)) return Explained{plan, std::move(*why)};
    std::cerr << "note: a plan that cannot be executed to its end takes no time that could be explained\n";
    return std::nullopt;
}

PerStage<int> planned_blocks(const Problem& problem, const Plan& plan) {
    return problem.plan_blocks ? plan.blocks : PerStage<int>{};
}

/// What --robust asks for; throws InputError where nothing could come of it.
Robustness robustness(const PlanOptions& options, const std::optional<Jitter>& jitter,
                      const std::vector<const Planner*>& chosen) {
    if (!jitter)
        throw InputError("--robust", "no jitter is given", "a plan is robust against something", "Add --jitter 20%");
    if (std::none_of(chosen.begin(), chosen.end(), [](const Planner* planner) { return planner->robust(); }))
        throw InputError("--robust", fmt::format("{} does not search for robust plans", chosen.front()->name()),
                         "its plan would be the same without",
                         "Use --planner skippipe-joint, or --jitter alone to see how this plan fares");
    return {*jitter, options.jitter.samples};
}

void make_plans(const PlanOptions& options, Context& context) {
    const auto experiment = read_experiment(options.experiment, options.model);
    const auto problem = make_problem(experiment);
    auto request = plan_request(experiment, options.threads);
    if (options.seconds > 0) request.seconds = options.seconds;
    if (options.steps > 0) request.steps = options.steps;
    if (options.seed) request.seed = *options.seed;

    std::vector<const Planner*> chosen;
    if (options.all)
        for (const auto& planner : context.planners.all()) chosen.push_back(planner.get());
    else
        chosen.push_back(
            &find_planner(context.planners, options.planner.empty() ? experiment.pipeline.planner : options.planner));

    const auto jitter = jitter_of(options.jitter);
    if (options.robust) request.robust = robustness(options, jitter, chosen);

    std::vector<Row> rows;
    Plan best;
    double best_s = 0;  // what is asked for: iteration, or 95th percentile
    std::size_t best_row = 0;
    for (const auto* planner : chosen) {
        try {
            const auto plan = make_plan(*planner, problem, request, !context.json);
            auto account = account_plan(experiment, problem, plan);
            const auto all_tokens = budget(experiment, account);
            rows.push_back({score(problem, plan), std::move(account), {}, planned_blocks(problem, plan), all_tokens});
            Score& scored = rows.back().score;
            if (jitter)
                add_jitter(problem, plan, *jitter, options.jitter.samples, request.seed, request.threads, scored);
            if (!scored.violations.empty()) continue;
            const double seconds = options.robust ? scored.jitter->p95_s : scored.iteration_seconds;
            if (best_s == 0 || seconds < best_s) {
                best = plan;
                best_s = seconds;
                best_row = rows.size() - 1;
            }
        } catch (const InputError& error) {
            if (chosen.size() == 1) throw;
            rows.push_back({{.planner = planner->name(), .violations = {error.what()}}, {}, {}, {}});
        }
    }
    if (best_s > 0) rows[best_row].explained = explain_where_asked(options, problem, best);
    print(rows, context.json, problem);
    if (best_s == 0) context.exit_code = bad_input;
    if (options.output.empty() || best_s == 0) return;
    if (const auto& explained = rows[best_row].explained)
        best.note += (best.note.empty() ? "" : "; ") + explained->why.summary(problem);
    write_file_atomically(
        options.output,
        to_json(best, problem, to_json(to_be_stored(experiment, options.experiment, options.output))).dump(1) + "\n");
    if (!context.json) std::cout << fmt::format("{} written ({})\n", options.output, best.planner);
}

void score_plan(const PlanOptions& options, Context& context) {
    const auto experiment = read_experiment(options.experiment);
    const auto problem = make_problem(experiment);
    const auto jitter = jitter_of(options.jitter);
    const auto plan = read_plan(options.plan_file, problem);
    if (!plan.experiment_hash.empty() && plan.experiment_hash != problem.experiment_hash)
        std::cerr << "note: the plan was made for another experiment (" << plan.experiment_hash << ", this is "
                  << problem.experiment_hash << ")\n";
    Row row{score(problem, plan), account_plan(experiment, problem, plan), explain_where_asked(options, problem, plan),
            planned_blocks(problem, plan)};
    row.budget = budget(experiment, row.account);
    const auto request = plan_request(experiment, options.threads);
    if (jitter)
        add_jitter(problem, plan, *jitter, options.jitter.samples, options.seed.value_or(request.seed), request.threads,
                   row.score);
    print({row}, context.json, problem);
}

void list_planners(const Context& context) {
    if (context.json) {
        auto array = nlohmann::ordered_json::array();
        for (const auto& planner : context.planners.all())
            array.push_back({{"planner", planner->name()},
                             {"description", planner->description()},
                             {"full_pipeline", planner->full_pipeline()}});
        std::cout << json_line(array) << '\n';
        return;
    }
    for (const auto& planner : context.planners.all())
        std::cout << fmt::format("{:<16}  {}\n", planner->name(), planner->description());
}

}  // namespace

void add_plan(CLI::App& app, Context& context) {
    auto options = std::make_shared<PlanOptions>();
    auto* plan =
        add_verb(app, context, "plan", "Plan an experiment: who does what, when; one row a planner",
                 "  skippipe plan quick-start.json\n  skippipe plan quick-start.json --all\n"
                 "  skippipe plan quick-start.json --planner skippipe-joint --seconds 30 -o plan.json\n"
                 "  skippipe plan quick-start.json --explain\n"
                 "  skippipe plan quick-start.json --all --jitter 20%\n"
                 "  skippipe plan quick-start.json --planner skippipe-joint --jitter 20% --robust -o robust.json");
    plan->add_option("EXPERIMENT", options->experiment, "Experiment file")->required();
    add_model_option(*plan, options->model);
    auto* name = plan->add_option("--planner", options->planner, "Planner; default: the experiment's");
    plan->add_flag("--all", options->all, "Every planner, one row each")->excludes(name);
    auto* seconds =
        plan->add_option("--seconds", options->seconds, "Search this long; the plan records the steps reached")
            ->check(number_between(1e-6, 1e9));
    plan->add_option("--steps", options->steps, "Search this many steps: reproducible with the seed")
        ->check(CLI::PositiveNumber)
        ->excludes(seconds);
    add_seed_option(*plan, options->seed, "Default: the experiment's");
    plan->add_option("--threads", options->threads, "Default: one a core; never changes the plan")
        ->check(CLI::Range(1, 1024));
    add_jitter_options(*plan, options->jitter);
    plan->add_flag("--robust", options->robust,
                   "With --jitter: the plan with the least 95th percentile (skippipe-joint; as many steps again)");
    plan->add_option("-o,--output", options->output,
                     "Write the plan (with --all: the shortest; with --robust: by the 95th percentile)");
    const char* explain =
        "Say why it takes as long as it does: the critical node and link, where microbatches wait, what one unit more "
        "would give";
    plan->add_flag("--explain", options->explain, std::string(explain) + " (with --all: of the shortest)");
    plan->callback([options, &context] { make_plans(*options, context); });

    auto* score =
        add_verb(app, context, "score", "Evaluate and check a plan, whoever made it (exit 0 even with violations)",
                 "  skippipe score authors-20.json plan.json\n  skippipe score authors-20.json plan.json --json\n"
                 "  skippipe score authors-20.json plan.json --jitter 20% --samples 5000");
    score->add_option("EXPERIMENT", options->experiment, "Experiment file")->required();
    score->add_option("PLAN", options->plan_file, "Plan file")->required();
    add_seed_option(*score, options->seed, "Of the networks drawn for --jitter; default: the experiment's");
    score->add_option("--threads", options->threads, "Default: one a core; never changes the numbers")
        ->check(CLI::Range(1, 1024));
    add_jitter_options(*score, options->jitter);
    score->add_flag("--explain", options->explain, explain);
    score->callback([options, &context] { score_plan(*options, context); });

    auto* planners =
        add_verb(app, context, "planners", "List the planners", "  skippipe planners\n  skippipe planners --json");
    planners->callback([&context] { list_planners(context); });
}

}  // namespace skippipe::cli
