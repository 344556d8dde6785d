// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTableView>
#include <QWidget>

#include "views/runs/run_feed.h"
#include "views/runs/run_table.h"

namespace skippipe {

/// The list of recorded runs with filter, tags and a pinned baseline.
class RunList : public QWidget {
    Q_OBJECT
public:
    explicit RunList(RunFeed& feed, QWidget* parent = nullptr);

    /// Selected runs, the baseline first, then from top to bottom.
    std::vector<RunId> selected() const;
    RunId baseline() const { return table_.baseline(); }
    void select(const std::vector<RunId>& runs);
    QTableView& view() { return *view_; }

Q_SIGNALS:
    void selection_changed();
    void watch_requested(qint64 run);
    void launch_requested();

private:
    void follow();
    void follow_selection();
    void store_tags();

    RunFeed& feed_;
    RunTable table_;
    RunFilter filter_;
    QTableView* view_;
    QLineEdit *words_, *tags_;
    QPushButton *pin_, *watch_;
    QWidget* empty_;
    QLabel* empty_words_;
    std::vector<RunId> wanted_;
};

}  // namespace skippipe
