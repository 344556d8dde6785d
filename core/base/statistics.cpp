// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace skippipe {
namespace {
constexpr double none = std::numeric_limits<double>::quiet_NaN();

/// Of the incomplete beta function; converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
    constexpr double tiny = 1e-300, close = 1e-15;
    constexpr int most_terms = 10'000;
    const auto away_from_zero = [](double v) { return std::abs(v) < tiny ? tiny : v; };
    double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= most_terms; ++m) {
        const double n = m;
        for (const double term : {n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n)),
                                  -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))}) {
            d = 1 / away_from_zero(1 + term * d);
            c = away_from_zero(1 + term / c);
            value *= c * d;
        }
        if (std::abs(c * d - 1) < close) break;
    }
    return value;
}
}  // namespace

double mean(const std::vector<double>& values) {
    return values.empty() ? none
                          : std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
    if (values.size() < 2) return none;
    const double middle = mean(values);
    double squares = 0;
    for (const double value : values) squares += (value - middle) * (value - middle);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }

double quantile(std::vector<double> values, double q) {
    if (values.empty() || std::isnan(q) ||
        std::any_of(values.begin(), values.end(), [](double v) { return std::isnan(v); }))
        return none;
    const double place = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below), values.end());
    const double low = values[below], part = place - static_cast<double>(below);
    if (part == 0) return low;
    const double high = *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(below) + 1, values.end());
    return high == low ? low : low + part * (high - low);
}

double incomplete_beta(double a, double b, double x) {
    if (!(a > 0) || !(b > 0) || !(x >= 0) || !(x <= 1)) return none;
    if (x == 0 || x == 1) return x;
    const double scale =
        std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
    return x < (a + 1) / (a + b + 2) ? scale * beta_fraction(a, b, x) / a : 1 - scale * beta_fraction(b, a, 1 - x) / b;
}

WelchTest welch_test(const std::vector<double>& a, const std::vector<double>& b) {
    if (a.size() < 2 || b.size() < 2) return {none, none, none};
    const auto square_error = [](const std::vector<double>& values) {
        return std::pow(standard_deviation(values), 2) / static_cast<double>(values.size());
    };
    const double of_a = square_error(a), of_b = square_error(b), apart = mean(b) - mean(a);
    const double degrees = std::pow(of_a + of_b, 2) / (of_a * of_a / static_cast<double>(a.size() - 1) +
                                                       of_b * of_b / static_cast<double>(b.size() - 1));
    if (of_a + of_b == 0) return {apart == 0 ? 0 : std::copysign(HUGE_VAL, apart), none, apart == 0 ? 1.0 : 0.0};
    const double t = apart / std::sqrt(of_a + of_b);
    return {t, degrees, incomplete_beta(degrees / 2, 0.5, degrees / (degrees + t * t))};
}

}  // namespace skippipe
