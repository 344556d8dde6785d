// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <cmath>
#include <vector>

#include "core/base/rng.h"
#include "kernels/vector.h"

using namespace skippipe;

namespace {

std::vector<float> random_values(std::size_t n, std::uint64_t seed) {
    Rng rng(seed);
    std::vector<float> values(n);
    for (auto& value : values) value = static_cast<float>(rng.uniform() * 2 - 1);
    return values;
}

}  // namespace

class TestVector : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void adamw_matches_float64() {
        for (const std::size_t n : {1u, 7u, 64u, 1003u}) {
            auto weights = random_values(n, 1);
            std::vector<float> m(n), v(n);
            std::vector<double> weights64(weights.begin(), weights.end()), m64(n), v64(n);
            for (int step = 1; step <= 50; ++step) {
                const auto gradient = random_values(n, 100 + static_cast<std::uint64_t>(step));
                const std::vector<double> gradient64(gradient.begin(), gradient.end());
                const kernels::AdamW parameters{
                    .learning_rate = 1e-2, .weight_decay = 0.1, .step = step, .gradient_scale = 0.5};
                kernels::adamw(weights.data(), gradient.data(), m.data(), v.data(), n, parameters);
                kernels::adamw_reference(weights64.data(), gradient64.data(), m64.data(), v64.data(), n, parameters);
            }
            for (std::size_t i = 0; i < n; ++i) {
                QVERIFY2(std::abs(weights[i] - weights64[i]) < 5e-6,
                         qPrintable(QString::number(weights[i] - weights64[i])));
                QVERIFY(std::abs(m[i] - m64[i]) < 1e-6);
                QVERIFY(std::abs(v[i] - v64[i]) < 1e-6);
            }
        }
    }

    void first_step_by_hand() {
        // At step 1 the corrected mean is g and the corrected variance g^2: the step is learning_rate in g's direction.
        float weight = 1, gradient = -3, m = 0, v = 0;
        kernels::adamw(&weight, &gradient, &m, &v, 1, {.learning_rate = 0.1, .epsilon = 0, .weight_decay = 0.5});
        QVERIFY(std::abs(weight - (1 - 0.05f + 0.1f)) < 1e-6f);
    }

    void sums() {
        for (const std::size_t n : {0u, 1u, 9u, 1000u}) {
            auto to = random_values(n, 3);
            const auto before = to, from = random_values(n, 4);
            kernels::sum_into(to.data(), from.data(), n);
            double squares = 0;
            for (std::size_t i = 0; i < n; ++i) {
                QCOMPARE(to[i], before[i] + from[i]);
                squares += static_cast<double>(from[i]) * from[i];
            }
            QVERIFY(std::abs(kernels::sum_of_squares(from.data(), n) - squares) <= 1e-12 * (1 + squares));
            kernels::scale(to.data(), 2, n);
            for (std::size_t i = 0; i < n; ++i) QCOMPARE(to[i], 2 * (before[i] + from[i]));
        }
    }
};

QTEST_APPLESS_MAIN(TestVector)
#include "test_vector.moc"
