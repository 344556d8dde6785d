// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/gain_rows.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <QStringList>

#include "core/experiment/describe.h"
#include "core/planner/explain/node_what_ifs.h"
#include "views/theme/numbers.h"
#include "views/timeline/reduction_key.h"

namespace skippipe {
namespace {

constexpr double least_told = 5e-4;  ///< of the iteration

GainRow gain_row(const QString& words, bool complete, double by) {
    GainRow row{.words = words};
    row.change = !complete                     ? QObject::tr("deadlock")
                 : std::abs(by) < least_told   ? QObject::tr("no change")
                 : std::abs(by) < worth_saying ? QObject::tr("less than 1 %")
                                               : change(by);
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

/// `first` in its order, then `all` ranked.
void add_group(std::vector<GainRow>& rows, const QString& title, std::vector<GainRow> first, std::vector<GainRow> all) {
    if (first.empty() && all.empty()) return;
    GainRow heading{.words = title};
    heading.is_title = true;
    rows.push_back(std::move(heading));
    const auto small =
        std::stable_partition(all.begin(), all.end(), [](const GainRow& row) { return row.helps || row.harms; });
    std::stable_sort(all.begin(), small, [](const GainRow& a, const GainRow& b) { return a.by < b.by; });
    const std::vector<GainRow> rest(small, all.end());
    const bool are_all = first.empty() && small == all.begin();
    rows.insert(rows.end(), std::make_move_iterator(first.begin()), std::make_move_iterator(first.end()));
    rows.insert(rows.end(), std::make_move_iterator(all.begin()), std::make_move_iterator(small));
    if (!rest.empty()) rows.push_back(gains_below(rest, are_all));
}

}  // namespace

std::vector<GainRow> gain_rows(const Explanation& why, const PlanOutcome& outcome,
                               const std::vector<WhatIf>& of_selected) {
    std::vector<GainRow> selected, faster, other_sums;
    for (const auto& what : of_selected) {
        selected.push_back(gain_row(what, why.iteration_s));
        selected.back().is_selected = true;
    }
    for (const auto& what : why.what_ifs) {
        const bool is_there = std::any_of(of_selected.begin(), of_selected.end(),
                                          [&](const WhatIf& own) { return own.upgrade == what.upgrade; });
        if (!is_there) faster.push_back(gain_row(what, why.iteration_s));
    }
    for (const auto& other : outcome.other_reductions)
        other_sums.push_back(gain_row(other, outcome.timeline.iteration_s));
    std::vector<GainRow> rows;
    add_group(rows, QObject::tr("One thing is faster"), std::move(selected), std::move(faster));
    add_group(rows, QObject::tr("Gradients are summed another way"), {}, std::move(other_sums));
    return rows;
}

}  // namespace skippipe
