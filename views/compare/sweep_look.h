// SPDX-License-Identifier: GPL-3.0-or-later
// What a sweep came to, as its table and pictures draw it.
#pragma once
#include <optional>
#include <vector>

#include <QStringList>

#include "core/analysis/clock_words.h"
#include "core/analysis/sweep_results.h"

namespace skippipe {

/// A column: a field that varies, or a figure.
struct SweepColumn {
    QString name;  ///< "Skip ratio"
    bool is_figure = false;
    QStringList words;  ///< one a row; empty: the row has none
    std::vector<std::optional<double>>
        values;           ///< one a row; of a field that is no number, its words' place in `choices`
    QStringList choices;  ///< of a field that is no number: its words, each once
};

/// Rows that are alike but for the seed.
struct SweepLook {
    std::vector<SweepColumn> columns;       ///< fields, then iteration time, loss and, where there are prices, money
    QStringList done;                       ///< "2 of 3"
    std::vector<bool> is_front;             ///< [row]: no other row is as good in all figures and better in one; none
                                            ///< while fewer than two rows have figures
    std::vector<std::vector<RunId>> runs;   ///< [row]
    std::vector<std::vector<RunId>> taken;  ///< [row]: runs that are under way
    RunClock clock = RunClock::network;     ///< by which they count

    int rows() const { return static_cast<int>(runs.size()); }
    /// The figures' columns; null: there is none.
    const SweepColumn* iteration() const;
    const SweepColumn* loss() const;
    const SweepColumn* money() const;
};

SweepLook look_of(const std::vector<std::string>& fields, const std::vector<SweepRow>& rows);

}  // namespace skippipe
