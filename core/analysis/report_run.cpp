// SPDX-License-Identifier: GPL-3.0-or-later
// What a report needs of a run, from the record.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/analysis/fork_origin.h"
#include "core/analysis/frozen_run.h"
#include "core/analysis/report.h"
#include "core/base/shell.h"
#include "core/experiment/io.h"

namespace skippipe {
namespace {

using Json = nlohmann::ordered_json;

void read_timeline(Reader& reader, ReportRun& run) {
    const int iteration = first_drawable_iteration(reader, run.info.id);
    run.drawn = recorded_plan(reader, run.info.id, *run.problem, iteration);
    run.spans = reader.spans(run.info.id, iteration);
}

/// Adds "training.learning_rate=0.0001" for each field that is not as it was; lists go whole.
void add_settings(const Json& was, const Json& is, const std::string& within, std::vector<std::string>& settings) {
    for (const auto& [key, value] : is.items()) {
        const auto field = within + key;
        const auto old = was.find(key);
        if (old == was.end() || (*old != value && !(old->is_object() && value.is_object())))
            settings.push_back(field + "=" + value.dump(-1, ' ', false, Json::error_handler_t::replace));
        else if (value.is_object())
            add_settings(*old, value, field + ".", settings);
    }
}

/// The frozen experiment with every field; a fork has one seed.
Json document_of(Reader& reader, RunId run) {
    auto experiment = parse_experiment(reader.experiment_json(run)).experiment;
    experiment.seeds = 1;
    return to_json(experiment);
}

/// Commands that do the run again; a fork begins in the run that the commands before it do.
std::vector<std::string> repeat_lines(Reader& reader, const RunInfo& info, int most_forks = 100) {
    if (info.first_iteration == 0)
        return {fmt::format("skippipe export {0} --format plan -o run-{0}.json", info.id),
                fmt::format("skippipe run run-{}.json", info.id)};
    const auto origin = fork_origin(reader, info.id);
    if (most_forks == 0 || !origin || !origin->parent)
        return {fmt::format("# run {} began in another run, which this record does not have", info.id)};
    auto lines = repeat_lines(reader, *origin->parent, most_forks - 1);
    std::vector<std::string> settings;
    add_settings(document_of(reader, origin->parent->id), document_of(reader, info.id), "", settings);
    lines.push_back(fmt::format("skippipe fork latest --at {}", origin->iterations));
    for (const auto& setting : settings) lines.back() += " --set " + in_shell_quotes(setting);
    return lines;
}

}  // namespace

ReportRun read_report_run(Reader& reader, const RunInfo& info, bool with_timeline) {
    ReportRun run{.info = info};
    const RunId id = info.id;
    run.state = state_name(info);
    run.experiment_json = reader.experiment_json(id);
    run.versions_json = reader.versions_json(id);
    run.machine_json = reader.machine_json(id);
    run.summary_json = reader.summary_json(id);
    run.metrics = reader.metrics(id);
    run.repeat = repeat_lines(reader, info);
    try {
        auto frozen = read_frozen(reader, id);
        run.iteration = account_recorded(reader, id, frozen.experiment, frozen.problem, frozen.plan);
        run.problem = std::move(frozen.problem);
        run.plan = std::move(frozen.plan);
        if (with_timeline) read_timeline(reader, run);
    } catch (const InputError& error) {
        run.note = error.what();
    }
    return run;
}

std::string report_title(const std::vector<ReportRun>& runs) {
    return runs.size() == 1 ? fmt::format("{}: run {}", runs[0].info.name, runs[0].info.id)
                            : fmt::format("{}: {} runs compared", runs[0].info.name, runs.size());
}

}  // namespace skippipe
