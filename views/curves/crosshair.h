// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include <QPointer>
#include <QString>

#include "views/curves/curve_set.h"

class QCPItemStraightLine;
class QCPItemText;
class QCPItemTracer;
class QCustomPlot;
class QWidget;

namespace skippipe {

/// A line across a chart, with its x at the foot, a dot on each curve and, where several runs are drawn, what each has
/// there in a box beside it.
class Crosshair {
public:
    /// What is read of a curve there.
    struct Row {
        RunId run = 0;
        QString name;   ///< "1", "1, 3"
        QString words;  ///< "3.42", "ended at 19.2 s"
        std::optional<CurvePoint> at;
        QColor colour;
        bool is_read = true;  ///< it has a line in the box
    };

    explicit Crosshair(QCustomPlot& plot);
    /// In the colours of the theme.
    void style();
    /// `foot`: x in words; empty: the axis below has it. Replots nothing.
    void show(double x, const QString& foot, std::vector<Row> rows, bool has_box);
    void hide();
    /// What the box says, a line a run: "1  3.42"; empty: there is none.
    QString box_words() const;
    QString foot_words() const;
    /// So many dots are on curves.
    int dots() const;

private:
    class Box;
    void place_box(double x);

    QCustomPlot& plot_;
    QCPItemStraightLine* line_;
    QCPItemText* foot_;
    std::vector<QCPItemTracer*> dots_;
    QPointer<Box> box_;  ///< the plot's
    std::optional<double> x_;
};

}  // namespace skippipe
