// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/numbers.h"

#include <algorithm>
#include <cmath>

#include <QObject>

#include "core/base/format.h"

namespace skippipe {
namespace {
const QString thin{QChar{0x2009}};
}  // namespace

QString three_digits(double value) { return QString::fromStdString(format_number(value)); }

QString quantity(double value, const QString& unit) {
    return QString::fromStdString(format_si(value, unit.toStdString()));
}

QString duration(double seconds) { return QString::fromStdString(format_seconds(seconds)); }

QString percent(double share) { return QString::fromStdString(format_percent(share)); }

QString change(double share) {
    return QString::fromStdString(format_change(share)).replace('-', QChar{0x2212});  // a minus, no hyphen
}

QString change_in_points(double share) {
    const QString sign = share < 0 ? QString{QChar{0x2212}} : QStringLiteral("+");
    return QObject::tr("%1%2 points").arg(sign, three_digits(100 * std::abs(share)));
}

QString tick(double seconds, double step) {
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
    if (step >= 60) return duration(seconds);
    if (step >= 1e-3) return QString::number(seconds, 'f', decimals) + thin + QLatin1Char('s');
    if (step >= 1e-6) return QString::number(seconds * 1e3, 'f', std::max(0, decimals - 3)) + thin + "ms";
    return QString::number(seconds * 1e6, 'f', std::max(0, decimals - 6)) + thin + QString::fromUtf8("µs");
}

double nice_step(double least) {
    if (!(least > 0) || !std::isfinite(least)) return 1;
    const double base = std::pow(10.0, std::floor(std::log10(least)));
    for (double factor : {1.0, 2.0, 5.0, 10.0})
        if (base * factor >= least * (1 - 1e-9)) return base * factor;
    return base * 10;
}

}  // namespace skippipe
