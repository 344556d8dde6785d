// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "core/analysis/idle_split.h"
#include "views/theme/flow_key.h"

namespace skippipe {

/// Nodes or stages, a row each: how much of their time they worked and idled, by cause, as a bar that adds up to all of
/// it, whose causes stand in the order of their sum in every row. The last row is their sum. A click on a head, or S,
/// orders the others by it; the same again turns them round.
class SplitTable : public QWidget {
    Q_OBJECT
public:
    enum class Order { as_given, most_idle_first };
    /// `name`: what a screen reader says; `head`: what a row is; `first`: the order until somebody chooses another.
    SplitTable(const QString& name, const QString& head, Order first, QWidget* parent = nullptr);

    struct Row {
        QString name;
        IdleSplit split;
    };
    /// `all`: the name of the sum. Who is selected stays so, as long as the rows have the same names.
    void show_rows(const std::vector<Row>& rows, const QString& all);
    /// The row, of those given, of what is selected elsewhere, which the line above the rows tells of; nothing: none.
    void mark(std::optional<int> row);
    /// Its first rows are in sight again.
    void go_to_top();
    const QTableWidget& table() const { return *table_; }
    /// What the bars' colours mean.
    const FlowKey& legend() const { return *legend_; }

protected:
    void changeEvent(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

Q_SIGNALS:
    void chosen(int row);  ///< of those given; -1: their sum

private:
    void arrange();
    std::vector<int> ordered() const;
    void select(std::optional<int> row);
    void put(int row, const Row& what, bool is_sum);
    void explain();
    void fit();
    QString finding(QString (*called)(IdleCause)) const;

    QLabel* finding_;
    QTableWidget* table_;
    FlowKey* legend_;
    std::vector<Row> rows_;   ///< as given
    std::vector<int> order_;  ///< which of them stands where
    std::optional<int> marked_;
    Row sum_;
};

/// What a row's card says: each part in seconds and as a share.
QString split_words(const IdleSplit& split);

}  // namespace skippipe
