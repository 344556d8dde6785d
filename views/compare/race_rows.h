// SPDX-License-Identifier: GPL-3.0-or-later
// Who is first at a loss, and at what loss each is at the same expense, as a table's words. Pure.
#pragma once
#include <vector>

#include "core/analysis/loss_race.h"
#include "views/compare/differences.h"
#include "views/curves/point_store.h"

namespace skippipe {

struct RaceChoice {
    std::string metric = "validation_loss";
    WorkAxis x = WorkAxis::network_time;
    std::optional<double> target;  ///< absent: the worst last value
    QStringList groups;            ///< a word a run: those of one word are one row
};

struct RaceCell {
    QString words;
    Verdict verdict = Verdict::none;
    QString details = {};  ///< what the words leave out; empty: nothing
};

struct RaceTable {
    QStringList headers;
    std::vector<std::vector<RaceCell>> rows;  ///< a group each, the first run's first; as many cells as headers
    std::vector<RunId> first_runs;            ///< of each row's group: its colour is the group's
    std::optional<double> target;             ///< what was to be reached
    QString words;                            ///< what is compared, in a sentence
    QString finding;  ///< who is first, and how much longer the others take; empty: nobody can tell
};

/// None of the runs: no rows. The first run's group is what others are compared with; a difference that chance makes
/// too (p of 0.05 or more) is neither better nor worse.
RaceTable race_table(const std::vector<const RunData*>& runs, const RaceChoice& choice, PointStore& store);

}  // namespace skippipe
