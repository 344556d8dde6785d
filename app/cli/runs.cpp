// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iostream>
#include <map>

#include <fmt/format.h>

#include "app/cli/verbs.h"
#include "core/analysis/compare.h"
#include "core/analysis/equal_view.h"
#include "core/analysis/fork_origin.h"
#include "core/analysis/frozen_run.h"
#include "core/base/format.h"

namespace skippipe::cli {

namespace {

nlohmann::ordered_json run_json(const RunInfo& r) {
    return {{"run", r.id},
            {"name", r.name},
            {"state", to_string(r.state)},
            {"paused", r.state == RunState::running && r.paused},
            {"planner", r.planner},
            {"seed", r.seed},
            {"skip_ratio", optional_number(r.skip_ratio)},
            {"started", r.started_utc},
            {"finished", r.finished_utc},
            {"iterations", r.iterations},
            {"iterations_done", r.iterations_done},
            {"predicted_iteration_seconds", r.predicted_iteration_s},
            {"iteration_seconds", optional_number(r.iteration_s)},
            {"tokens_per_second", optional_number(r.tokens_per_second)},
            {"first_validation_loss", optional_number(r.first_validation_loss)},
            {"last_validation_loss", optional_number(r.last_validation_loss)},
            {"machine_seconds", r.machine_s},
            {"error", r.error},
            {"warning", r.warning},
            {"tags", r.tags},
            {"note", r.note}};
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
    if (!state.empty())
        std::erase_if(runs, [&](const RunInfo& r) { return to_string(r.state) != state && state_name(r) != state; });
    if (context.json) {
        auto array = nlohmann::ordered_json::array();
        for (const auto& run : runs) array.push_back(run_json(run));
        std::cout << json_line(array) << '\n';
        return;
    }
    if (runs.empty()) {
        std::cout << "No runs yet. Start one with `skippipe run EXPERIMENT`\n";
        return;
    }
    std::vector<std::vector<std::string>> rows{{"run", "state", "planner", "iterations", "iteration", "tokens/s",
                                                "first loss", "last loss", "started", "name"}};
    for (const auto& r : runs)
        rows.push_back({std::to_string(r.id), std::string(state_name(r)), r.planner,
                        fmt::format("{}/{}", r.iterations_done, r.iterations),
                        r.iteration_s ? format_seconds(*r.iteration_s) : std::string{no_number},
                        number(r.tokens_per_second, "{:.0f}"), number(r.first_validation_loss),
                        number(r.last_validation_loss), r.started_utc, r.name});
    std::cout << table(rows);
}

/// What happened, in the order in which it was told.
void print_events(const std::vector<RunEvent>& events) {
    if (events.empty()) return;
    constexpr auto row = "{:>14}  {:>9}  {:>16}  {}\n";
    std::cout << '\n' << fmt::format(row, "at", "iteration", "until it went on", "what happened");
    for (const auto& event : events)
        std::cout << fmt::format(row, format_seconds(event.network_s), event.iteration + 1,
                                 event.lasted_s > 0 ? format_seconds(event.lasted_s) : std::string{no_number},
                                 event.what);
}

void show(Context& context, const std::string& name) {
    Reader reader(context.record);
    const auto run = find_run(reader, name);
    const auto summary = parsed(reader.summary_json(run.id));
    const auto metrics = reader.metrics(run.id);
    if (context.json) {
        auto json = run_json(run);
        json["machine"] = parsed(reader.machine_json(run.id));
        json["versions"] = parsed(reader.versions_json(run.id));
        json["summary"] = summary;
        auto array = nlohmann::ordered_json::array();
        for (const auto& m : metrics)
            array.push_back({{"iteration", m.iteration},
                             {"name", m.name},
                             {"value", m.value},
                             {"network_seconds", m.network_s},
                             {"machine_seconds", m.machine_s},
                             {"tokens", m.tokens}});
        json["metrics"] = array;
        json["experiment"] = parsed(reader.experiment_json(run.id));
        json["plan"] = parsed(reader.plan_json(run.id));
        json["events"] = nlohmann::ordered_json::array();
        for (const auto& event : reader.events(run.id))
            json["events"].push_back({{"iteration", event.iteration},
                                      {"kind", to_string(event.kind)},
                                      {"network_seconds", event.network_s},
                                      {"lasted_seconds", event.lasted_s},
                                      {"what", event.what}});
        json["plan_changes"] = nlohmann::ordered_json::array();
        for (const auto& change : reader.plan_changes(run.id))
            json["plan_changes"].push_back({{"iteration", change.iteration},
                                            {"why", change.why},
                                            {"plan", parsed(reader.plan_json(run.id, change.iteration))}});
        std::cout << json_line(json) << '\n';
        return;
    }
    std::vector<std::vector<std::string>> rows;
    const auto row = [&](const std::string& key, const std::string& value) { rows.push_back({key, value}); };
    row("run", std::to_string(run.id));
    row("name", run.name);
    row("state", std::string(state_name(run)));
    row("planner", run.planner);
    row("seed", std::to_string(run.seed));
    row("iterations", fmt::format("{} of {}", run.iterations_done, run.iterations));
    if (const int kept = reader.kept_iterations(run.id); kept < run.iterations_done)
        row("spans", fmt::format("of {} of {} iterations kept", kept, run.iterations_done));
    row("predicted iteration time (network)", fmt::format("{:.3f} s", run.predicted_iteration_s));
    row("executed iteration time (network)", number(run.iteration_s, "{:.3f} s"));
    row("machine time", format_seconds(run.machine_s));
    row("tokens per second here", number(run.tokens_per_second, "{:.0f}"));
    row("first validation loss", number(run.first_validation_loss));
    row("last validation loss", number(run.last_validation_loss));
    if (!run.error.empty()) row("error", run.error);
    if (!run.warning.empty()) row("warning", run.warning);
    if (summary.is_object() && summary.contains("idle_iterations") && summary["idle_iterations"].is_number_integer())
        row("idle, mean of", fmt::format("{} iterations", summary["idle_iterations"].get<std::int64_t>()));
    if (summary.is_object() && summary.contains("idle_by_cause"))
        for (const auto& [cause, share] : summary["idle_by_cause"].items())
            if (share.is_number() && share.get<double>() > 0)
                row("idle: " + cause, format_percent(share.get<double>()));
    std::cout << table(rows);
    print_events(reader.events(run.id));
}

nlohmann::ordered_json numbers(const std::vector<std::optional<double>>& values) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& value : values) array.push_back(optional_number(value));
    return array;
}

