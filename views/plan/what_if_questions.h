// SPDX-License-Identifier: GPL-3.0-or-later
// What can be asked of an experiment without editing it, as values: no widget.
#pragma once
#include <functional>
#include <vector>

#include <QString>

#include "core/experiment/document.h"
#include "views/document/selection.h"

namespace skippipe {

/// One quantity of the experiment, the values at which the iteration time is asked for, in rising order, and how one is
/// put in.
struct WhatIfQuestion {
    QString words;  ///< "Bandwidth of Oregon ↔ LA"
    const char* unit = "";
    double now = 0;
    std::vector<double> values;  ///< `now` is one of them, unless the experiment has none
    std::function<void(Experiment&, double)> set;
    bool logarithmic = false;  ///< of its axis
};

/// The skip ratio first; then speed and memory of the one node, bandwidth and latency of the one link, that is
/// selected.
std::vector<WhatIfQuestion> what_if_questions(const Experiment& experiment, const Selection& selection);

}  // namespace skippipe
