// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <set>

#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QSet>
#include <QTimer>
#include <QWidget>

#include "views/runs/run_feed.h"
#include "views/runs/run_table.h"

class QMenu;

namespace skippipe {

class BelowDelegate;

/// A line for a shell that repeats a run exactly: its experiment, plan and seed.
QString repeat_command(RunId run, const std::filesystem::path& record);

/// The list of recorded runs with filter, tags, a note and a pinned baseline.
class RunList : public QWidget {
    Q_OBJECT
public:
    explicit RunList(RunFeed& feed, QWidget* parent = nullptr);
    ~RunList() override;

    /// Selected runs, the baseline first (the oldest, where it is none of them), then from top to bottom; with those
    /// that the filter hides.
    std::vector<RunId> selected() const;
    /// How many of those the filter hides.
    std::size_t selected_out_of_sight() const { return out_of_sight_.size(); }
    RunId baseline() const { return table_.marks().baseline.id; }
    /// Which run is the baseline and which curves leave out; runs that the record does not have are forgotten once it
    /// was read.
    const RunMarks& marks() const { return table_.marks(); }
    void set_marks(const RunMarks& marks);
    /// The others are held against it; the baseline itself is one no more.
    void pin(RunId run);
    void select(const std::vector<RunId>& runs);
    QTableView& view() { return *view_; }
    /// Parameters that have a column, as pointers into the experiment: "/pipeline/skip_ratio".
    QStringList parameter_columns() const;
    void set_parameter_columns(const QStringList& pointers);
    /// Columns go and come with the list's width until somebody chooses some.
    bool has_chosen_columns() const { return columns_chosen_; }
    void keep_columns() { columns_chosen_ = true; }
    QLineEdit& tags() { return *tags_; }
    QPlainTextEdit& note() { return *note_; }
    QPushButton& resume_button() { return *resume_; }
    QPushButton& pin_button() { return *pin_; }
    /// Hides runs that do not go on; `remove_now` deletes them, unless it is undone before.
    void remove_later(const std::vector<RunId>& runs);
    /// They are back, and selected.
    void undo_removal();
    /// What waits to be undone is gone for good: so it is too when others are removed, or this goes.
    void remove_now();
    /// Why nothing can start now; empty: it can.
    void set_hindrance(const QString& hindrance);

Q_SIGNALS:
    void selection_changed();
    void marks_changed();  ///< by whoever looks
    void watch_requested(qint64 run);
    void launch_requested();
    void resume_requested(qint64 run);
    void extend_requested(qint64 run);
    void fork_requested(qint64 run);
    void report_requested();             ///< of the runs selected
    void columns_changed();              ///< of parameters
    void removed(const QString& words);  ///< "Run 4 is deleted": it is hidden, until `remove_now` deletes it
    void restored();                     ///< it was undone, or no longer can be

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void follow();
    void mark(const RunMarks& marks);
    void toggle_hidden(const std::vector<RunId>& runs);
    RunId to_be_pinned();
    void name_pin();
    bool is_seen_whole(const QModelIndex& index) const;
    void follow_selection();
    void show_words(const RunInfo* run);
    void store_words();
    void filter_by(const QString& words);
    void show_emptiness();
    std::vector<RunId> chosen_in_sight() const;
    QItemSelection rows_of(const std::vector<RunId>& runs) const;
    bool take_key(const QKeyEvent& key);
    bool take_filter_key(QEvent& event);
    RunId neighbour_of(const std::vector<RunId>& runs) const;
    // run_list_columns.cpp
    void offer_columns();
    void fit_columns();
    void fit_rows();
    void offer_parameters(QMenu& menu);
    void read_parameters();
    // run_list_menu.cpp
    void offer_menu(QPoint place);
    void toggle_tag(const std::vector<RunId>& runs, const std::string& tag);
    void hide_removed();

    RunFeed& feed_;
    RunTable table_;
    RunFilter filter_;
    QTableView* view_;
    BelowDelegate* names_;
    QLineEdit *words_, *tags_;
    QPlainTextEdit* note_;
    QTimer note_pause_, row_fit_;
    QSet<QString> whole_words_;  ///< what tells runs apart that has room in one line of `words_room_` pixels
    int words_room_ = -1;
    std::set<RunId> removed_, deleted_;  ///< hidden and not deleted yet; deleted
    RunId described_ = 0;                ///< whose tags and note are in the fields; 0: nobody's
    QLabel* stand_in_;                   ///< which run stands in for a baseline that is not selected
    QPushButton *pin_, *resume_, *watch_;
    RunId offered_ = 0;                 ///< as the baseline, by the button
    std::vector<RunId> offered_among_;  ///< while these are selected, by number
    QString hindrance_;
    QWidget* empty_;
    QLabel* empty_words_;
    QPushButton *launch_, *clear_;
    std::vector<RunId> wanted_;
    std::vector<RunId> out_of_sight_;  ///< selected, and hidden by the filter
    bool changes_rows_ = false;        ///< rows come and go, and with them what the view has selected
    bool reads_parameters_ = false;
    bool widths_chosen_ = false;                            ///< by a hand at a column's edge
    bool columns_chosen_ = false;                           ///< in a head's menu, or kept from before
    std::shared_ptr<int> alive_ = std::make_shared<int>();  ///< gone with this: answers of the record come later
};

}  // namespace skippipe
