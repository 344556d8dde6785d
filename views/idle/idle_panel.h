// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include <QLabel>
#include <QPushButton>
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
    /// A button that asks what would help the node; empty: none. Another node or run forgets the answer.
    void offer_help(const std::string& node, std::int64_t run);
    /// The answer, below the causes.
    void show_help(const QString& words);
    const QLabel& help() const { return *help_; }
    QPushButton& help_button() { return *ask_; }
    const QLabel& devices() const { return *devices_; }
    const QTableWidget& table() const { return *table_; }

Q_SIGNALS:
    void help_wanted();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void share_width();

    QLabel *title_, *devices_, *empty_, *help_;
    QPushButton* ask_;
    std::pair<std::string, std::int64_t> helped_;  ///< whom the answer is about
    QTableWidget* table_;
};

}  // namespace skippipe