nlohmann::ordered_json comparison_json(const std::vector<RunInfo>& runs,
                                       const std::vector<ParameterDifference>& differences,
                                       const std::vector<Figure>& figures) {
    nlohmann::ordered_json json{{"runs", nlohmann::ordered_json::array()},
                                {"baseline", runs.front().id},
                                {"parameters", nlohmann::ordered_json::array()},
                                {"figures", nlohmann::ordered_json::array()}};
    for (const auto& run : runs) json["runs"].push_back(run.id);
    for (const auto& difference : differences) {
        auto values = nlohmann::ordered_json::array();
        for (const auto& value : difference.values)
            values.push_back(value ? parsed(*value) : nlohmann::ordered_json(nullptr));
        json["parameters"].push_back({{"pointer", difference.pointer}, {"values", values}});
    }
    for (const auto& figure : figures)
        json["figures"].push_back({{"name", figure.name},
                                   {"unit", figure.unit},
                                   {"values", numbers(figure.values)},
                                   {"deltas", numbers(figure.deltas)},
                                   {"ratios", numbers(figure.ratios)}});
    return json;
}

/// The runs to compare, the first of them the baseline.
struct Compared {
    std::vector<RunInfo> runs;
    std::vector<nlohmann::ordered_json> experiments;
    std::vector<std::vector<Metric>> metrics;
    std::vector<std::optional<Accounting>> iterations,
        totals;               ///< absent: the frozen experiment or plan is beyond this program
    std::vector<Plan> plans;  ///< without paths where that is so
};

