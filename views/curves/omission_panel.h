// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <utility>
#include <vector>

#include <QStringList>
#include <QWidget>

#include "views/curves/omission_table.h"

class QCheckBox;
class QCustomPlot;
class QHBoxLayout;
class QLabel;

namespace skippipe {

class EvaluateBar;
class Evaluator;

/// Perplexity against the number of stages kept, of runs that were evaluated so: the mean over the sets, from the least
/// to the most a band; all numbers in a table below. What leaves stage 0's blocks out is in the table alone: it is
/// often ten times the rest, which would lie flat beside it.
class OmissionPanel : public QWidget {
    Q_OBJECT
public:
    /// `evaluator` evaluates the runs that were not.
    explicit OmissionPanel(Evaluator& evaluator, QWidget* parent = nullptr);

    /// The runs to draw, the baseline first; the caption names those that were not
    /// evaluated. `record`: where they are recorded; empty: where the command line looks without being told.
    void show_runs(const std::vector<const RunData*>& runs, const std::filesystem::path& record = {});
    /// Points drawn, over all runs.
    int point_count() const;
    /// What the pointer is told there; empty where no point is near.
    QString words_at(const QPointF& place) const;
    QString caption() const;
    /// The line that evaluates the runs shown, where none was.
    QString command() const;
    const OmissionTable& table() const { return *table_; }
    /// The plot's place of a run's row, in pixels.
    QPointF place_of(std::size_t run, std::size_t row) const;

protected:
    void changeEvent(QEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* make_empty();
    void place_bar();
    void draw();
    void style_axes();
    void add_run(const EvaluatedRun& run);
    void tell_caption();
    std::pair<double, double> extent() const;

    QCustomPlot* plot_;
    EvaluateBar* bar_;
    QHBoxLayout *head_bar_, *empty_bar_;  ///< where it is
    QWidget* empty_;
    QLabel *caption_, *why_empty_, *command_label_;
    QString command_;
    QCheckBox* log_y_;
    OmissionTable* table_;
    std::vector<EvaluatedRun> shown_;
    std::vector<RunId> missing_, simulated_;  ///< that were not evaluated; those among them that have no weights
};

}  // namespace skippipe
