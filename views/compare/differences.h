// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QString>
#include <QStringList>

#include "views/runs/run_data.h"

namespace skippipe {

/// A row of the differences table: one value a run, the first run's the one to compare with.
struct DifferenceRow {
    QString name;
    QStringList values;
    QStringList deltas;  ///< against the first; empty texts where there is none
    bool is_metric = false;
    bool differs = false;
    bool always_shown = false;  ///< says what the comparison holds equal, so it is told also where all are the same
};

/// Results of the runs first, with what they cost, then every parameter of their frozen experiments (canvas places left
/// out).
std::vector<DifferenceRow> differences(const std::vector<const RunData*>& runs);

}  // namespace skippipe
