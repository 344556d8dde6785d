// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <optional>

#include <QLabel>
#include <QTableWidget>
#include <QWidget>

#include "core/analysis/idle.h"

namespace skippipe {

/// Why time was idle: a bar and a number for each cause, the longest first.
class IdlePanel : public QWidget {
    Q_OBJECT
public:
    explicit IdlePanel(QWidget* parent = nullptr);

    /// Shares of the time looked at; `title` says whose.
    void show_shares(const QString& title, const std::array<double, idle_causes>& shares);
    void show_nothing(const QString& why);
    /// What the devices did meanwhile, below the title; "": nothing is known of them.
    void show_devices(const QString& words, const QString& meaning);
    const QLabel& devices() const { return *devices_; }
    const QTableWidget& table() const { return *table_; }

    /// That cause's row is the one whose waits are looked for; nothing: none is.
    void mark(std::optional<IdleCause> cause);

Q_SIGNALS:
    void chosen(IdleCause cause);  ///< its row was clicked

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void name_causes(QString (*words_of)(IdleCause));
    void share_width();
    void share_height();
    void fit_scale();
    void select_marked();

    QLabel *title_, *scale_, *devices_, *empty_;
    QTableWidget* table_;
    std::optional<IdleCause> marked_;
    QWidget* room_;  ///< of the table, which may take less of it
};

}  // namespace skippipe