Compared read_compared(Reader& reader, const std::vector<std::string>& names) {
    Compared all;
    for (const auto& name : names) {
        const auto& run = all.runs.emplace_back(find_run(reader, name));
        all.experiments.push_back(parsed(reader.experiment_json(run.id)));
        all.metrics.push_back(reader.metrics(run.id));
        auto& iteration = all.iterations.emplace_back();
        auto& plan = all.plans.emplace_back();
        try {
            auto frozen = read_frozen(reader, run.id);
            iteration = account_recorded(reader, run.id, frozen.experiment, frozen.problem, frozen.plan);
            plan = std::move(frozen.plan);
        } catch (const InputError& error) {
            std::cerr << "note: no accounting for run " << run.id << ": " << error.what() << '\n';
        }
        all.totals.push_back(iteration ? std::optional{account_run(*iteration, run)} : std::nullopt);
    }
    return all;
}

EqualView view_of(const Compared& all, WorkAxis axis, const std::string& metric) {
    std::vector<std::vector<CurvePoint>> curves;
    for (std::size_t i = 0; i < all.runs.size(); ++i)
        curves.push_back(curve_points(all.metrics[i], metric, axis, all.iterations[i] ? &*all.iterations[i] : nullptr));
    return equal_view(curves);
}

using Rows = std::vector<std::vector<std::string>>;

std::string with_change(const std::string& text, const std::optional<double>& ratio) {
    return ratio && *ratio != 0 ? text + " (" + format_change(*ratio) + ")" : text;
}

std::string amount(double value, const std::string& unit) {
    if (unit == "s") return format_seconds(value);
    return unit.empty() && value < 1e6 ? fmt::format("{:.0f}", value)
                                       : format_si(value, unit);  // without a unit: a count
}

void add_figures(const std::vector<Figure>& figures, const std::string& prefix, Rows& rows) {
    for (const auto& figure : figures) {
        auto& row = rows.emplace_back(std::vector<std::string>{prefix + figure.name});
        for (std::size_t i = 0; i < figure.values.size(); ++i)
            row.push_back(figure.values[i] ? with_change(amount(*figure.values[i], figure.unit),
                                                         i > 0 ? figure.ratios[i] : std::nullopt)
                                           : std::string{no_number});
    }
}

/// What each run sent over the lines that carried most, the busiest first.
void add_lines(const Compared& all, std::size_t most, Rows& rows) {
    std::map<std::string, std::vector<double>> bytes;
    for (std::size_t i = 0; i < all.totals.size(); ++i)
        for (const auto& line : all.totals[i] ? all.totals[i]->lines : std::vector<LineBytes>{}) {
            auto& of_run = bytes[line.name];
            of_run.resize(all.totals.size());
            of_run[i] += line.bytes();
        }
    std::vector<std::pair<std::string, std::vector<double>>> lines(bytes.begin(), bytes.end());
    const auto heaviest = [](const auto& line) { return *std::max_element(line.second.begin(), line.second.end()); };
    std::stable_sort(lines.begin(), lines.end(),
                     [&](const auto& a, const auto& b) { return heaviest(a) > heaviest(b); });
    for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) {
        auto& row = rows.emplace_back(std::vector<std::string>{"line " + lines[i].first});
        for (std::size_t run = 0; run < all.totals.size(); ++run)
            row.push_back(all.totals[run] ? format_si(lines[i].second[run], "B") : std::string{no_number});
    }
    if (lines.size() > most)
        rows.push_back({fmt::format("({} more lines carried less; --json has all)", lines.size() - most)});
}

Rows header(const std::vector<RunInfo>& runs, const std::string& title) {
    Rows rows{{title}};
    for (const auto& run : runs)
        rows[0].push_back(fmt::format("run {}{}", run.id, &run == &runs.front() ? " (baseline)" : ""));
    return rows;
}

