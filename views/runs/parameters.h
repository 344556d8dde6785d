// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of frozen experiments in words.
#pragma once
#include <string>
#include <vector>

#include <QStringList>

#include "views/runs/run_data.h"

namespace skippipe {

struct Parameter {
    std::string pointer;  ///< "/pipeline/skip_ratio"
    QString name;         ///< "Skip ratio", "n3, memory"
    QStringList values;   ///< one a run
};

/// What differs between the runs' experiments, canvas places left out; none for fewer than two runs.
std::vector<Parameter> differing(const std::vector<const RunData*>& runs);
/// What tells each run from the others in a word or two: what it is called, who planned it, its skip ratio or its seed,
/// the first of them that is not the same for all; else who planned it.
QStringList told_apart(const std::vector<const RunData*>& runs);
/// The name as part of a sentence, without whose it is: "skip ratio".
QString in_sentence(const QString& name);
/// What is the same in all of them; of one run everything.
std::vector<Parameter> in_common(const std::vector<const RunData*>& runs);

}  // namespace skippipe
