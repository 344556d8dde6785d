// SPDX-License-Identifier: GPL-3.0-or-later
// Statistics over seeds and samples. Of nothing: NaN.
#pragma once
#include <vector>

namespace skippipe {

double mean(const std::vector<double>& values);
/// Sample standard deviation (n - 1); NaN for fewer than two values.
double standard_deviation(const std::vector<double>& values);
double median(std::vector<double> values);
/// q in [0, 1], linear between the neighbours (Hyndman and Fan's type 7); values may be infinite.
double quantile(std::vector<double> values, double q);

/// I_x(a, b), the regularised incomplete beta function, for a, b > 0 and x in [0, 1], to about 1e-14: by its continued
/// fraction (Abramowitz and Stegun 26.5.8), evaluated as Lentz does.
double incomplete_beta(double a, double b, double x);

/// Whether two samples have the same mean where their variances may differ.
struct WelchTest {
    double t = 0;        ///< of mean(b) - mean(a)
    double degrees = 0;  ///< of freedom (Welch-Satterthwaite)
    double p = 1;        ///< two-sided: how likely so large a |t| is where the means are the same
};
/// NaN everywhere for fewer than two values on a side; where neither side varies, p is 1 for equal means and else 0.
WelchTest welch_test(const std::vector<double>& a, const std::vector<double>& b);

/// Differences whose p is this or more may be chance.
inline constexpr double significant_p = 0.05;

}  // namespace skippipe
