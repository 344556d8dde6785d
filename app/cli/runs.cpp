// SPDX-License-Identifier: GPL-3.0-or-later
#include <iostream>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/analysis/compare.h"
#include "core/base/format.h"

namespace skippipe::cli {

namespace {

nlohmann::ordered_json to_json(const RunInfo& r) {
    return {{"run", r.id}, {"name", r.name}, {"state", to_string(r.state)}, {"planner", r.planner}, {"seed", r.seed}, {"started", r.started_utc},
            {"finished", r.finished_utc}, {"iterations", r.iterations}, {"iterations_done", r.iterations_done},
            {"predicted_iteration_seconds", r.predicted_iteration_s}, {"iteration_seconds", optional_number(r.iteration_s)},
            {"tokens_per_second", optional_number(r.tokens_per_second)}, {"first_validation_loss", optional_number(r.first_validation_loss)},
            {"last_validation_loss", optional_number(r.last_validation_loss)}, {"machine_seconds", r.machine_s}, {"error", r.error}, {"tags", r.tags}, {"note", r.note}};
}

std::string number(const std::optional<double>& value, const char* format = "{:.4f}") {
    return value ? fmt::format(fmt::runtime(format), *value) : std::string{no_number};
}

nlohmann::ordered_json parsed(const std::string& text) {
    return nlohmann::ordered_json::parse(text.empty() ? "null" : text, nullptr, false);
}

void list(Context& context, const std::string& state) {
    Reader reader(context.record);
    auto runs = reader.runs();
    if (!state.empty()) std::erase_if(runs, [&](const RunInfo& r) { return to_string(r.state) != state; });
    if (context.json) {
        auto array = nlohmann::ordered_json::array();
        for (const auto& run : runs) array.push_back(to_json(run));
        std::cout << array.dump() << '\n';
        return;
    }
    if (runs.empty()) {
        std::cout << "No runs yet. Start one with `skippipe run EXPERIMENT`\n";
        return;
    }
    std::vector<std::vector<std::string>> rows{{"run", "state", "planner", "iterations", "iteration", "tokens/s", "first loss", "last loss", "started", "name"}};
    for (const auto& r : runs)
        rows.push_back({std::to_string(r.id), std::string(to_string(r.state)), r.planner, fmt::format("{}/{}", r.iterations_done, r.iterations),
                        r.iteration_s ? format_seconds(*r.iteration_s) : std::string{no_number}, number(r.tokens_per_second, "{:.0f}"), number(r.first_validation_loss), number(r.last_validation_loss), r.started_utc, r.name});
    std::cout << table(rows);
}

void show(Context& context, const std::string& name) {
    Reader reader(context.record);
    const auto run = find_run(reader, name);
    const auto summary = parsed(reader.summary_json(run.id));
    const auto metrics = reader.metrics(run.id);
    if (context.json) {
        auto json = to_json(run);
        json["machine"] = parsed(reader.machine_json(run.id));
        json["versions"] = parsed(reader.versions_json(run.id));
        json["summary"] = summary;
        auto array = nlohmann::ordered_json::array();
        for (const auto& m : metrics)
            array.push_back({{"iteration", m.iteration}, {"name", m.name}, {"value", m.value}, {"network_seconds", m.network_s}, {"machine_seconds", m.machine_s}, {"tokens", m.tokens}});
        json["metrics"] = array;
        json["experiment"] = parsed(reader.experiment_json(run.id));
        json["plan"] = parsed(reader.plan_json(run.id));
        std::cout << json.dump() << '\n';
        return;
    }
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](const std::string& key, const std::string& value) { rows.push_back({key, value}); };
    row("run", std::to_string(run.id));
    row("name", run.name);
    row("state", std::string(to_string(run.state)));
    row("planner", run.planner);
    row("seed", std::to_string(run.seed));
    row("iterations", fmt::format("{} of {}", run.iterations_done, run.iterations));
    row("predicted iteration time (network)", fmt::format("{:.3f} s", run.predicted_iteration_s));
    row("executed iteration time (network)", number(run.iteration_s, "{:.3f} s"));
    row("machine time", format_seconds(run.machine_s));
    row("tokens per second here", number(run.tokens_per_second, "{:.0f}"));
    row("first validation loss", number(run.first_validation_loss));
    row("last validation loss", number(run.last_validation_loss));
    if (!run.error.empty()) row("error", run.error);
    if (summary.is_object() && summary.contains("idle_by_cause"))
        for (const auto& [cause, share] : summary["idle_by_cause"].items())
            if (share.is_number() && share.get<double>() > 0) row("idle: " + cause, format_percent(share.get<double>()));
    std::cout << table(rows);
}

nlohmann::ordered_json numbers(const std::vector<std::optional<double>>& values) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& value : values) array.push_back(optional_number(value));
    return array;
}

