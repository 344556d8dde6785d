// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QString>

#include "views/curves/point_store.h"

namespace skippipe {

/// What curves of several runs say at equal work. Both empty for fewer than two runs.
struct EqualWords {
    /// "At 1.02 TFLOP run 1 has the lowest training loss, 3.03; run 2: 3.90", runs that another seed may have made
    /// the lowest together; empty of metrics where less is not better.
    QString finding;
    /// "Equal block FLOPs; run 1 ends at 1.02 TFLOP. To reach 3.06: run 2 1.52 × run 1's": what the axis holds equal,
    /// and how far each had to go for the worst last value.
    QString details;
};
EqualWords equal_words(const std::vector<const RunData*>& runs, RunId baseline, const std::string& metric, WorkAxis x,
                       PointStore& store);

}  // namespace skippipe
