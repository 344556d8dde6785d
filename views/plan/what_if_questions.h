// SPDX-License-Identifier: GPL-3.0-or-later
// What can be asked of an experiment without editing it, as values: no widget.
#pragma once
#include <functional>
#include <map>
#include <string>
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

/// One of its values, in the unit of the axis on which it stands.
QString value_text(const WhatIfQuestion& question, double value);

/// Microbatches that a node may hold in the plan that is shown, by its id: the blocks of its stages decide.
using HeldMicrobatches = std::map<std::string, int>;

/// The skip ratio first; then speed, memory and connection of the one node, bandwidth and latency of the one link, or
/// those inside the one region, that is selected. `held`: empty where no plan is shown.
std::vector<WhatIfQuestion> what_if_questions(const Experiment& experiment, const Selection& selection,
                                              const HeldMicrobatches& held = {});

}  // namespace skippipe
