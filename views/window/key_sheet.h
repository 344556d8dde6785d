// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QDialog>
#include <QTableWidget>

#include "views/window/key_bindings.h"

class QLabel;
class QLineEdit;

namespace skippipe {

/// All keys, made from the actions, in a section for each place; a double-click on those of an action takes others.
class KeySheet : public QDialog {
    Q_OBJECT
public:
    /// `bindings` outlives it.
    explicit KeySheet(KeyBindings& bindings, QWidget* parent = nullptr);
    /// A row of keys that a view handles itself, above the actions of its place.
    void add_fixed(const QString& where, const QString& what, const QString& keys);
    /// Brings the section of that place into sight, if there is one.
    void go_to(const QString& where);
    QTableWidget& table() { return *table_; }
    const QLabel& told() const { return *told_; }

private:
    struct Row {
        QString where, what, keys;  ///< keys: of a fixed one
        QPointer<QAction> action;
        bool is_fixed = false;  ///< a view handles it itself
    };
    void put_row(int place, const Row& row);
    void fill();
    void take(int row, const QKeySequence& keys);
    /// Hides the rows without these words.
    void show_found(const QString& typed);

    KeyBindings& bindings_;
    QTableWidget* table_;
    QLineEdit* search_;
    QLabel* told_;
    std::vector<Row> rows_;   ///< as they came, the fixed ones first
    std::vector<Row> shown_;  ///< by their places
};

}  // namespace skippipe
