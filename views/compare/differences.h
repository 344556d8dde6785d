// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QString>
#include <QStringList>

#include "views/runs/run_data.h"

namespace skippipe {

/// In their order in the table.
enum class DifferenceSection { parameters, results, idle, cost, same_parameters };
/// Its heading.
QString describe(DifferenceSection section);

/// How a figure stands against the baseline's.
enum class Verdict { none, better, worse };

/// A row of the differences table: one value a run, the first run's the one to compare with.
struct DifferenceRow {
    DifferenceSection section = DifferenceSection::results;
    QString name;
    QStringList values;
    QStringList details;            ///< what stands behind each value, a line each; none: nothing
    QStringList deltas;             ///< against the first; empty texts where there is none
    std::vector<Verdict> verdicts;  ///< one a value
    qsizetype best = -1;            ///< of more than two values that which is better than all others, of a run that
                                    ///< has no other seed among them; -1: none
    bool is_metric = false;         ///< of what the runs did, not of what they were told
    bool is_figure = false;         ///< values are numbers
    bool differs = false;
};

/// What was different, what came of it, why nodes idled, what it took (rows without any value left out), then every
/// other parameter of the frozen experiments (canvas places left out).
std::vector<DifferenceRow> differences(const std::vector<const RunData*>& runs);

}  // namespace skippipe