std::string accounting_text(const Compared& all) {
    auto rows = header(all.runs, "Accounting");
    auto iteration = accounting_figures(all.iterations);
    std::erase_if(iteration, [](const Figure& f) {
        return f.name != "microbatches" && f.name != "block_flops" && f.name != "bytes" && f.name != "network_s";
    });
    add_figures(iteration, "an iteration: ", rows);
    add_figures(accounting_figures(all.totals), "", rows);
    if (rows.size() == 1) return {};
    rows.push_back({"busiest line"});
    for (const auto& total : all.totals)
        rows.back().push_back(total && total->busiest_line() ? total->busiest_line()->name : std::string{no_number});
    add_lines(all, 6, rows);
    return table(rows);
}

/// Why nothing is said of equal work.
std::string why_no_view(const Compared& all, WorkAxis axis) {
    std::string without;  // runs that have no such work
    bool have_losses = true;
    for (std::size_t i = 0; i < all.runs.size(); ++i) {
        const auto& metrics = all.metrics[i];
        have_losses = have_losses && std::any_of(metrics.begin(), metrics.end(), [](const Metric& metric) {
                          return metric.name == "loss" || metric.name == "validation_loss";
                      });
        if (!all.iterations[i] || !all.iterations[i]->money)
            without += fmt::format("{}{}", without.empty() ? "" : ", ", all.runs[i].id);
    }
    if (axis == WorkAxis::money && have_losses && !without.empty())
        return fmt::format("there are no prices in the experiment of run {}: set \"prices\", or choose another --at",
                           without);
    return "these runs recorded no losses";
}

std::string view_text(const Compared& all, WorkAxis axis) {
    auto rows = header(all.runs, fmt::format("Equal {}", describe(axis)));
    std::string words;
    const auto at = [axis](const std::optional<double>& x) {
        return x ? format_work(*x, axis) : std::string{no_number};
    };
    for (const auto& [metric, name] :
         {std::pair{"validation_loss", "validation loss"}, std::pair{"loss", "training loss"}}) {
        const auto view = view_of(all, axis, metric);
        if (!view.common_x) continue;
        const auto row = [&](const std::string& title, auto&& text) {
            rows.push_back({title});
            for (const auto& run : view.runs) rows.back().push_back(text(run));
        };
        row(fmt::format("{} at {}", name, format_work(*view.common_x, axis)),
            [](const EqualRun& run) { return number(run.value); });
        row(fmt::format("{}, last", name), [](const EqualRun& run) { return number(run.last_value); });
        row("  which is at", [&](const EqualRun& run) { return at(run.end_x); });
        row(fmt::format("reaches {:.4f} at", *view.target), [&](const EqualRun& run) {
            if (!run.reaches) return std::string{no_number};
            return run.reaches->x ? at(run.reaches->x) : "by " + at(run.reaches->by);
        });
        if (view.shortest)
            words += fmt::format("{}: run {} ends at {}; what the others did after that is left out\n", name,
                                 all.runs[*view.shortest].id, format_work(*view.common_x, axis));
        for (std::size_t i = 1; i < view.runs.size(); ++i)
            if (view.runs[i].share)
                words += fmt::format("{}: run {} reaches {:.4f} after {:.3g} of the {} that the baseline needs\n", name,
                                     all.runs[i].id, *view.target, *view.runs[i].share, describe(axis));
    }
    if (rows.size() == 1) return fmt::format("Equal {}: {}\n", describe(axis), why_no_view(all, axis));
    return table(rows) + words +
           fmt::format(
               "Between two readings a loss is taken as linear, unless they are further apart than {:.0f} % of the "
               "run: then nothing is said of what lies between\n",
               100 * widest_gap);
}

void add_accounting(const Compared& all, const std::vector<WorkAxis>& axes, nlohmann::ordered_json& json) {
    auto& accounting = json["accounting"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < all.runs.size(); ++i) {
        accounting.push_back({{"run", all.runs[i].id}, {"iteration", nullptr}, {"total", nullptr}});
        if (!all.totals[i]) continue;
        accounting.back()["iteration"] = to_json(*all.iterations[i]);
        accounting.back()["total"] = to_json(*all.totals[i]);
    }
    for (const auto axis : axes)
        for (const char* metric : {"validation_loss", "loss"})
            json["equal"][std::string(to_string(axis))][metric] = to_json(view_of(all, axis, metric));
}

