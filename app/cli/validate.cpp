// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <iostream>

#include <fmt/format.h>

#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/experiment/counts.h"
#include "core/experiment/io.h"

namespace skippipe::cli {

namespace {

Faults planner_faults(const Experiment& experiment, const Context& context) {
    try {
        find_planner(context.planners, experiment.pipeline.planner, "/pipeline/planner");
        return {};
    } catch (const InputError& error) {
        return error.faults();
    }
}

/// "2 errors, 1 warning".
std::string counts_of(const Faults& faults) {
    const auto errors = std::count_if(faults.begin(), faults.end(),
                                      [](const Fault& fault) { return fault.severity == Fault::Severity::error; });
    const auto warnings = static_cast<std::ptrdiff_t>(faults.size()) - errors;
    auto text = fmt::format("{} error{}", errors, errors == 1 ? "" : "s");
    if (warnings > 0) text += fmt::format(", {} warning{}", warnings, warnings == 1 ? "" : "s");
    return text;
}

void validate_file(const std::filesystem::path& file, const std::string& model, Context& context) {
    auto parsed = load_with_model(file, model);
    if (!has_errors(parsed.faults)) {
        for (const auto& found : {planner_faults(parsed.experiment, context),
                                  file_faults(parsed.experiment, std::filesystem::absolute(file).parent_path())})
            parsed.faults.insert(parsed.faults.end(), found.begin(), found.end());
    }
    const bool valid = !has_errors(parsed.faults);
    context.exit_code = valid ? fine : bad_input;
    if (context.json) {
        std::cout << json_line({{"valid", valid}, {"faults", to_json(parsed.faults)}}) << '\n';
        return;
    }
    report(parsed.faults, false);
    const auto& e = parsed.experiment;
    if (!valid) {
        std::cout << fmt::format("{}: {}\n", file.string(), counts_of(parsed.faults));
        return;
    }
    const int p = path_length(e.pipeline.stages, e.pipeline.skip_ratio);
    std::cout << fmt::format(
        "{}: fine. {} nodes, {} stages; each microbatch visits {} of them (drops {:.1f} % of the stages)\n",
        file.string(), e.topology.nodes.size(), e.pipeline.stages, p,
        100.0 * (e.pipeline.stages - p) / e.pipeline.stages);
}

}  // namespace

void add_validate(CLI::App& app, Context& context) {
    auto* verb = add_verb(app, context, "validate", "Check an experiment and list every fault in it",
                          "  skippipe validate my-experiment.json\n  skippipe validate my-experiment.json --json");
    auto file = std::make_shared<std::string>(), model = std::make_shared<std::string>();
    verb->add_option("EXPERIMENT", *file, "Experiment file")->required();
    add_model_option(*verb, *model);
    verb->callback([file, model, &context] { validate_file(*file, *model, context); });

    auto* schema = add_verb(app, context, "schema", "Print the JSON Schema of experiments",
                            "  skippipe schema > experiment.schema.json");
    schema->callback([] { std::cout << experiment_schema().dump(2) << '\n'; });
}

}  // namespace skippipe::cli
