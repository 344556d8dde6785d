// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as the window writes them: three significant digits, SI prefixes, a thin space before the unit.
#pragma once
#include <QString>

namespace skippipe {

/// core/base/format.h's words as Qt's strings.
QString three_digits(double value);
QString quantity(double value, const QString& unit);
QString duration(double seconds);
QString percent(double share);
QString change(double share);
/// Of a share against another one: "+11.8 points", for a difference of 0.118.
QString change_in_points(double share);
/// A tick of a time axis whose ticks are `step` seconds apart.
QString tick(double seconds, double step);
/// The smallest of 1, 2, 5 x 10^n that is at least `least`.
double nice_step(double least);

}  // namespace skippipe
