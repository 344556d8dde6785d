// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QAbstractTableModel>
#include <QRegularExpression>
#include <QSortFilterProxyModel>

#include "core/analysis/ranking.h"
#include "views/runs/run_marks.h"

namespace skippipe {

struct RunData;

/// The run list: one row a run, as text, with numbers to sort by under `sort_role`.
class RunTable : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Column {
        eye,  ///< the run's colour, filled while curves show it
        number,
        state,
        name,
        planner,
        iterations,
        iteration_time,
        validation_loss,
        speed,
        started,
        tags,
        columns
    };
    static constexpr int sort_role = Qt::UserRole, run_role = Qt::UserRole + 1,
                         told_role = Qt::UserRole + 2,  ///< what tells a run from others of its name
        told_colour_role = Qt::UserRole + 3,            ///< of the first word of that: of a run that failed
        chips_role = Qt::UserRole + 4;                  ///< that there is a note, and tags

    /// A parameter of the frozen experiments, in a column of its own after the others.
    struct Parameter {
        std::string pointer;              ///< "/pipeline/skip_ratio"
        std::map<RunId, QString> values;  ///< of the runs that were read
        bool operator==(const Parameter&) const = default;
    };

    using QAbstractTableModel::QAbstractTableModel;
    /// Columns for these, in their order; those that are there already keep their place.
    void set_parameters(std::vector<Parameter> parameters);
    const std::vector<Parameter>& parameters() const { return parameters_; }
    /// Keeps rows where only their content changed, so that selections stay.
    void set_runs(const std::vector<RunInfo>& runs);
    void set_marks(const RunMarks& marks);
    const RunMarks& marks() const { return marks_; }
    /// What the others chosen are held against, pinned or not; 0: none.
    void set_held_against(RunId run);
    const std::vector<RunInfo>& runs() const { return runs_; }

    int rowCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : static_cast<int>(runs_.size());
    }
    int columnCount(const QModelIndex& parent = {}) const override {
        return parent.isValid() ? 0 : columns + static_cast<int>(parameters_.size());
    }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void take_changes(const std::vector<RunInfo>& runs);
    QString baseline_mark(const RunInfo& run) const;
    QString text(const RunInfo& run, int column) const;
    QString tip(int row, int column) const;
    static QVariant sort_key(const RunInfo& run, int column);

    std::vector<RunInfo> runs_;
    std::vector<QString> told_;  ///< of each run
    RunMarks marks_;
    RunId held_against_ = 0;
    std::vector<Parameter> parameters_;
};

inline const std::string star_tag = "starred", archive_tag = "archived";
bool has_tag(const RunInfo& run, const std::string& tag);
/// Without the two that have commands and marks of their own.
std::vector<std::string> own_tags(const RunInfo& run);

/// Rows whose number, name, state, skip ratio, seed, planner, tags or note hold every word of the filter, with blanks
/// or commas between them; a number goes with the word before it: "skip 0". Archived runs only where they are wanted:
/// by `set_shows_archived`, or by that word.
class RunFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit RunFilter(QObject* parent = nullptr);
    void set_words(const QString& words);
    void set_shows_archived(bool on);
    bool shows_archived() const { return shows_archived_; }
    /// Left out whatever else they are.
    void set_gone(std::set<RunId> runs);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    QList<QRegularExpression> words_;
    bool shows_archived_ = false, asks_for_archived_ = false;
    std::set<RunId> gone_;
};

/// "finished", "died", ... for people, and the theme's colour for it.
QString state_words(const RunInfo& run);
/// "Run 4 failed before its first iteration".
QString did_nothing_words(const RunInfo& run);
/// Of those of them that failed so; empty: none did.
QString did_nothing_words(const std::vector<const RunData*>& runs);
/// What was recorded of a failure, with its place as people call it: "Transport: two ranks are on one GPU".
QString error_words(const RunInfo& run);
/// How a run ended before its time, and what may help, where its log is at hand: "Run 8 was killed (signal 9) after
/// iteration 3. If memory ran out, use ...".
QString bad_end_words(const RunInfo& run);
/// "Run 5, Churn, skippipe-joint, finished".
QString run_title(const RunInfo& run);
/// What tells each from runs of the same name, in one order in all: that one did not finish, then what
/// differs between runs of one name: "seed 2, skip 0.33, gpipe" where all have that ratio and planner.
std::vector<QString> runs_told(const std::vector<RunInfo>& runs);
/// What is compared where nobody has chosen: of the newest experiment that was trained more than once the four newest
/// runs, since they tell of each other; else the two newest runs; in any case the one that is pinned as the baseline
/// (0: none). `runs`: newest first.
std::vector<RunId> worth_comparing(const std::vector<RunInfo>& runs, RunId pinned = 0);
/// Which those are: "4 runs compared: the newest of Quick start".
QString preselected_words(const std::vector<RunInfo>& runs, const std::vector<RunId>& chosen, RunId pinned = 0);

}  // namespace skippipe
