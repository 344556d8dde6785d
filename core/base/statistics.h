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

}  // namespace skippipe
