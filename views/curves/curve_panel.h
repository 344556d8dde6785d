// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <vector>

#include <QWidget>

#include "views/curves/curve_data.h"

class QCheckBox;
class QComboBox;
class QCPGraph;
class QCustomPlot;
class QLabel;

namespace skippipe {

/// Metrics of one or more runs over iterations, tokens, block FLOPs, network time or machine time; of several, a line
/// says what that holds equal.
class CurvePanel : public QWidget {
    Q_OBJECT
public:
    explicit CurvePanel(QWidget* parent = nullptr);

    /// The runs to draw, in the order of their colours; `baseline` (may be 0) is the thick one. Pointers are not kept.
    void show_runs(const std::vector<const RunData*>& runs, RunId baseline = 0);
    void set_empty_text(const QString& text);
    /// What the horizontal axis shows.
    void set_axis(WorkAxis axis);
    /// The line under the controls; empty for fewer than two runs.
    QString equal_text() const;
    /// Points drawn, over all curves.
    int point_count() const;
    /// What is in sight of the horizontal axis; zooming or dragging keeps it while runs grow, a double-click shows all.
    std::pair<double, double> x_range() const;

protected:
    void changeEvent(QEvent*) override;

private:
    void draw();
    void show_all();
    void add_curve(const RunData& run, const std::string& metric, int colour, bool thick, bool points_only,
                   const QString& name);
    void style_axes();
    WorkAxis axis() const;
    void choose_scale(const std::string& metric);
    QWidget* controls();

    QCustomPlot* plot_;
    QLabel *empty_, *equal_;
    QComboBox *metric_ = nullptr, *x_ = nullptr;
    QCheckBox *log_x_ = nullptr, *log_y_ = nullptr;
    std::vector<RunData> shown_;  ///< info and metrics alone
    RunId baseline_ = 0;
    bool drawing_ = false, keeps_range_ = false;  ///< who looks chose what is in sight
    QString x_unit_;                              ///< behind the axis' label
    double x_scale_ = 1;                          ///< what is drawn over what was counted: FLOPs in G, T or P
};

}  // namespace skippipe