void compare(Context& context, const std::vector<std::string>& names, const std::string& at) {
    Reader reader(context.record);
    const auto all = read_compared(reader, names);
    std::vector<const Plan*> plans;
    for (const auto& plan : all.plans) plans.push_back(&plan);
    const auto differences = differing_parameters(all.experiments, plans);
    const auto figures = compare_figures(all.runs);
    const auto chosen = work_axis(at);
    if (context.json) {
        auto json = comparison_json(all.runs, differences, figures);
        const std::vector every{WorkAxis::microbatches, WorkAxis::block_flops, WorkAxis::network_time,
                                WorkAxis::machine_time};
        add_accounting(all, chosen ? std::vector{*chosen} : every, json);
        std::cout << json_line(json) << '\n';
        return;
    }
    auto rows = header(all.runs, "");
    for (const auto& [name, member] : {std::pair{"name", &RunInfo::name}, std::pair{"planner", &RunInfo::planner}}) {
        rows.push_back({name});
        for (const auto& run : all.runs) rows.back().push_back(run.*member);
    }
    for (const auto& figure : figures) {
        rows.push_back({figure.unit.empty() ? figure.name : figure.name + " [" + figure.unit + "]"});
        for (std::size_t i = 0; i < all.runs.size(); ++i) {
            auto text = number(figure.values[i], "{:.6g}");
            if (i > 0 && figure.ratios[i]) text += " (" + format_change(*figure.ratios[i]) + ")";
            rows.back().push_back(text);
        }
    }
    for (const auto& difference : differences) {
        rows.push_back({difference.pointer});
        for (std::size_t i = 0; i < difference.values.size(); ++i) {
            const auto& value = difference.values[i];
            rows.back().push_back(value ? (value->size() > 40 ? value->substr(0, 37) + "..." : *value)
                                        : std::string{no_number});
            if (is_unused(difference, i, all.plans[i])) rows.back().back() = without_it;
        }
    }
    std::cout << table(rows);
    if (const auto text = accounting_text(all); !text.empty()) std::cout << '\n' << text;
    if (chosen) std::cout << '\n' << view_text(all, *chosen);
}

}  // namespace

void add_runs(CLI::App& app, Context& context) {
    auto state = std::make_shared<std::string>();
    auto* runs = add_verb(app, context, "runs", "List the runs of the record, newest first",
                          "  skippipe runs\n  skippipe runs --state finished --json");
    runs->add_option("--state", *state, "Only runs in this state")
        ->check(CLI::IsMember({"running", "paused", "finished", "failed", "stopped", "died"}));
    runs->callback([state, &context] { list(context, *state); });

    auto name = std::make_shared<std::string>();
    auto* shown =
        add_verb(app, context, "show", "Everything about one run", "  skippipe show latest\n  skippipe show 3 --json");
    shown->add_option("RUN", *name, "Run number or `latest`")->required();
    shown->callback([name, &context] { show(context, *name); });

    auto names = std::make_shared<std::vector<std::string>>();
    auto* compared = add_verb(
        app, context, "compare", "Runs side by side: what differs, and by how much (the first is the baseline)",
        "  skippipe compare 1 2\n  skippipe compare 1 2 --at flops\n  skippipe compare 1 2 3 --json");
    compared->add_option("RUN", *names, "Run numbers; the first is the baseline")->required()->expected(2, 1000);
    auto at = std::make_shared<std::string>();
    compared
        ->add_option("--at", *at,
                     "Losses where all runs had spent the same: microbatches, flops (of the blocks), network-time, "
                     "machine-time or money (of the experiment's prices)")
        ->check(CLI::IsMember({"microbatches", "flops", "network-time", "machine-time", "money"}));
    compared->callback([names, at, &context] { compare(context, *names, *at); });
}

}  // namespace skippipe::cli