nlohmann::ordered_json to_json(const std::vector<RunInfo>& runs, const std::vector<ParameterDifference>& differences, const std::vector<Figure>& figures) {
    nlohmann::ordered_json json{{"runs", nlohmann::ordered_json::array()}, {"baseline", runs.front().id}, {"parameters", nlohmann::ordered_json::array()}, {"figures", nlohmann::ordered_json::array()}};
    for (const auto& run : runs) json["runs"].push_back(run.id);
    for (const auto& difference : differences) {
        auto values = nlohmann::ordered_json::array();
        for (const auto& value : difference.values) values.push_back(value ? parsed(*value) : nlohmann::ordered_json(nullptr));
        json["parameters"].push_back({{"pointer", difference.pointer}, {"values", values}});
    }
    for (const auto& figure : figures)
        json["figures"].push_back({{"name", figure.name}, {"unit", figure.unit}, {"values", numbers(figure.values)}, {"deltas", numbers(figure.deltas)}, {"ratios", numbers(figure.ratios)}});
    return json;
}

void compare(Context& context, const std::vector<std::string>& names) {
    Reader reader(context.record);
    std::vector<RunInfo> runs;
    std::vector<nlohmann::ordered_json> experiments;
    for (const auto& name : names) {
        runs.push_back(find_run(reader, name));
        experiments.push_back(parsed(reader.experiment_json(runs.back().id)));
    }
    const auto differences = differing_parameters(experiments);
    const auto figures = compare_figures(runs);
    if (context.json) {
        std::cout << to_json(runs, differences, figures).dump() << '\n';
        return;
    }
    std::vector<std::vector<std::string>> rows{{""}};
    for (const auto& run : runs) rows[0].push_back(fmt::format("run {}{}", run.id, &run == &runs.front() ? " (baseline)" : ""));
    for (const auto& [name, member] : {std::pair{"name", &RunInfo::name}, std::pair{"planner", &RunInfo::planner}}) {
        rows.push_back({name});
        for (const auto& run : runs) rows.back().push_back(run.*member);
    }
    for (const auto& figure : figures) {
        rows.push_back({figure.unit.empty() ? figure.name : figure.name + " [" + figure.unit + "]"});
        for (std::size_t i = 0; i < runs.size(); ++i) {
            auto text = number(figure.values[i], "{:.6g}");
            if (i > 0 && figure.ratios[i]) text += " (" + format_change(*figure.ratios[i]) + ")";
            rows.back().push_back(text);
        }
    }
    for (const auto& difference : differences) {
        rows.push_back({difference.pointer});
        for (const auto& value : difference.values) rows.back().push_back(value ? (value->size() > 40 ? value->substr(0, 37) + "..." : *value) : std::string{no_number});
    }
    std::cout << table(rows);
}

}  // namespace

void add_runs(CLI::App& app, Context& context) {
    auto state = std::make_shared<std::string>();
    auto* runs = add_verb(app, context, "runs", "List the runs of the record, newest first", "  skippipe runs\n  skippipe runs --state finished --json");
    runs->add_option("--state", *state, "Only runs in this state")->check(CLI::IsMember({"running", "finished", "failed", "stopped", "died"}));
    runs->callback([state, &context] { list(context, *state); });

    auto name = std::make_shared<std::string>();
    auto* shown = add_verb(app, context, "show", "Everything about one run", "  skippipe show latest\n  skippipe show 3 --json");
    shown->add_option("RUN", *name, "Run number or `latest`")->required();
    shown->callback([name, &context] { show(context, *name); });

    auto names = std::make_shared<std::vector<std::string>>();
    auto* compared = add_verb(app, context, "compare", "Runs side by side: what differs, and by how much (the first is the baseline)",
                              "  skippipe compare 1 2\n  skippipe compare 1 2 3 --json");
    compared->add_option("RUN", *names, "Run numbers; the first is the baseline")->required()->expected(2, 1000);
    compared->callback([names, &context] { compare(context, *names); });
}

}  // namespace skippipe::cli
