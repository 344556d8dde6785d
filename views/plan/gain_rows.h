// SPDX-License-Identifier: GPL-3.0-or-later
// What one change would give the iteration, as rows of *Why*. No widget.
#pragma once
#include <optional>
#include <vector>

#include <QString>

#include "core/planner/explain/explain.h"
#include "views/plan/plan_service.h"

namespace skippipe {

struct GainRow {
    QString words, change, tip;
    double by = 0;                   ///< of the iteration; infinite where it does not end
    std::optional<Upgrade> upgrade;  ///< nothing: another way to sum gradients, or the rest
    bool helps = false, harms = false;
    bool is_selected = false;  ///< of the node that is selected
    bool is_title = false;     ///< of the group below it: words alone
};

/// Two groups, each below its title: one thing faster, and gradients summed another way. In the first the selected node
/// comes first, whatever it would give. Then in each what changes the iteration by 1 % or more, or is a deadlock, most
/// saved first; all others in one row at its end, whose tip has them all. A group of nothing has no title.
std::vector<GainRow> gain_rows(const Explanation& why, const PlanOutcome& outcome,
                               const std::vector<WhatIf>& of_selected);

}  // namespace skippipe
