// SPDX-License-Identifier: GPL-3.0-or-later
// Values for kernels, and how far their results are from float64 references.
#pragma once
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/rng.h"

/// Fails with the figure where `value` is above `limit`, or no number.
#define QVERIFY_BELOW(value, limit)                                                             \
    do {                                                                                        \
        const double measured = (value);                                                        \
        QVERIFY2(measured <= (limit), qPrintable(QString("%1: %2").arg(#value).arg(measured))); \
    } while (false)

namespace skippipe::testing {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// Uniform in [-range, range).
inline Floats random_values(std::size_t n, std::uint64_t seed, double range = 1) {
    Rng rng(seed);
    Floats values(n);
    for (auto& value : values) value = static_cast<float>(range * (2 * rng.uniform() - 1));
    return values;
}

inline Doubles exact(const Floats& values) { return {values.begin(), values.end()}; }

/// Largest |difference| over the largest |reference|; 1e30 for what is no number.
inline double difference(const Floats& values, const Doubles& reference) {
    double worst = 0, largest = 1e-30;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double apart = std::abs(static_cast<double>(values.at(i)) - reference[i]);
        if (!(apart <= 1e30)) return 1e30;
        worst = std::max(worst, apart);
        largest = std::max(largest, std::abs(reference[i]));
    }
    return worst / largest;
}

}  // namespace skippipe::testing
