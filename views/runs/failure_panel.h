// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QTableWidget>
#include <QToolButton>

#include "core/analysis/clock_words.h"
#include "core/analysis/losses.h"
#include "core/record/record.h"

namespace skippipe {

/// What happened to a run, an event a row, and what lost nodes cost it.
class FailurePanel : public QWidget {
    Q_OBJECT
public:
    explicit FailurePanel(QWidget* parent = nullptr);

    /// Of one run, as they were told.
    void show_events(RunId run, const std::vector<RunEvent>& events);
    /// `nodes`: who was lost, where that is known of each loss; `clock`: what its seconds are counted by.
    void show_account(const LossAccount& account, const QStringList& nodes, RunClock clock = RunClock::network);
    /// Chooses the event that is nearest to that moment, as a click on it would; nothing where there are none.
    void choose_event(double network_s);
    const QTableWidget& events() const { return *events_; }
    const QTableWidget& table() const { return *table_; }

Q_SIGNALS:
    void chosen(double network_s);  ///< the moment of an event

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void add(const RunEvent& event);
    void wrap();

    QTableWidget* events_;
    QTableWidget* table_;
    RunId run_ = 0;
    RunEvent last_;  ///< that is shown
};

/// The timeline's key for lost nodes, with how many there were; hidden where there were none.
class LossKey : public QToolButton {
    Q_OBJECT
public:
    explicit LossKey(QWidget* parent = nullptr);

    /// `nodes`: who was lost, each once, where that is known.
    void show_losses(const LossAccount& account, const QStringList& nodes);
    /// Whether what they cost is left to the tip, where there is little room.
    void set_short(bool on);

protected:
    void changeEvent(QEvent*) override;

private:
    void draw_key();
    void name();

    QString who_, who_in_brief_, cost_;
    bool is_short_ = false;
};

}  // namespace skippipe
