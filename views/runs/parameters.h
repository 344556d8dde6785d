// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of frozen experiments in words.
#pragma once
#include <string>
#include <vector>

#include <QStringList>

#include "views/runs/run_data.h"

namespace skippipe {

struct Parameter {
    std::string pointer;       ///< "/pipeline/skip_ratio"
    QString name;              ///< "Skip ratio", "n3, memory"
    QStringList values;        ///< one a run
    QStringList details = {};  ///< one a run, a line each: of many that are told as one; else none
};

/// What differs between the runs' experiments, canvas places left out; none for fewer than two runs. Of a run whose
/// planner skips nothing the skip ratio is 0, whatever its experiment says, which the details do.
std::vector<Parameter> differing(const std::vector<const RunData*>& runs);
/// Where three or more nodes or links differ in the same field, one parameter tells of all: "Memory of 12 nodes",
/// "4 to 6", at the place of the first. Seconds and bytes with their units: "7 ms".
std::vector<Parameter> folded(const std::vector<Parameter>& parameters);
/// What tells each run from the others: what it is called, who planned it, its skip ratio, its seed, as many of those
/// that are not the same for all as it takes, with ", " between them; else who planned it.
QStringList told_apart(const std::vector<const RunData*>& runs);
/// What was trained with: planners of full pipelines skip nothing, whatever the experiment says.
double skip_ratio_of(const RunData& run);
/// "run 4", "runs 1, 2 and 4".
QString run_numbers(const std::vector<RunId>& runs);
/// The name as part of a sentence, without whose it is: "skip ratio".
QString in_sentence(const QString& name);
/// What is the same in all of them; of one run everything.
std::vector<Parameter> in_common(const std::vector<const RunData*>& runs);

}  // namespace skippipe
