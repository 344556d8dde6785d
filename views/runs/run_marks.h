// SPDX-License-Identifier: GPL-3.0-or-later
// What people see of a run wherever it stands: its colour, whether curves show it, whether it is the baseline.
#pragma once
#include <string>
#include <vector>

#include <QPen>
#include <QPixmap>
#include <QStringList>

#include "core/record/record.h"
#include "views/theme/theme.h"

namespace skippipe {

/// The pen of a run's curves, `width` pixels wide: colour and dash follow from its number alone, so that they stay
/// whatever is selected, sorted, removed or restarted. The eight colours of stages in their order, then dashed, then
/// dash-dotted, then from the beginning.
QPen run_pen(RunId run, double width, const Theme& colours = theme());

/// A line of the run's own as curves have it, 20 x 12 pixels; a hollow mark where they leave the run out.
QPixmap run_swatch(RunId run, bool hidden = false);
/// Its line alone, as large.
QPixmap run_line(RunId run);
/// "Run 1", framed by a line of its own: where stages are filled with the same colours, what is framed is a run.
QPixmap run_chip(RunId run);
/// The disc of its values that are read now and then, hollow; 12 x 12 pixels.
QPixmap run_ring(RunId run);

/// A run by what tells it from another one of the same number, in a record that was begun anew.
struct MarkedRun {
    RunId id = 0;
    std::string started_utc;
    bool operator==(const MarkedRun&) const = default;
};

/// What was chosen of runs for comparing them, kept beside the record.
struct RunMarks {
    MarkedRun baseline;             ///< id 0: none
    std::vector<MarkedRun> hidden;  ///< left out of curves

    bool hides(RunId run) const;
    bool operator==(const RunMarks&) const = default;
};

/// One text a run: "7 2026-01-31T12:00:00Z". The baseline's comes first; an empty one: there is none.
QStringList to_words(const RunMarks& marks);
/// What is no such text is left out.
RunMarks marks_of(const QStringList& words);
/// Without runs that are not there, or are others than those that were marked.
RunMarks still_there(RunMarks marks, const std::vector<RunInfo>& runs);

}  // namespace skippipe
