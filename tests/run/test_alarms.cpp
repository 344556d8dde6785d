// SPDX-License-Identifier: GPL-3.0-or-later
// What calls for people while a run goes on.
#include <QTest>

#include <cmath>

#include "core/base/format.h"
#include "core/base/rng.h"
#include "core/run/alarms.h"

using namespace skippipe;

class TestAlarms : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// Falling fast at first and scattering by a few percent, as losses do: no alarm in 5,000 iterations.
    void usual_losses_are_quiet() {
        Rng rng(1, 1);
        LossWatch watch;
        for (int k = 0; k < 5000; ++k) {
            const double scatter = 1 + 0.05 * (rng.uniform() + rng.uniform() + rng.uniform() - 1.5);
            const double loss = (3 + 7 * std::exp(-k / 60.0)) * scatter;
            const auto alarm = watch.look(k, loss, (0.5 + 4 * std::exp(-k / 30.0)) * (0.7 + 0.6 * rng.uniform()));
            QVERIFY2(!alarm, alarm ? to_string(alarm->fault).c_str() : "");
        }
    }

    void a_loss_that_jumps() {
        LossWatch watch;
        for (int k = 0; k < 30; ++k) QVERIFY(!watch.look(k, 3 + 0.01 * (k % 3), 1));
        const auto alarm = watch.look(30, 3.6, 1);
        QVERIFY(alarm.has_value());
        QCOMPARE(alarm->kind, AlarmKind::spike);
        QCOMPARE(alarm->fault.pointer, std::string("iteration 31"));
        QVERIFY(alarm->fault.severity == Fault::Severity::warning);
        QVERIFY2(!watch.look(31, 3.7, 1), "told once");
        QVERIFY(!watch.look(32, 3.01, 1));
        QVERIFY2(watch.look(33, 3.6, 1).has_value(), "and again after all was well");
    }

    void a_gradient_that_jumps() {
        LossWatch watch;
        for (int k = 0; k < 30; ++k) QVERIFY(!watch.look(k, 3, 1 + 0.1 * (k % 4)));
        QVERIFY(!watch.look(30, 3, 5));
        const auto alarm = watch.look(31, 3, 20);
        QVERIFY(alarm.has_value() && alarm->kind == AlarmKind::spike);
    }

    void a_disk_that_fills() {
        const DiskNeed need{.bytes_an_iteration = 1e6, .iterations_left = 1000, .checkpoint_bytes = 500'000'000};
        QVERIFY(!look_at_disk("/", 1'600'000'000, need));
        const auto alarm = look_at_disk("/data", 1'500'000'000, need);
        QVERIFY(alarm.has_value() && alarm->kind == AlarmKind::disk);
        QCOMPARE(alarm->fault.what,
                 format_si(1.5e9, "B") + " are free, and the run will write about " + format_si(1.5e9, "B") + " more");
        QVERIFY2(look_at_disk("/", 10'000'000, {}).has_value(), "little room, whatever the run needs");
    }
};

QTEST_APPLESS_MAIN(TestAlarms)
#include "test_alarms.moc"
