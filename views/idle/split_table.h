// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "core/analysis/idle_split.h"

namespace skippipe {

/// Nodes or stages, a row each: how much of their time they worked and idled, by cause, as a bar that adds up to all of
/// it. The last row is their sum.
class SplitTable : public QWidget {
    Q_OBJECT
public:
    explicit SplitTable(const QString& name, QWidget* parent = nullptr);

    struct Row {
        QString name;
        IdleSplit split;
    };
    /// `all`: the name of the sum.
    void show_rows(const std::vector<Row>& rows, const QString& all);
    const QTableWidget& table() const { return *table_; }
    /// What the bars' colours mean.
    const QLabel& legend() const { return *legend_; }

protected:
    void changeEvent(QEvent* event) override;

Q_SIGNALS:
    void chosen(int row);  ///< of those given; -1: their sum

private:
    void put(int row, const Row& what, bool is_sum);
    void explain();

    QTableWidget* table_;
    QLabel* legend_;
    IdleSplit sum_;
};

/// What a row's card says: each part in seconds and as a share.
QString split_words(const IdleSplit& split);

}  // namespace skippipe
