// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QStringList>
#include <QWidget>

#include "core/analysis/omissions.h"
#include "views/runs/run_data.h"

class QCheckBox;
class QCustomPlot;
class QLabel;
class QTableWidget;

namespace skippipe {

/// Perplexity against the number of stages kept, of runs that were evaluated so: mean over the sets with least and
/// most, and where stage 0's blocks are left out; the numbers in a table below.
class OmissionPanel : public QWidget {
    Q_OBJECT
public:
    explicit OmissionPanel(QWidget* parent = nullptr);

    /// The runs to draw, in the order of their colours; those that were not evaluated take none of the space.
    void show_runs(const std::vector<const RunData*>& runs);
    /// Points drawn, over all runs.
    int point_count() const;
    /// What the pointer is told there; empty where no point is near.
    QString words_at(const QPointF& place) const;
    QString caption() const;
    const QTableWidget& table() const { return *table_; }
    /// The plot's place of a run's row, in pixels.
    QPointF place_of(std::size_t run, std::size_t row) const;

protected:
    void changeEvent(QEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    struct Shown {
        RunId id = 0;
        int colour = 0;
        QString name;
        Evaluation evaluation;
        std::vector<KeptRow> rows;
    };
    void draw();
    void style_axes();
    void add_run(std::size_t index);
    void fill_table();
    double x_of(std::size_t run, const KeptRow& row) const;

    QCustomPlot* plot_;
    QLabel *empty_, *caption_;
    QCheckBox* log_y_;
    QTableWidget* table_;
    std::vector<Shown> shown_;
};

}  // namespace skippipe
