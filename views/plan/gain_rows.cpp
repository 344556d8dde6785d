// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/gain_rows.h"

#include <algorithm>
#include <limits>

#include <QStringList>

#include "core/experiment/describe.h"
#include "core/planner/explain/node_what_ifs.h"
#include "views/theme/numbers.h"
#include "views/timeline/reduction_key.h"

namespace skippipe {
namespace {

GainRow gain_row(const QString& words, bool complete, double by) {
    GainRow row{.words = words};
    const QString words_of_change = change(by);
    row.change = !complete                      ? QObject::tr("deadlock")
                 : words_of_change == change(0) ? QObject::tr("no change")
                                                : words_of_change;
    row.by = complete ? by : std::numeric_limits<double>::infinity();
    row.helps = complete && by <= -worth_saying;
    row.harms = !complete || by >= worth_saying;
    return row;
}

GainRow gain_row(const WhatIf& what, double now_s) {
    GainRow row = gain_row(QString::fromStdString(what.words()), what.complete, what.change);
    row.upgrade = what.upgrade;
    row.tip =
        what.complete
            ? QObject::tr("%1: iteration %2 instead of %3").arg(row.words, duration(what.iteration_s), duration(now_s))
            : row.words;
    return row;
}

GainRow gain_row(const ReductionWhatIf& other, double now_s) {
    GainRow row = gain_row(reduction_words(other), other.complete, other.change);
    const QString where =
        other.wire
            ? QObject::tr("training, gradient wire: %1").arg(QString::fromStdString(std::string{name_of(*other.wire)}))
            : QObject::tr("costs, all-reduce: %1").arg(QString::fromStdString(std::string{name_of(other.rule)}));
    row.tip = QObject::tr("%1: iteration %2 instead of %3 (%4)")
                  .arg(row.words, duration(other.iteration_s), duration(now_s), where);
    return row;
}

GainRow gains_below(const std::vector<GainRow>& rest, bool are_all) {
    const auto count = rest.size();
    GainRow row;
    row.words = are_all      ? QObject::tr("All %1: less than 1 % each").arg(count)
                : count == 1 ? QObject::tr("1 other: less than 1 %")
                             : QObject::tr("%1 others: less than 1 % each").arg(count);
    QStringList lines;
    for (const auto& one : rest) lines << QObject::tr("%1: %2").arg(one.words, one.change);
    row.tip = lines.join('\n');
    return row;
}

}  // namespace

std::vector<GainRow> gain_rows(const Explanation& why, const PlanOutcome& outcome,
                               const std::vector<WhatIf>& of_selected) {
    std::vector<GainRow> rows, rest;
    for (const auto& what : of_selected) {
        rows.push_back(gain_row(what, why.iteration_s));
        rows.back().is_selected = true;
    }
    const auto add = [&](GainRow row) { (row.helps || row.harms ? rows : rest).push_back(std::move(row)); };
    for (const auto& what : why.what_ifs) {
        const bool is_there = std::any_of(of_selected.begin(), of_selected.end(),
                                          [&](const WhatIf& own) { return own.upgrade == what.upgrade; });
        if (!is_there) add(gain_row(what, why.iteration_s));
    }
    for (const auto& other : outcome.other_reductions) add(gain_row(other, outcome.timeline.iteration_s));
    std::stable_sort(rows.begin() + static_cast<std::ptrdiff_t>(of_selected.size()), rows.end(),
                     [](const GainRow& a, const GainRow& b) { return a.by < b.by; });
    if (!rest.empty()) rows.push_back(gains_below(rest, rows.empty()));
    return rows;
}

}  // namespace skippipe
