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

/// Metrics of one or more runs over iterations, tokens, network time or machine time.
class CurvePanel : public QWidget {
    Q_OBJECT
public:
    explicit CurvePanel(QWidget* parent = nullptr);

    /// The runs to draw, in the order of their colours; `baseline` (may be 0) is the thick one. Pointers are not kept.
    void show_runs(const std::vector<const RunData*>& runs, RunId baseline = 0);
    void set_empty_text(const QString& text);
    /// Points drawn, over all curves.
    int point_count() const;

protected:
    void changeEvent(QEvent*) override;

private:
    void draw();
    void add_curve(const RunData& run, const std::string& metric, int colour, bool thick, bool points_only, const QString& name);
    void style_axes();
    QWidget* controls();

    QCustomPlot* plot_;
    QLabel* empty_;
    QComboBox *metric_ = nullptr, *x_ = nullptr;
    QCheckBox *log_x_ = nullptr, *log_y_ = nullptr;
    std::vector<RunData> shown_;   ///< info and metrics alone
    RunId baseline_ = 0;
};

}  // namespace skippipe
