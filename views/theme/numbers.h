// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers as the window writes them: three significant digits, SI prefixes, a thin space before the unit.
#pragma once
#include <cmath>
#include <optional>

#include <QString>

namespace skippipe {

/// core/base/format.h's words as Qt's strings.
QString three_digits(double value);
/// A count, whole, in groups of three digits: "384 000".
QString whole_number(double value);
QString quantity(double value, const QString& unit);
QString duration(double seconds);
QString percent(double share);
/// Without decimals: "13 %"; "< 1 %" where that would be none.
QString whole_percent(double share);
/// By how much something is above a bound, rounded up, so that it holds as "at most": "3.1 %", from 10 % on "22 %".
QString at_most_percent(double gap);
QString change(double share);
/// The same where two searches are compared, which differ by a little for no reason: "no change (below 0.1 %)".
QString told_change(double share);
/// Of a share against another one: "+11.8 pp", percentage points, for a difference of 0.118.
QString change_in_points(double share);
/// A chance by a test of significance: "0.013", "< 0.001"; empty where there was no test.
QString chance_words(const std::optional<double>& p);
/// A tick of a time axis whose ticks are `step` seconds apart: "0.25 s", "90 s", from two minutes on in hours, minutes
/// and seconds, each where there are any: "27 min", "1 h 30 min".
QString tick(double seconds, double step);
/// A time in the unit of the largest one beside it, so that an axis has one unit: "0.915 s" beside 2.24 s.
QString duration_beside(double seconds, double largest_s);
/// A deviation in no more digits than it tells: one, or two where the first is 1: 0.0712 is 0.07, 0.0134 is 0.013.
double rounded_deviation(double deviation);
/// Without the zeros at the end of a fraction: "0.07 s" of "0.0700 s".
QString without_zeros(QString words);
/// A mean and the deviation around it: "18.5 s ± 0.07 s"; "18.5 s ± < 0.1 %" where it is not seen in three digits.
/// `words` of both, the second given the first one's value, beside which it is told.
template <class Words>
QString mean_and_deviation(double mean, double deviation, const Words& words) {
    const bool is_seen = std::abs(deviation) >= 0.001 * std::abs(mean);
    return words(mean, mean) + QStringLiteral(" ± ") +
           (is_seen ? without_zeros(words(rounded_deviation(deviation), mean)) : QStringLiteral("< 0.1\u2009%"));
}
/// A quantity with the prefix that `beside` would have.
QString quantity_beside(double value, double beside, const QString& unit);
/// A tick of a time axis that ends at `largest_s`, all of whose ticks have one unit.
QString tick_beside(double seconds, double step_s, double largest_s);
/// The smallest of 1, 2, 5 x 10^n of the unit in which `duration_beside` writes that is at least `least_s`.
double nice_step_beside(double least_s, double largest_s);
/// The words with spaces at which no line breaks; rich text knows no thin one.
QString unbroken(QString words);
/// A sentence in which no line parts a number from its unit, nor "1 min" from "40 s"; the space before a unit is as
/// thin as elsewhere. Rich text keeps that only where its style says "white-space:pre-wrap".
QString unbroken_numbers(QString words);
/// The same, with each number in the line of the word before it: "skip ratio 0.33 instead of 0" leaves no 0 alone.
QString with_words_before(const QString& words);
/// A tick of an axis of plain numbers whose ticks are `step` apart, with as many digits as tell it from the next one;
/// prefixes where `largest` of the axis is at least 10,000: "1.25 M".
QString number_tick(double value, double step, double largest);
/// The smallest of 1, 2, 5 x 10^n that is at least `least`.
double nice_step(double least);
/// The same for seconds, by the clock from 5 s on: 10, 15, 30 s, 1, 2, 5, 10, 15, 30 min, 1, 2, 3, 6, 12 h, days.
double clock_step(double least);

}  // namespace skippipe
