// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/analysis/iterations.h"

using namespace skippipe;

class TestIterations : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void an_iteration_is_as_long_as_it_was_for_the_last_time() {
        // The second ends at 25 s, begun again at 15 s; the third was done twice.
        const auto times = iteration_times({{1, 0, "iteration_s", 10, 10, 0, 0},
                                            {2, 0, "loss", 5, 10, 0, 0},
                                            {3, 1, "iteration_s", 10, 25, 0, 0},
                                            {4, 2, "iteration_s", 10, 35, 0, 0},
                                            {5, 2, "iteration_s", 12, 60, 0, 0}});
        QCOMPARE(times.size(), std::size_t{3});
        QCOMPARE(times.at(1).begin_s(), 15.0);
        QCOMPARE(times.at(2), (IterationTime{2, 60, 12}));
    }

    void the_one_at_a_time_is_found() {
        const std::vector<IterationTime> times{{0, 10, 10}, {1, 25, 10}};
        QVERIFY(iteration_at({}, 3) == nullptr);
        QCOMPARE(iteration_at(times, -1)->iteration, 0);
        QCOMPARE(iteration_at(times, 9)->iteration, 0);
        QCOMPARE(iteration_at(times, 12)->iteration, 0);  // in the hole: the one before
        QCOMPARE(iteration_at(times, 15)->iteration, 1);
        QCOMPARE(iteration_at(times, 99)->iteration, 1);
    }
};

QTEST_GUILESS_MAIN(TestIterations)
#include "test_iterations.moc"
