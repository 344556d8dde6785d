// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPlainTextEdit>
#include <QTimer>

#include "views/runs/run_feed.h"

namespace skippipe {

/// A line of a log with the time of its day, and its level where that is more than info: the tab has little room.
QString brief_log_line(const QString& line);

/// What a run says, as it comes, while it is in sight.
class RunLog : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit RunLog(RunFeed& feed, QWidget* parent = nullptr);

    /// 0: none.
    void show_run(RunId run);
    /// Reads what came since the last look, where it is in sight.
    void read();

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    struct Found;
    void add(const Found& found);

    RunFeed& feed_;
    QTimer timer_;
    RunId run_ = 0;
    QByteArray begun_;  ///< of a line whose end was not there yet
    qint64 read_ = 0;   ///< bytes that are shown
};

}  // namespace skippipe
