// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "core/planner/planner.h"
#include "core/record/record.h"

namespace skippipe::cli {

/// What scripts may rely on: 0 fine, 1 the run failed, 2 bad input.
enum ExitCode : int { fine = 0, run_failed = 1, bad_input = 2 };

/// What every verb shares.
struct Context {
    const PlannerRegistry& planners;
    bool json = false;
    std::filesystem::path record;  ///< --db
    int exit_code = fine;
};

/// Each adds its subcommands; they run when the command line is parsed and set exit_code.
void add_validate(CLI::App& app, Context& context);
void add_models(CLI::App& app, Context& context);
void add_plan(CLI::App& app, Context& context);
void add_replan(CLI::App& app, Context& context);
void add_probe(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_runs(CLI::App& app, Context& context);
void add_sweep(CLI::App& app, Context& context);
void add_worth(CLI::App& app, Context& context);
void add_control(CLI::App& app, Context& context);
void add_fork(CLI::App& app, Context& context);
void add_evaluate(CLI::App& app, Context& context);
void add_log(CLI::App& app, Context& context);
void add_export(CLI::App& app, Context& context);
void add_report(CLI::App& app, Context& context);
void add_import(CLI::App& app, Context& context);
void add_torture(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);

/// A subcommand with --json, a description and examples in its help.
CLI::App* add_verb(CLI::App& app, Context& context, const std::string& name, const std::string& description,
                   const std::string& examples);

/// The faults as text on standard error, and with --json as {"faults": [...]} on standard output.
void report(const Faults& faults, bool json);
nlohmann::ordered_json to_json(const Faults& faults);
/// JSON on one line, for scripts. What is no UTF-8 is replaced: a file may have any name, and what was done is
/// answered.
std::string json_line(const nlohmann::ordered_json& json);

/// The number, or null where there is none.
nlohmann::ordered_json optional_number(const std::optional<double>& value);

/// Reads an experiment; warnings are reported, errors thrown as InputError.
Experiment read_experiment(const std::filesystem::path& file, const std::string& model = {});
/// The experiment that was read `from` a file, to be written `to` another one: in another folder, what it names by
/// relative paths is named by absolute ones.
Experiment to_be_stored(const Experiment& experiment, const std::filesystem::path& from,
                        const std::filesystem::path& to);

/// The same with every fault kept; `model` names a preset that replaces the file's model, empty: none.
ParsedExperiment load_with_model(const std::filesystem::path& file, const std::string& model);
/// Parsed JSON of an experiment, its model replaced; `model` as above. Where the new model's blocks do not fill the
/// stages evenly, "blocks_per_stage" spreads them, and a note on standard error says so. Throws InputError where there
/// is no such preset.
nlohmann::ordered_json with_model(nlohmann::ordered_json json, const std::string& model);
/// Such numbers alone: CLI::Range lets pass what is none ("nan").
CLI::Validator number_between(double least, double most);
/// The largest seed: of a document's, the largest that every JSON reader keeps.
inline constexpr std::uint64_t most_seed = 9'007'199'254'740'991;
/// The option --seed: what a document may have as one.
void add_seed_option(CLI::App& verb, std::optional<std::uint64_t>& seed, const std::string& words);
/// The option --model.
void add_model_option(CLI::App& verb, std::string& model);

/// Planner of that name; throws InputError `at` where it was named, with the names there are.
const Planner& find_planner(const PlannerRegistry& planners, const std::string& name,
                            const std::string& at = "--planner");

/// Text in columns: the first left-aligned, the others right-aligned.
std::string table(const std::vector<std::vector<std::string>>& rows);

/// A run by its number, or "latest"; throws InputError.
RunInfo find_run(Reader& reader, const std::string& name);

}  // namespace skippipe::cli
