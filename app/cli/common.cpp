// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <charconv>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/cli/verbs.h"
#include "core/experiment/io.h"
#include "core/experiment/presets.h"
#include "core/experiment/counts.h"
#include "core/experiment/paths.h"

namespace skippipe::cli {

namespace {
/// Columns a text takes on a terminal: UTF-8 continuation bytes take none.
std::size_t columns(const std::string& text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}
}  // namespace

CLI::App* add_verb(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                   const std::string& examples) {
    auto* verb = app.add_subcommand(name, description);
    verb->add_flag("--json", context.json, "Print JSON for scripts");
    verb->footer("Examples:\n" + examples);
    return verb;
}

nlohmann::ordered_json to_json(const Faults& faults) {
    auto array = nlohmann::ordered_json::array();
    for (const auto& f : faults)
        array.push_back({{"pointer", f.pointer},
                         {"what", f.what},
                         {"why", f.why},
                         {"remedy", f.remedy},
                         {"severity", f.severity == Fault::Severity::error ? "error" : "warning"}});
    return array;
}

std::string json_line(const nlohmann::ordered_json& json) {
    return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void report(const Faults& faults, bool json) {
    for (const auto& fault : faults)
        std::cerr << (fault.severity == Fault::Severity::error ? "error: " : "warning: ") << to_string(fault) << '\n';
    if (json && has_errors(faults)) std::cout << json_line({{"faults", to_json(faults)}}) << '\n';
}

nlohmann::ordered_json optional_number(const std::optional<double>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

namespace {

/// Another model's blocks need not be as many for each stage: then "blocks_per_stage" says how many.
void spread_blocks(nlohmann::ordered_json& json, int blocks) {
    auto& pipeline = json["pipeline"];
    if (pipeline.is_null()) pipeline = nlohmann::ordered_json::object();
    if (!pipeline.is_object()) return;
    const auto planned = pipeline.find("plan_blocks"), given = pipeline.find("blocks_per_stage");
    const bool even = given == pipeline.end() || !given->is_array() || given->empty();
    int stages = Pipeline{}.stages;
    if (const auto own = pipeline.find("stages"); own != pipeline.end())
        stages = own->is_number_integer() ? own->get<int>() : 0;
    if (stages < 1 || blocks < stages || (planned != pipeline.end() && *planned == true)) return;
    if (even && blocks % stages == 0) return;
    int sum = 0;
    if (!even)
        for (const auto& count : *given) sum += count.is_number_integer() ? count.get<int>() : 0;
    if (sum == blocks) return;
    const auto spread = even_blocks(blocks, stages);
    pipeline["blocks_per_stage"] = spread;
    std::cerr << fmt::format("note: {} blocks over {} stages: {}\n", blocks, stages, fmt::join(spread, " "));
}

}  // namespace

nlohmann::ordered_json with_model(nlohmann::ordered_json json, const std::string& model) {
    if (model.empty() || !json.is_object()) return json;
    const auto& preset = find_model_preset(model).model;
    json["model"] = to_json(preset);
    spread_blocks(json, preset.blocks);
    return json;
}

ParsedExperiment load_with_model(const std::filesystem::path& file, const std::string& model) {
    if (model.empty()) return load_experiment(file);
    Faults faults;
    const auto text = read_file(file, faults);
    const auto json = has_errors(faults) ? nlohmann::ordered_json{} : parse_json(text, faults);
    if (has_errors(faults)) return {{}, std::move(faults)};
    return parse_experiment(with_model(json, model));
}

CLI::Validator number_between(double least, double most) {
    const auto check = [least, most](const std::string& text) {
        double value = 0;
        const bool fits = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
        return fits ? std::string{} : fmt::format("{} is no number from {:g} to {:g}", text, least, most);
    };
    return {check, fmt::format("FLOAT in [{:g} - {:g}]", least, most)};
}

void add_seed_option(CLI::App& verb, std::optional<std::uint64_t>& seed, const std::string& words) {
    verb.add_option("--seed", seed, words)->check(CLI::Range(std::uint64_t{0}, most_seed));
}

void add_model_option(CLI::App& verb, std::string& model) {
    verb.add_option("--model", model, "Model instead of the experiment's, by its name in `skippipe models`");
}

Experiment read_experiment(const std::filesystem::path& file, const std::string& model) {
    auto parsed = load_with_model(file, model);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    report(parsed.faults, false);
    return std::move(parsed.experiment);
}

Experiment to_be_stored(const Experiment& experiment, const std::filesystem::path& from,
                        const std::filesystem::path& to) {
    const auto folder_of = [](const std::filesystem::path& file) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(file).parent_path());
    };
    return folder_of(from) == folder_of(to) ? experiment : with_absolute_paths(experiment, folder_of(from));
}

const Planner& find_planner(const PlannerRegistry& planners, const std::string& name, const std::string& at) {
    if (const auto* planner = planners.find(name)) return *planner;
    std::string names;
    for (const auto& planner : planners.all()) names += (names.empty() ? "" : ", ") + planner->name();
    throw InputError(at, fmt::format("there is no planner \"{}\"", name), "", "Choose one of: " + names);
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) {
            widths.resize(std::max(widths.size(), row.size()), 0);
            widths[c] = std::max(widths[c], columns(row[c]));
        }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t c = 0; c < row.size(); ++c) {
            const std::string pad(widths[c] - columns(row[c]), ' ');
            line += (c == 0 ? row[c] + pad : pad + row[c]) + (c + 1 < row.size() ? "  " : "");
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
    }
    return text;
}

RunInfo find_run(Reader& reader, const std::string& name) {
    if (name == "latest") {
        const auto runs = reader.runs();
        if (!runs.empty()) return runs.front();
        throw InputError("RUN", "the record has no run yet", "", "Start one with `skippipe run EXPERIMENT`");
    }
    RunId id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error == std::errc{} && end == name.data() + name.size())
        if (auto run = reader.run(id)) return *run;
    throw InputError("RUN", fmt::format("there is no run \"{}\"", name), "",
                     "List them with `skippipe runs`, or use `latest`");
}

}  // namespace skippipe::cli
