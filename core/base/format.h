// SPDX-License-Identifier: GPL-3.0-or-later
// Numbers for people: three significant digits, SI prefixes, a thin space (U+2009) before the unit. Not for files that
// programs read.
#pragma once
#include <string>
#include <string_view>

namespace skippipe {

inline constexpr std::string_view thin_space = "\xE2\x80\x89";

/// What is shown where a number is missing (NaN): an en dash.
inline constexpr std::string_view no_number = "\xE2\x80\x93";

/// Three significant digits without exponent or prefix: "0.0123", "52.6", "100"; from 1,000 on the whole number:
/// "1234".
std::string format_number(double value);

/// With SI prefix (n, u as the micro sign, m, k, M, G, T, P) and unit: "1.23 kB", "4.50 MB/s"; without unit just the
/// prefix: "12.3 k".
std::string format_si(double value, std::string_view unit);

/// A duration: "850 us" (micro sign), "52.6 s", "1 min 12 s", "3 h 05 min", "2 d 04 h"; "0 s" below a
/// thousandth of a nanosecond.
std::string format_seconds(double seconds);

/// A share of 1 as percent: "31.2 %", "< 0.01 %"; "0 %" where rounding alone keeps it from being none.
std::string format_percent(double fraction);

/// The same with its sign, for differences: "+12.5 %", "-4.00 %"; "0 %" below a hundredth of one; from half as much
/// again on how many times: "1.68 ×".
std::string format_change(double fraction);

}  // namespace skippipe
