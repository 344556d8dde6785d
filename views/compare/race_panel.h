// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTableWidget>
#include <QWidget>

#include "views/compare/race_rows.h"
#include "views/curves/curve_chart.h"
#include "views/theme/elided_label.h"

namespace skippipe {

/// Runs, or groups of them, raced to a loss, and compared at equal expense.
class RacePanel : public QWidget {
    Q_OBJECT
public:
    explicit RacePanel(QWidget* parent = nullptr);

    /// The baseline first.
    void show_runs(const std::vector<std::shared_ptr<const RunData>>& runs);
    const QTableWidget& table() const { return *table_; }
    QComboBox& metric() { return *metric_; }
    QComboBox& axis() { return *axis_; }
    QComboBox& group() { return *group_; }
    QLineEdit& target() { return *target_; }
    CurveChart& chart() { return *chart_; }

protected:
    void changeEvent(QEvent*) override;
    void showEvent(QShowEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void fill_groups();
    void draw();
    void draw_chart();
    void tell_crosshair();
    void share_width();
    int name_height(int row) const;
    QStringList keys() const;

    QWidget* controls_;
    QComboBox *metric_, *axis_, *group_;
    QLineEdit* target_;
    QTableWidget* table_;
    CurveChart* chart_;  ///< the groups' curves, and the loss to get to
    QLabel *finding_, *words_, *empty_;
    ElidedLabel* there_;  ///< what the curves are at the crosshair
    std::vector<Grouping> groupings_;
    std::vector<std::shared_ptr<const RunData>> held_;
    std::vector<const RunData*> shown_;  ///< the same
    std::vector<RunId> aside_;           ///< selected, but not held against the baseline
    PointStore points_;                  ///< of those
    std::optional<double> level_;
};

}  // namespace skippipe
