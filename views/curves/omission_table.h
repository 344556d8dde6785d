// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QTableWidget>

#include "core/analysis/omissions.h"
#include "views/runs/run_data.h"

namespace skippipe {

/// A run with what its evaluation found, by stages kept.
struct EvaluatedRun {
    RunId id = 0;
    bool is_baseline = false;
    QString name;
    Evaluation evaluation;
    std::vector<KeptRow> rows;
};

/// One row of an evaluated run in words, as its point and its line in the table say it.
QString words_of(const EvaluatedRun& run, const KeptRow& row);

/// Perplexity by stages kept as numbers: three columns a run. As wide as what it stands in.
class OmissionTable : public QTableWidget {
    Q_OBJECT
public:
    explicit OmissionTable(QWidget* parent = nullptr);

    void show_runs(const std::vector<EvaluatedRun>& runs);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void divide_columns();
    void fill_row(int at, int column, const EvaluatedRun& run, const KeptRow& row);
};

}  // namespace skippipe
