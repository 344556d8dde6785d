// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include "views/curves/curve_set.h"

class QCPItemLine;
class QCPItemText;
class QCustomPlot;

namespace skippipe {

/// Where a curve leaves what is in sight on the right.
struct CurveEnd {
    const Curve* curve = nullptr;
    CurvePoint point;
};

/// A value as it is told beside its curve's end and at the crosshair.
QString curve_value_words(const CurveSet& set, double y);

/// Of lines, those that reach into x `begin` to `end`: where each ends there, or leaves it.
std::vector<CurveEnd> curve_ends(const CurveSet& set, double begin, double end);

/// As near as can be to where they want to be, at least `distance` apart, in the same order, between `low` and `high`;
/// where there is no such room, as far apart as there is.
std::vector<double> spread(const std::vector<double>& wanted, double distance, double low, double high);

/// Each curve's last value beside its end, right of the axes; a short line leads there. Of more than `most_labelled`
/// curves, or in a narrow chart, none.
class EndLabels {
public:
    static constexpr std::size_t most_labelled = 8;
    static constexpr int least_left = 56;  ///< pixels of the axis: most figures fit

    explicit EndLabels(QCustomPlot& plot);
    /// Keeps room for them. `set` outlives what is drawn.
    void show_set(const CurveSet& set);
    /// Pixels that they take right of the axes; 0: there are none.
    int wanted_width() const { return width_; }
    /// From top to bottom: "3  3.42", of one run the value alone, "○ 3.40" of its validation.
    QStringList words() const;
    /// Once the plot has its size, before it is drawn.
    void place();

private:
    QString words_of(const CurveEnd& end) const;

    QCustomPlot& plot_;
    const CurveSet* set_ = nullptr;
    bool names_runs_ = false;
    int width_ = 0;
    /// A last value, the line that leads to it, and a faint one from a curve that ends before the axes do.
    struct Label {
        QCPItemText* text;
        QCPItemLine *leader, *reach;
    };
    Label make_label() const;
    std::vector<Label> labels_;
};

}  // namespace skippipe
