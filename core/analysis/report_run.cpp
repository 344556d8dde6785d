// SPDX-License-Identifier: GPL-3.0-or-later
// What a report needs of a run, from the record.
#include <fmt/format.h>

#include "core/analysis/frozen_run.h"
#include "core/analysis/report.h"

namespace skippipe {
namespace {

void read_timeline(Reader& reader, ReportRun& run) {
    const int iteration = first_drawable_iteration(reader, run.info.id);
    run.drawn = recorded_plan(reader, run.info.id, *run.problem, iteration);
    run.spans = reader.spans(run.info.id, iteration);
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
    run.repeat = {fmt::format("skippipe export {0} --format plan -o run-{0}.json", id),
                  fmt::format("skippipe run run-{}.json", id)};
    try {
        auto frozen = read_frozen(reader, id);
        run.iteration = account_plan(frozen.experiment, frozen.problem, frozen.plan);
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
