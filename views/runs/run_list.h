// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTimer>
#include <QWidget>

#include "views/runs/run_feed.h"
#include "views/runs/run_table.h"

namespace skippipe {

/// The list of recorded runs with filter, tags, a note and a pinned baseline.
class RunList : public QWidget {
    Q_OBJECT
public:
    explicit RunList(RunFeed& feed, QWidget* parent = nullptr);
    ~RunList() override;

    /// Selected runs, the baseline first, then from top to bottom.
    std::vector<RunId> selected() const;
    RunId baseline() const { return table_.marks().baseline.id; }
    /// Which run is the baseline and which curves leave out; runs that the record does not have are forgotten once it
    /// was read.
    const RunMarks& marks() const { return table_.marks(); }
    void set_marks(const RunMarks& marks);
    void select(const std::vector<RunId>& runs);
    QTableView& view() { return *view_; }
    QLineEdit& tags() { return *tags_; }
    QPlainTextEdit& note() { return *note_; }
    QPushButton& resume_button() { return *resume_; }
    QPushButton& pin_button() { return *pin_; }
    /// Why nothing can start now; empty: it can.
    void set_hindrance(const QString& hindrance);

Q_SIGNALS:
    void selection_changed();
    void marks_changed();  ///< by whoever looks
    void watch_requested(qint64 run);
    void launch_requested();
    void resume_requested(qint64 run);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void follow();
    void mark(const RunMarks& marks);
    void toggle_hidden(const std::vector<RunId>& runs);
    void follow_selection();
    void show_words(const RunInfo* run);
    void store_words();

    RunFeed& feed_;
    RunTable table_;
    RunFilter filter_;
    QTableView* view_;
    QLineEdit *words_, *tags_;
    QPlainTextEdit* note_;
    QTimer note_pause_;
    RunId described_ = 0;  ///< whose tags and note are in the fields; 0: nobody's
    QPushButton *pin_, *resume_, *watch_;
    QString hindrance_;
    QWidget* empty_;
    QLabel* empty_words_;
    std::vector<RunId> wanted_;
};

}  // namespace skippipe
