// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "views/timeline/plan_difference.h"

namespace skippipe {

/// The largest differences between what was planned for an iteration and what was done, and why.
class DifferenceTable : public QWidget {
    Q_OBJECT
public:
    explicit DifferenceTable(QWidget* parent = nullptr);

    /// One iteration of `done` against `planned`.
    void show_iteration(const TimelineData& planned, const TimelineData& done, const IterationTime& iteration);
    void show_nothing(const QString& why);
    /// What befell other iterations, above all that; empty: nothing did.
    void set_disturbances(const QString& words);
    const QTableWidget& table() const { return *table_; }
    QString summary() const { return summary_->text(); }

Q_SIGNALS:
    void chosen(qint64 row);  ///< of the span

private:
    QLabel *disturbances_, *summary_;
    QTableWidget* table_;
};

/// Why a span ended later or earlier than planned: "took 40 ms longer", "its input came 1.2 s later".
QString difference_words(const PlanDifference& difference);

}  // namespace skippipe
