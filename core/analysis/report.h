// SPDX-License-Identifier: GPL-3.0-or-later
// Runs as a page that stands alone: question, differences, figures, tables, timelines, how to repeat. Values in, text
// out.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/equal_view.h"
#include "core/planner/plan/plan.h"

namespace skippipe {

/// One run of a report.
struct ReportRun {
    RunInfo info;
    std::string state;  ///< in a word
    std::string experiment_json, versions_json, machine_json, summary_json;
    std::optional<Problem> problem;  ///< absent: the frozen experiment is beyond this program, and has no timeline
    Plan plan;                       ///< the first
    std::optional<Accounting> iteration;
    std::vector<Metric> metrics;
    std::vector<RecordedSpan> spans;  ///< of one iteration; none: no timeline is drawn
    Plan drawn;                       ///< in force in that iteration
    std::vector<std::string> repeat;  ///< commands that do it again
    std::string note;                 ///< why there is no accounting and no timeline
};

struct ReportOptions {
    std::string title, question;
    WorkAxis x = WorkAxis::network_time;  ///< over which losses are drawn and compared
    std::string program;                  ///< what has written it: "skippipe 0.3"
    double lettering = 1;                 ///< of timelines, times as large as usual
};

/// From the record: with the spans of the first iteration that has any where a timeline is wanted.
ReportRun read_report_run(Reader& reader, const RunInfo& info, bool with_timeline);

/// "Quick start: run 3", "Quick start: 4 runs compared". At least one run.
std::string report_title(const std::vector<ReportRun>& runs);

/// HTML with its figures inside; no script, no outside resource; prints on paper. The first run is the baseline.
std::string report_html(const std::vector<ReportRun>& runs, const ReportOptions& options);

}  // namespace skippipe
