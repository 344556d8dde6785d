// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/base/format.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "core/planner/replan/replan.h"
#include "core/planner/plan/validator.h"

namespace skippipe::cli {

namespace {

struct ReplanOptions {
    std::string experiment, plan_file, output;
    double at_s = 0;
    std::vector<std::string> down, slow_lines, slow_nodes, joins;
    double threshold = 0.002;
    bool lose_gradients = false;
};

/// Changes by when they happen, seconds from the iteration's start.
using Events = std::map<double, std::vector<NetworkChange>>;

NodeIndex find_node(const Problem& problem, const std::string& id) {
    for (NodeIndex n = 0; n < problem.nodes(); ++n)
        if (problem.node_ids[n] == id) return n;
    throw InputError("replan", fmt::format("there is no node \"{}\"", id), "changes name nodes of the experiment",
                     "Look the ids up in the experiment file");
}

/// "A,B,2.5" in its parts.
std::vector<std::string> parts_of(const std::string& text, std::size_t least, std::size_t most, const char* form) {
    std::vector<std::string> parts{""};
    for (const char c : text) {
        if (c == ',')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    if (parts.size() < least || parts.size() > most)
        throw InputError("replan", fmt::format("\"{}\" is not {}", text, form), "", fmt::format("Write {}", form));
    return parts;
}

double number_of(const std::string& text) {
    try {
        std::size_t used = 0;
        const double value = std::stod(text, &used);
        if (used == text.size()) return value;
    } catch (const std::exception&) {  // the fault below says it
    }
    throw InputError("replan", fmt::format("\"{}\" is not a number", text), "", "Write factors and stages as numbers");
}

/// Takes "@SECONDS" off the end of a change; without it, it happens at --at.
double time_of(std::string& text, double at_s) {
    const auto sign = text.rfind('@');
    if (sign == std::string::npos) return at_s;
    const double seconds = number_of(text.substr(sign + 1));
    text.resize(sign);
    if (!(seconds >= at_s && std::isfinite(seconds)))
        throw InputError("replan", fmt::format("a change at {:g} s, before --at {:g}", seconds, at_s),
                         "--at is when the first change happens", "Give changes later than --at after an @");
    return seconds;
}

Events events_of(const ReplanOptions& options, const Problem& problem) {
    using Kind = NetworkChange::Kind;
    Events events;
    for (auto text : options.down) {
        const double time_s = time_of(text, options.at_s);
        events[time_s].push_back({.kind = Kind::node_down, .node = find_node(problem, text)});
    }
    for (auto text : options.slow_lines) {
        auto& changes = events[time_of(text, options.at_s)];
        const auto parts = parts_of(text, 3, 3, "A,B,FACTOR");
        const NodeIndex a = find_node(problem, parts[0]), b = find_node(problem, parts[1]);
        changes.push_back({.kind = Kind::line_slower, .node = a, .to = b, .factor = number_of(parts[2])});
        changes.push_back({.kind = Kind::line_slower, .node = b, .to = a, .factor = number_of(parts[2])});
    }
    for (auto text : options.slow_nodes) {
        auto& changes = events[time_of(text, options.at_s)];
        const auto parts = parts_of(text, 2, 2, "NODE,FACTOR");
        changes.push_back(
            {.kind = Kind::node_slower, .node = find_node(problem, parts[0]), .factor = number_of(parts[1])});
    }
    for (auto text : options.joins) {
        auto& changes = events[time_of(text, options.at_s)];
        const auto parts = parts_of(text, 1, 2, "NODE or NODE,STAGE");
        const StageIndex stage(parts.size() == 2 ? static_cast<int>(number_of(parts[1])) : -1);
        if (parts.size() == 2 && stage < 0)
            throw InputError("--join", fmt::format("there is no stage {}", parts[1]), "", "Stages are numbered from 0");
        changes.push_back({.kind = Kind::node_joins, .node = find_node(problem, parts[0]), .stage = stage});
    }
    if (events.empty()) events[options.at_s] = {};
    return events;
}

std::string seconds_text(double iteration_s, double at_s) {
    return std::isfinite(iteration_s) ? fmt::format("{:.3f} s", std::max(0.0, iteration_s - at_s)) : "never ends";
}

nlohmann::ordered_json remaining(double iteration_s, double at_s) {
    return std::isfinite(iteration_s) ? nlohmann::ordered_json(std::max(0.0, iteration_s - at_s))
                                      : nlohmann::ordered_json(nullptr);
}

void print(const Replan& result, double planned_s, double milliseconds, bool json) {
    if (json) {
        const nlohmann::ordered_json object{{"at_seconds", result.at_s},
                                            {"iteration_seconds_before", planned_s},
                                            {"iteration_seconds", result.iteration_s},
                                            {"remaining_seconds_unchanged", remaining(result.unchanged_s, result.at_s)},
                                            {"remaining_seconds_repaired", remaining(result.repaired_s, result.at_s)},
                                            {"remaining_seconds", remaining(result.iteration_s, result.at_s)},
                                            {"forced_paths", result.forced_paths},
                                            {"improved_paths", result.improved_paths},
                                            {"redone_forwards", result.redone_forwards},
                                            {"redone_backwards", result.redone_backwards},
                                            {"lost_gradients", result.lost_gradients},
                                            {"changes", result.changes},
                                            {"milliseconds", milliseconds}};
        std::cout << json_line(object) << '\n';
        return;
    }
    for (const auto& change : result.changes) std::cout << change << '\n';
    if (result.changes.empty()) std::cout << "no path changes\n";
    std::cout << '\n'
              << table({{"what remains", ""},
                        {"as planned, had nothing happened", seconds_text(planned_s, result.at_s)},
                        {"if nothing were changed", seconds_text(result.unchanged_s, result.at_s)},
                        {fmt::format("repaired ({} path{})", result.forced_paths, result.forced_paths == 1 ? "" : "s"),
                         seconds_text(result.repaired_s, result.at_s)},
                        {fmt::format("improved ({} more)", result.improved_paths),
                         seconds_text(result.iteration_s, result.at_s)}});
    if (result.redone_forwards > 0)
        std::cout << fmt::format("{} forwards run again: their activations were lost\n", result.redone_forwards);
    if (result.redone_backwards > 0)
        std::cout << fmt::format("{} backwards run again: their weight gradients were lost\n", result.redone_backwards);
    if (result.lost_gradients > 0)
        std::cout << fmt::format(
            "{} weight gradients were lost with their node: its stage steps on the mean over the others\n",
            result.lost_gradients);
    std::cout << fmt::format("replanned in {:.3g} ms\n", milliseconds);
}

void replan_file(const ReplanOptions& options, Context& context) {
    const auto experiment = read_experiment(options.experiment);
    const auto problem = make_problem(experiment);
    auto plan = read_plan(options.plan_file, problem);
    if (const auto found = check_structure(problem, plan); !found.empty())
        throw InputError("PLAN", found.front().rule + ": " + found.front().what,
                         "only a plan that can run can be replanned", "See `skippipe score`");
    const auto timeline = evaluate(problem, plan);
    double planned_s = timeline.complete ? timeline.iteration_s : std::numeric_limits<double>::infinity();
    // Each change starts from where the plan made for the one before had come.
    const auto events = events_of(options, problem);
    auto network = problem;
    auto progress = progress_at(problem, plan, timeline, events.begin()->first);
    Replan result;
    for (auto event = events.begin(); event != events.end(); ++event) {
        const ReplanRequest request{.progress = progress,
                                    .changes = event->second,
                                    .keep_gradients = !options.lose_gradients,
                                    .threshold = options.threshold};
        const auto begin = std::chrono::steady_clock::now();
        result = replan(network, plan, request);
        const double milliseconds =
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        if (events.size() > 1 && !context.json)
            std::cout << fmt::format("{}at {:g} s\n", event == events.begin() ? "" : "\n", event->first);
        print(result, planned_s, milliseconds, context.json);
        planned_s = result.iteration_s;
        if (std::next(event) != events.end())
            progress = progress_at(network, plan, request, result, std::next(event)->first);
        network = changed_network(network, request.changes);
        plan = result.plan;
    }
    if (options.output.empty()) return;
    write_file_atomically(
        options.output,
        to_json(plan, problem, to_json(to_be_stored(experiment, options.experiment, options.output))).dump(1) + "\n");
    if (!context.json) std::cout << fmt::format("{} written\n", options.output);
}

}  // namespace

void add_replan(CLI::App& app, Context& context) {
    auto options = std::make_shared<ReplanOptions>();
    auto* verb =
        add_verb(app, context, "replan",
                 "A new plan for the rest of an iteration, when a node dies, joins or slows down, or a link does; with "
                 "@SECONDS after a change also for "
                 "later ones, each from where the plan before had come",
                 "  skippipe replan authors-20.json plan.json --at 20 --down n5\n"
                 "  skippipe replan authors-20.json plan.json --at 20 --slow-link n0,n7,10 --slow-node n3,2 --json\n"
                 "  skippipe replan authors-20.json plan.json --at 20 --down n5 --join n19,2 -o rest.json\n"
                 "  skippipe replan authors-20.json plan.json --at 20 --down n5 --down n7@35");
    verb->add_option("EXPERIMENT", options->experiment, "Experiment file")->required();
    verb->add_option("PLAN", options->plan_file, "Plan file")->required();
    verb->add_option("--at", options->at_s, "When the first change happens, seconds from the iteration's start")
        ->required()
        ->check(number_between(0, 1e12));
    verb->add_option("--down", options->down,
                     "NODE that dies; its siblings compute again what it had computed and is still needed")
        ->allow_extra_args(false);
    verb->add_option("--slow-link", options->slow_lines,
                     "A,B,FACTOR: messages between the two take so many times as long, both ways")
        ->allow_extra_args(false);
    verb->add_option("--slow-node", options->slow_nodes, "NODE,FACTOR: its operations take so many times as long")
        ->allow_extra_args(false);
    verb->add_option("--join", options->joins,
                     "NODE,STAGE: a node that the plan left out holds the stage from now on; without STAGE: where most "
                     "is left to do. It fetches weights and optimizer state from a node of the stage first")
        ->allow_extra_args(false);
    verb->add_flag("--lose-gradients", options->lose_gradients,
                   "Do not run ended backwards of a node that dies again: its stage steps on the mean over the other "
                   "microbatches");
    verb->add_option("--threshold", options->threshold,
                     "A path that need not change is changed where that shortens the rest by this share")
        ->capture_default_str()
        ->check(number_between(0, 1e12));
    verb->add_option("-o,--output", options->output,
                     "Write the plan; paths of microbatches that have finished are as they were, lost nodes included");
    verb->callback([options, &context] { replan_file(*options, context); });
}

}  // namespace skippipe::cli
