// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QTableWidget>
#include <QToolButton>

#include "core/analysis/losses.h"

namespace skippipe {

/// What lost nodes cost a run: figures, one a row.
class FailurePanel : public QWidget {
    Q_OBJECT
public:
    explicit FailurePanel(QWidget* parent = nullptr);

    void show_account(const LossAccount& account);
    const QTableWidget& table() const { return *table_; }

private:
    QTableWidget* table_;
};

/// The timeline's key for lost nodes, with how many there were; hidden where there were none.
class LossKey : public QToolButton {
    Q_OBJECT
public:
    explicit LossKey(QWidget* parent = nullptr);

    void show_losses(int nodes);

protected:
    void changeEvent(QEvent*) override;

private:
    void draw_key();
};

}  // namespace skippipe
