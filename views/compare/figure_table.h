// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QTableWidget>

#include "views/compare/differences.h"

namespace skippipe {

/// Differences of runs as a table: a column a run, figures under one another, beside them how far each is from the
/// baseline's, in the colour of better or worse. A cell's text has all of it, for copying and screen readers.
class FigureTable : public QTableWidget {
    Q_OBJECT
public:
    explicit FigureTable(QWidget* parent = nullptr);

    /// `runs`: the columns, the baseline first; rows in the order of their sections.
    void show_rows(const std::vector<DifferenceRow>& rows, const std::vector<const RunData*>& runs);
    /// Whether all that the cell says is seen.
    bool is_whole(int row, int column) const;

Q_SIGNALS:
    void baseline_requested(qint64 run);  ///< by the menu of its head

protected:
    bool viewportEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    class Painter;
    class Heads;
    void offer_baseline(QPoint place);
    void add_row(const DifferenceRow& row);
    void add_heading(const QString& words);
    void measure();
    void divide();
    bool has_changes(int row) const;
    int words_room(int row, int column) const;
    int row_height(int row) const;
    QRect beside_changes(const QRect& cell, int column) const;
    /// Values of a run alone stand beside their names; of several figures end below each other.
    Qt::Alignment side() const { return columns_.size() == 1 ? Qt::AlignLeft : Qt::AlignRight; }

    /// Pixels of the widest of a column.
    struct Column {
        int figures = 0, changes = 0, words = 0, head = 0;
    };
    std::vector<Column> columns_;     ///< of the runs
    std::vector<int> change_widths_;  ///< pixels that each column has for changes
    QString against_;                 ///< what changes are told against: "to run 1"
    int names_ = 0;                   ///< pixels of the widest name of a row
    bool stacked_ = false;            ///< changes stand below figures
    int padding_ = 0;                 ///< pixels between a column's words and its edges
};

}  // namespace skippipe
