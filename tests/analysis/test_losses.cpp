// SPDX-License-Identifier: GPL-3.0-or-later
// What the metrics of a run say of lost nodes.
#include <QtTest>

#include "core/analysis/losses.h"

using namespace skippipe;

namespace {

Metric metric(const char* name, int iteration, double value, double network_s) {
    return {.iteration = iteration, .name = name, .value = value, .network_s = network_s};
}

/// Iterations of 10 s; in the second, n is lost at 13 s and known at 14 s: it takes 12 s. In the third, three are lost
/// at 25 s, it is known at 26 s, and the iteration begins again, whole, at 30 s.
std::vector<Metric> disturbed() {
    return {metric("iteration_s", 0, 10, 10),      metric("nodes_lost", 1, 1, 14),
            metric("detection_s", 1, 1, 14),       metric("replanning_s", 1, 0.25, 14),
            metric("redone_operations", 1, 5, 14), metric("lost_gradients", 1, 2, 14),
            metric("iteration_s", 1, 12, 22),      metric("loss", 1, 3, 22),
            metric("nodes_lost", 2, 3, 26),        metric("detection_s", 2, 1, 26),
            metric("replanning_s", 2, 0, 26),      metric("redone_operations", 2, 0, 26),
            metric("lost_gradients", 2, 0, 26),    metric("iteration_s", 2, 10, 40)};
}

}  // namespace

class TestLosses : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void losses_are_read_from_the_metrics() {
        const auto losses = losses_of(disturbed());
        QCOMPARE(losses.size(), std::size_t{2});
        const Loss first{.iteration = 1,
                         .nodes = 1,
                         .begin_s = 13,
                         .end_s = 14,
                         .detection_s = 1,
                         .replanning_s = 0.25,
                         .recovery_s = {},
                         .redone_operations = 5,
                         .lost_gradients = 2,
                         .begun_again = false};
        QVERIFY(losses[0] == first);
        QCOMPARE(losses[1].nodes, 3);
        QCOMPARE(losses[1].begin_s, 25.0);
        QVERIFY(losses[1].begun_again);
        QVERIFY(losses_of({metric("iteration_s", 0, 10, 10)}).empty());
    }

    /// Ranks that were lost stop all others: the iteration's network time begins anew behind the recovery. Ranks that
    /// come back are no loss.
    void ranks_that_meet_anew() {
        const std::vector<Metric> metrics{metric("nodes_lost", 3, 4, 100),   metric("detection_s", 3, 0.5, 100),
                                          metric("replanning_s", 3, 1, 100), metric("recovery_s", 3, 6, 100),
                                          metric("iteration_s", 3, 10, 116), metric("nodes_lost", 4, 0, 116),
                                          metric("detection_s", 4, 0, 116),  metric("recovery_s", 4, 2, 116)};
        const auto losses = losses_of(metrics);
        QCOMPARE(losses.size(), std::size_t{1});
        QCOMPARE(losses[0].begin_s, 100.0);
        QCOMPARE(losses[0].end_s, 106.0);
        QCOMPARE(losses[0].detection_s, 0.5);
        QCOMPARE(losses[0].recovery_s, std::optional{6.0});
        QVERIFY(losses[0].begun_again);
        QCOMPARE(account_losses(metrics, 10).recovery_s, 6.0);
    }

    /// Each return, under either clock; of one that was begun again the last counts as that iteration's.
    void what_came_back_fetched() {
        auto metrics = disturbed();
        QVERIFY(refetches_of(metrics).empty());
        QCOMPARE(account_losses(metrics, 10).refetching_s, 0.0);
        for (const auto& one : {metric("refetching_s", 3, 0.5, 40.5), metric("refetching_s", 2, 0.25, 30),
                                metric("refetching_s", 3, 0.75, 41.25)})
            metrics.push_back(one);
        QVERIFY(refetches_of(metrics) == (std::vector<Refetch>{{2, 0.25}, {3, 0.75}}));
        QCOMPARE(account_losses(metrics, 10).refetching_s, 1.5);
    }

    void time_between_iterations_is_lost() {
        using Why = LostTime::Why;
        const auto lost = lost_times_of(disturbed());
        QVERIFY(lost == (std::vector<LostTime>{{22, 30, 2, Why::begun_again}}));
        // Back from the fourth to the second, twice, and a wait of 3 s before the third.
        auto metrics = std::vector{metric("iteration_s", 0, 10, 10), metric("lost_iterations", 1, 2, 40),
                                   metric("lost_network_s", 1, 30, 40)};
        QVERIFY(lost_times_of(metrics) == (std::vector<LostTime>{{10, 40, 1, Why::went_back, 2}}));
        metrics.push_back(metric("lost_iterations", 1, 1, 55));
        for (const auto& one : {metric("iteration_s", 1, 10, 65), metric("iteration_s", 2, 10, 78)})
            metrics.push_back(one);
        QVERIFY(lost_times_of(metrics) ==
                (std::vector<LostTime>{{10, 55, 1, Why::went_back, 3}, {65, 68, 2, Why::waited}}));
        // The first of all, and one whose predecessor another run has.
        QVERIFY(lost_times_of({metric("iteration_s", 0, 8, 10)}) == (std::vector<LostTime>{{0, 2, 0, Why::waited}}));
        QVERIFY(lost_times_of({metric("iteration_s", 5, 8, 100)}).empty());
        QVERIFY(lost_times_of({metric("iteration_s", 0, 0.1, 0.1), metric("iteration_s", 1, 0.2, 0.1 + 0.2)}).empty());
    }

    void the_account_sums_up() {
        const auto account = account_losses(disturbed(), 99);
        QCOMPARE(account.nodes, 4);
        QCOMPARE(account.iterations, 2);
        QCOMPARE(account.begun_again, 1);
        QCOMPARE(account.detection_s, 2.0);
        QCOMPARE(account.replanning_s, 0.25);
        QCOMPARE(account.redone_operations, 5);
        QCOMPARE(account.lost_gradients, 2);
        QCOMPARE(account.usual_s, 10.0);
        QCOMPARE(account.lost_s, 2.0 + 8.0);
        // Lost in the first iteration: nothing to hold it against but the plan.
        const auto first = account_losses({metric("nodes_lost", 0, 1, 2), metric("iteration_s", 0, 12, 12)}, 9);
        QCOMPARE(first.usual_s, 9.0);
        QCOMPARE(first.lost_s, 3.0);
        const auto none = account_losses({metric("iteration_s", 0, 12, 12)}, 9);
        QCOMPARE(none.nodes, 0);
        QCOMPARE(none.lost_s, 0.0);
    }

    /// An iteration that goes on is not counted before it ends.
    void an_iteration_that_goes_on() {
        const auto account = account_losses({metric("iteration_s", 0, 10, 10), metric("nodes_lost", 1, 1, 14)}, 10);
        QCOMPARE(account.iterations, 1);
        QCOMPARE(account.lost_s, 0.0);
    }
};

QTEST_APPLESS_MAIN(TestLosses)
#include "test_losses.moc"
