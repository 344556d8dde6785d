// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTextEdit>
#include <QTimer>

#include "views/runs/run_feed.h"

namespace skippipe {

/// A line of a log as the window has it.
struct LogLine {
    QString time;       ///< "08:57:30"; empty: it has none
    QString text;       ///< with its level before it where that is more than info, and arrows as everywhere
    bool deep = false;  ///< it belongs to the line above it
    bool operator==(const LogLine&) const = default;
};
LogLine read_log_line(const QString& line);

/// What a run says, as it comes, while it is in sight.
class RunLog : public QTextEdit {
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
    void changeEvent(QEvent*) override;

private:
    struct Found;
    void add(const Found& found);
    void insert(QTextCursor& end, const LogLine& line) const;

    RunFeed& feed_;
    QTimer timer_;
    RunId run_ = 0;
    QByteArray begun_;  ///< of a line whose end was not there yet
    qint64 read_ = 0;   ///< bytes that are shown
};

}  // namespace skippipe
