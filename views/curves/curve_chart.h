// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <utility>

#include <QWidget>

#include "views/curves/crosshair.h"
#include "views/curves/curve_set.h"
#include "views/curves/end_labels.h"

class QCPAxis;
class QCPItemLine;
class QCPItemStraightLine;
class QCPItemText;
class QCustomPlot;

namespace skippipe {

/// One chart: curves of runs, and a crosshair whose values are told elsewhere. A drag zooms, with Shift it moves, the
/// wheel zooms, a double-click shows all. A drag mostly along one axis zooms that one alone; until somebody zooms the
/// axis of y, it is as high as what is in sight.
class CurveChart : public QWidget {
    Q_OBJECT
public:
    explicit CurveChart(QWidget* parent = nullptr);

    /// Draws them; what is in sight stays where `keeps_sight`, else all is shown.
    void show_set(CurveSet set, bool keeps_sight);
    void set_logarithmic(bool x, bool y);
    /// One of a column of charts, which share the lowest one's axis of x as long as all are in sight; what it draws is
    /// named in it, not beside it.
    void set_in_column(bool on, bool has_x_axis);
    /// What stands in it, where it is one of a column.
    void set_title(const QString& words);
    QString title() const;
    const CurveSet& set() const { return set_; }
    /// In what the axis counts. Tells nobody.
    void set_x_range(double begin, double end);
    std::pair<double, double> x_range() const;
    /// A line at that x, with dots on the curves; nothing: none.
    void set_crosshair(std::optional<double> x);
    /// Whether a box beside the crosshair says what each run has there.
    void set_reads(bool on) { reads_ = on; }
    const Crosshair& crosshair() const { return *crosshair_; }
    /// "Iteration 5": where the crosshair is, at the nearest point of a line; empty: there is none.
    QString crosshair_words() const;
    /// What a curve is there, as its axis counts; empty: nothing. Few points are told near them alone.
    QString value_words(const Curve& curve) const;
    /// A line across at that y, for instance a loss to get to; nothing: none.
    void set_level(std::optional<double> y);
    std::optional<double> level() const { return level_y_; }
    /// What it has to say, a line a curve that is named: "Run 1, gpipe  3.42".
    QString readout() const;
    /// Last values beside the curves' ends, from top to bottom: "1  3.42".
    QStringList end_words() const { return ends_->words(); }
    int point_count() const;
    /// What is drawn of a curve's points, kept for as long as the curve is: most runs stay what they are while one
    /// grows.
    struct Thinned {
        SharedPoints of;
        int buckets = 0;
        QVector<double> x, y;
    };
    const std::vector<Thinned>& thinned() const { return thinned_; }
    /// Pixels left of its axes and right of them: figures, and last values.
    struct Gutters {
        int left = 0, right = 0;
    };
    Gutters wanted_gutters() const;
    /// Keeps at least as much free there, as charts beside and beneath it do.
    void set_gutters(const Gutters& gutters);
    QCustomPlot& plot() { return *plot_; }

Q_SIGNALS:
    void hovered(double x);
    void left();
    void moved();       ///< who looks chose what is in sight
    void all_wanted();  ///< a double-click
    void outgrown();    ///< figures or last values take more than the gutters

protected:
    void leaveEvent(QEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    void style();
    void label_y();
    bool has_many() const;
    QString x_words(double x) const;
    static QString words_on(const QCPAxis& axis, double value, bool is_time, const QString& unit);
    Thinned thin(const SharedPoints& points, const std::vector<Thinned>& before) const;
    void add_curve(const Curve& curve, const std::vector<Thinned>& before);
    void show_all();
    void begin_at_none();
    void fit_y();
    void leave_aside();
    void mark_losses();
    bool is_at_loss() const;
    std::vector<Crosshair::Row> read() const;

    QCustomPlot* plot_;
    QCPItemStraightLine* level_;
    QCPItemText *nothing_, *title_;
    std::vector<QCPItemLine*> losses_;
    std::unique_ptr<Crosshair> crosshair_;
    std::unique_ptr<EndLabels> ends_;
    CurveSet set_;
    std::vector<Thinned> thinned_;
    bool y_by_hand_ = false;  ///< whoever looks chose what is in sight of that axis
    int fitted_px_ = 0;       ///< how high it was when it was fitted
    bool drawing_ = false, log_x_ = false, log_y_ = false, in_column_ = false, has_x_words_ = true, reads_ = false;
    std::optional<double> crosshair_x_, level_y_;
};

}  // namespace skippipe
