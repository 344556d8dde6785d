// SPDX-License-Identifier: GPL-3.0-or-later
// Ticks that a person would choose, for QCustomPlot.
#pragma once
#include "views/curves/plot.h"

namespace skippipe {

/// What an axis counts.
enum class AxisKind { number, whole_number, seconds, bytes };

/// Ticks of a linear axis: 1, 2 or 5 x 10^n apart, of seconds as clocks have them; labels that differ from tick to
/// tick. `from_zero`: nothing is below 0.
class PlainTicker final : public QCPAxisTicker {
public:
    explicit PlainTicker(AxisKind kind, bool from_zero) : kind_(kind), from_zero_(from_zero) {}

protected:
    double getTickStep(const QCPRange& range) override;
    QString getTickLabel(double value, const QLocale& locale, QChar format, int precision) override;
    QVector<double> createTickVector(double step, const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }

private:
    AxisKind kind_;
    bool from_zero_;
    double step_ = 1, largest_ = 1;
};

}  // namespace skippipe
