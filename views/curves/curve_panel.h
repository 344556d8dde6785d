// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <memory>
#include <vector>

#include <QWidget>

#include "views/curves/curve_chart.h"
#include "views/curves/curve_export.h"

class QAction;
class QComboBox;
class QGridLayout;
class QLabel;
class QMenu;
class QPushButton;
class QScrollArea;
class QToolButton;

namespace skippipe {

class FlowKey;

/// Metrics of one or more runs, a chart each, over iterations, tokens, block FLOPs, network time or machine time, with
/// one crosshair and one zoom; of several runs, a line says what that holds equal.
class CurvePanel : public QWidget {
    Q_OBJECT
public:
    explicit CurvePanel(QWidget* parent = nullptr);

    /// The runs to draw; `baseline` (may be 0) is the thick one. Those that are null are left out.
    void show_runs(const std::vector<std::shared_ptr<const RunData>>& runs, RunId baseline = 0);
    /// What stands where there is nothing to draw, and the charts that a button offers instead; none: no button.
    void set_empty_text(const QString& text, const std::vector<std::string>& instead = {});
    /// Metrics of `curve_metrics`, in its order; none of them: the first.
    void set_metrics(const std::vector<std::string>& metrics);
    /// What the horizontal axis shows; until somebody chooses, `usual_axis` of the runs.
    void set_axis(WorkAxis axis);
    /// What is drawn, as text that `restore` reads: metrics and axis, nothing where none was chosen. Of another
    /// version's text what is known is taken.
    QStringList choices() const;
    void restore(const QStringList& choices);
    /// Weight of `smoothed`; 0: none.
    void set_smoothing(double weight);
    /// Whether what is in sight, once zoomed, goes on with the newest points.
    void set_follows(bool follows);
    /// Draws the mean of runs that have that parameter in common, and the band that they fill; `name` as in
    /// `groupings`, anything else: every run has its own curve.
    void group_by(const QString& name);
    /// The lines under the controls, what was found and what is equal; empty for fewer than two runs.
    QString equal_text() const;
    /// Which line is which, above the charts: "Run 4, gpipe" a line; empty where one is alone.
    QString key_text() const;
    const std::vector<CurveChart*>& charts() const { return charts_; }
    /// Points drawn, over all curves.
    int point_count() const;
    /// What is in sight of the horizontal axis; zooming or dragging keeps it while runs grow, a double-click shows all.
    std::pair<double, double> x_range() const;
    /// The charts as they are now, as a file.
    QByteArray exported(CurveFormat format) const;
    /// What makes that file, on any thread.
    std::function<QByteArray()> exporter(CurveFormat format) const;

Q_SIGNALS:
    void export_wanted(CurveFormat format);

protected:
    void changeEvent(QEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void draw();
    void show_all();
    void show_axis(WorkAxis axis);
    void make_charts();
    void arrange();
    void align();
    void show_key();
    void show_runs_key();
    bool is_column() const;
    void show_titles();
    void show_column_key(const QString& where);
    void share_sight(const CurveChart& moved);
    void share_crosshair(std::optional<double> x);
    double last_x() const;
    QWidget* controls();
    QToolButton* chart_button();
    QToolButton* view_button();
    WorkAxis axis() const;
    void fill_groups();
    void offer_money(bool on);

    QWidget* grid_widget_;
    QGridLayout* grid_;
    QScrollArea* scroll_;
    QLabel *empty_words_, *finding_, *equal_;
    FlowKey* key_;
    QPushButton* instead_;
    QWidget* empty_;
    std::vector<std::string> instead_metrics_;
    QStringList keyed_;  ///< what the key names; the crosshair's values stand beside it
    QComboBox* x_ = nullptr;
    std::vector<QAction*> metric_actions_, smoothing_actions_;
    QAction *log_x_ = nullptr, *log_y_ = nullptr, *less_baseline_ = nullptr, *follow_ = nullptr;
    std::vector<CurveChart*> charts_;
    QMenu* group_menu_ = nullptr;
    std::vector<Grouping> groupings_;
    QString group_;  ///< the name of the one in use
    std::vector<std::shared_ptr<const RunData>> held_;
    std::vector<const RunData*> shown_;  ///< the same
    PointStore points_;                  ///< of those
    RunId baseline_ = 0;
    double smoothing_ = 0, last_x_ = 0;  ///< where the longest curve ended when it was drawn last
    bool axis_chosen_ = false;           ///< by somebody, now or before
    bool keeps_range_ = false;           ///< who looks chose what is in sight
    bool was_column_ = false;
};

}  // namespace skippipe
