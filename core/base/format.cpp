// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

namespace skippipe {
namespace {

struct Prefix {
    double factor;
    std::string_view symbol;
};

constexpr std::array<Prefix, 9> prefixes{{{1e-9, "n"},
                                          {1e-6, "\xC2\xB5"},
                                          {1e-3, "m"},
                                          {1, ""},
                                          {1e3, "k"},
                                          {1e6, "M"},
                                          {1e9, "G"},
                                          {1e12, "T"},
                                          {1e15, "P"}}};

/// Rounded to three significant digits, so that 999.6 is told as 1.00 k and not as 1000.
double round_to_three(double value) {
    if (value == 0 || !std::isfinite(value)) return value;
    const double digits = 2 - std::floor(std::log10(std::abs(value)));
    if (std::abs(digits) > 300) return value;
    const double scale = std::pow(10.0, std::abs(digits));
    return digits >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

std::string not_finite(double value) {
    if (std::isnan(value)) return std::string{no_number};
    return value > 0 ? "\xE2\x88\x9E" : "-\xE2\x88\x9E";
}

std::string with_unit(std::string number, std::string_view unit) {
    if (!unit.empty()) number.append(thin_space).append(unit);
    return number;
}

std::string two_parts(std::int64_t whole, std::string_view whole_unit, std::int64_t rest, std::string_view rest_unit) {
    return fmt::format("{}{}{} {:02}{}{}", whole, thin_space, whole_unit, rest, thin_space, rest_unit);
}

}  // namespace

std::string format_number(double value) {
    if (!std::isfinite(value)) return not_finite(value);
    if (value == 0) return "0";
    if (std::abs(value) >= 999.5) return fmt::format("{:.0f}", value);
    const double rounded = round_to_three(value);
    const int decimals = 2 - static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-12));
    return fmt::format("{:.{}f}", rounded, std::min(decimals, 30));
}

std::string format_si(double value, std::string_view unit) {
    if (!std::isfinite(value) || value == 0) return with_unit(format_number(value), unit);
    const double magnitude = std::abs(round_to_three(value));
    const Prefix* chosen = &prefixes.front();
    for (const auto& prefix : prefixes)
        if (magnitude >= prefix.factor * (1 - 1e-9)) chosen = &prefix;
    return with_unit(format_number(value / chosen->factor), std::string{chosen->symbol} + std::string{unit});
}

std::string format_seconds(double seconds) {
    constexpr double least = 1e-12;  // less is what rounding left over
    if (!std::isfinite(seconds)) return with_unit(not_finite(seconds), "s");
    if (std::abs(seconds) < least) return with_unit("0", "s");
    if (seconds < 0) return "-" + format_seconds(-seconds);
    if (seconds < 59.95) return format_si(seconds, "s");
    if (seconds >= 1e15) return with_unit(fmt::format("{:.2e}", seconds), "s");
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < 3600) return two_parts(whole / 60, "min", whole % 60, "s");
    const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
    if (minutes < 24 * 60) return two_parts(minutes / 60, "h", minutes % 60, "min");
    const auto hours = static_cast<std::int64_t>(std::llround(seconds / 3600));
    return two_parts(hours / 24, "d", hours % 24, "h");
}

namespace {
constexpr double nothing = 1e-9, least_percent = 0.01;  // below 1e-9 a share is what rounding left over
constexpr double many_fold = 0.5;                       // from +50 % on a factor is easier to compare
}  // namespace

std::string format_percent(double fraction) {
    const double percent = fraction * 100;
    if (std::abs(fraction) < nothing) return with_unit("0", "%");
    if (std::abs(percent) < least_percent)
        return with_unit(fmt::format("{} {}", percent > 0 ? "<" : ">", percent > 0 ? "0.01" : "-0.01"), "%");
    return with_unit(format_number(percent), "%");
}

std::string format_change(double fraction) {
    if (std::abs(fraction * 100) < least_percent) return format_percent(0);
    if (fraction >= many_fold) return with_unit(format_number(1 + fraction), "\xC3\x97");
    return (fraction > 0 ? "+" : "") + format_percent(fraction);
}

}  // namespace skippipe
