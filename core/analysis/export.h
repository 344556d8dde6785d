// SPDX-License-Identifier: GPL-3.0-or-later
// A run as files for other programs: CSV, Chrome trace, SVG. Values in, text out; numbers keep every digit and a point.
#pragma once
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/analysis/clock_words.h"
#include "core/planner/plan/plan.h"
#include "core/record/record.h"

namespace skippipe {

/// One row a span: iteration, iteration_start_s, kind, node, to_node, stage, microbatch, ready_s, start_s, end_s,
/// bytes. Nodes by id; times in seconds of network time from the iteration's start. Lines end in "\n", fields are
/// quoted where RFC 4180 asks.
void write_spans_csv(std::ostream& out, const std::vector<RecordedSpan>& spans, const Problem& problem);

/// One row a metric: iteration, name, value, network_s, machine_s, tokens. What is no number is an empty field.
void write_metrics_csv(std::ostream& out, const std::vector<Metric>& metrics);

/// JSON that Perfetto and chrome://tracing open: a process a stage, a thread a node, complete events in microseconds of
/// network time from the run's start; transfers as async events of the sender, and as flows from operation to
/// operation. A span stands in the process of the stage that it was for; `plans`, by the first iteration that each is
/// in force in, say where a node stands in an iteration otherwise.
void write_chrome_trace(std::ostream& out, const std::vector<RecordedSpan>& spans, const Problem& problem,
                        const std::map<int, Plan>& plans, const std::string& title);

struct SvgOptions {
    std::string title;
    double width_px = 1280;
    RunClock clock = RunClock::network;  ///< whose seconds they are
    double extent_s = 0;                 ///< the axis goes so far at least: of timelines beside each other, one scale
    bool has_legend = true;              ///< of several below each other the last may tell for all
    double lettering = 1;                ///< times as large as usual, as far as there is room: on paper all is smaller
};

/// The timeline of one iteration: one lane a node, colours by stage (its number beside it), microbatches in the boxes,
/// time axis, legend. `spans` of other iterations than the first one's are left out. Stands alone: no script, no
/// outside resource.
std::string timeline_svg(const std::vector<RecordedSpan>& spans, const Problem& problem, const Plan& plan,
                         const SvgOptions& options = {});

}  // namespace skippipe
