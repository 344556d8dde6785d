// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_ticks.h"

#include <algorithm>
#include <cmath>

#include "views/theme/numbers.h"

namespace skippipe {

double PlainTicker::getTickStep(const QCPRange& range) {
    const double least = range.size() / (tickCount() + 1e-10);
    step_ = kind_ == AxisKind::seconds ? clock_step(least) : nice_step(least);
    if (kind_ == AxisKind::whole_number) step_ = std::max(1.0, step_);
    largest_ = std::max(std::abs(range.lower), std::abs(range.upper));
    return step_;
}

QString PlainTicker::getTickLabel(double value, const QLocale&, QChar, int) {
    if (kind_ == AxisKind::bytes) {
        const QString words = number_tick(value, step_, largest_);
        return words == QStringLiteral("0") ? words : words + (words.back().isDigit() ? "\u2009B" : "B");
    }
    if (kind_ != AxisKind::seconds) return number_tick(value, step_, largest_);
    return tick(std::abs(value) < step_ / 2 ? 0 : value, step_);
}

QVector<double> PlainTicker::createTickVector(double step, const QCPRange& range) {
    auto ticks = QCPAxisTicker::createTickVector(step, range);
    if (from_zero_) ticks.removeIf([step](double tick) { return tick < -step * 1e-6; });
    return ticks;
}

}  // namespace skippipe
