// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>
#include <limits>

#include "core/engine/common_clock.h"

using namespace skippipe;

class TestCommonClock : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_first_measurement_counts_at_once() {
        CommonClock clock;
        QCOMPARE(clock.at(5), 5.0);
        QVERIFY(std::isinf(clock.error_s(5)));
        clock.measured(-3, 1e-3, 10);
        QCOMPARE(clock.at(10), 7.0);
        QCOMPARE(clock.error_s(10), 1e-3);
        QVERIFY(clock.error_s(1000) > clock.error_s(10));  // they drift
    }

    /// A later one is made up for little by little: no jump, never backwards, whatever its sign.
    void corrections_are_smooth() {
        for (const double off_s : {0.3, -0.3}) {
            CommonClock clock;
            clock.measured(0, 1e-3, 0);
            clock.measured(off_s, 1e-6, 100);
            QCOMPARE(clock.at(100), 100.0);
            double before_s = clock.at(100);
            for (double t = 100.001; t < 110; t += 0.001) {
                const double now_s = clock.at(t);
                QVERIFY(now_s > before_s && now_s - before_s < 0.00111);
                before_s = now_s;
            }
            QVERIFY(std::abs(clock.at(110) - 110 - off_s) < 1e-4);
        }
    }

    void a_poor_measurement_weighs_little() {
        CommonClock clock;
        clock.measured(1, 1e-4, 0);
        clock.measured(1.5, 1, 1);
        QVERIFY(std::abs(clock.at(100) - 101) < 1e-3);
        QVERIFY(clock.error_s(1) < 1e-3);
    }

    void nonsense_changes_nothing() {
        CommonClock clock;
        clock.measured(1, 1e-4, 0);
        const double nan = std::numeric_limits<double>::quiet_NaN();
        clock.measured(nan, 1e-4, 1);
        clock.measured(5, nan, 1);
        clock.measured(5, -1, 1);
        QCOMPARE(clock.at(2), 3.0);
    }

    /// A clock 50 millionths too fast, compared every 10 s by round trips of 0.2 ms: one time within the half of them.
    void drift_is_followed() {
        CommonClock clock;
        double worst_s = 0;
        for (int second = 0; second < 3600; ++second) {
            const double true_s = second, local_s = 40 + second * (1 + 50e-6);
            if (second % 10 == 0) clock.measured(true_s - local_s + (second % 20 == 0 ? 5e-5 : -5e-5), 1e-4, local_s);
            if (second > 60) worst_s = std::max(worst_s, std::abs(clock.at(local_s) - true_s));
        }
        QVERIFY2(worst_s < 1e-3, qPrintable(QString::number(worst_s)));
    }
};

QTEST_APPLESS_MAIN(TestCommonClock)
#include "test_common_clock.moc"
