// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <chrono>
#include <cmath>
#include <iterator>
#include <set>
#include <string>

#include "core/experiment/io.h"
#include "core/run/rank_failures.h"

using namespace skippipe;

class TestRankFailures : public QObject {
    Q_OBJECT

    Experiment experiment_;
    Problem problem_;
    const PerStage<std::vector<NodeIndex>> stages_{{0, 1}, {2, 3}, {4}};

    RankFailures of(std::vector<Failure> failures) {
        experiment_.failures = std::move(failures);
        return {experiment_, problem_, stages_, {0, 0, 1, 1, 2}};
    }

private Q_SLOTS:
    void initTestCase() {
        experiment_ =
            load_experiment(std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "tests/data/tiny-training.json").experiment;
        experiment_.execution.clock = Clock::wall;
        problem_ = make_problem(experiment_);
    }

    /// Once, in its iteration or, where that is over sooner than expected, at its end.
    void in_an_iteration() {
        auto failures = of({{.kind = FailureKind::crash, .target = "d", .at_iteration = 2, .rejoin_after_s = 7},
                            {.kind = FailureKind::stage_loss, .target = "1", .at_iteration = 4}});
        failures.begin_iteration(1, 10, 1e6);
        failures.begin_iteration(2, 20, 1e6);
        QVERIFY(failures.take_due().empty());
        failures.begin_iteration(3, 30, 1e6);
        const auto due = failures.take_due();
        QCOMPARE(due.size(), std::size_t{1});
        QCOMPARE(problem_.node_ids[NodeIndex(due[0].node)], std::string("d"));
        QCOMPARE(due[0].rank, 1);
        QCOMPARE(due[0].back_after_s, 7.0);
        failures.begin_iteration(2, 40, 1e-9);  // begun again
        QVERIFY(failures.take_due().empty());
        failures.begin_iteration(4, 50, 1e-9);
        QTest::qSleep(2);
        QCOMPARE(failures.take_due().size(), std::size_t{2});
    }

    void at_a_time() {
        auto failures = of({{.kind = FailureKind::crash, .target = "e", .at_s = 100.01}});
        failures.begin_iteration(0, 50, 10);
        QTest::qSleep(30);
        QVERIFY(failures.take_due().empty());
        failures.begin_iteration(1, 100, 10);
        QTest::qSleep(30);
        const auto due = failures.take_due();
        QCOMPARE(due.size(), std::size_t{1});
        QCOMPARE(due[0].rank, 2);
        QVERIFY(std::isinf(due[0].back_after_s));
        failures.begin_iteration(2, 200, 10);
        QTest::qSleep(30);
        QVERIFY(failures.take_due().empty());
    }

    /// Once, also where the run's clock stood still while this machine's went on, as in a pause.
    void at_a_time_that_the_run_has_yet_to_reach() {
        auto failures = of({{.kind = FailureKind::crash, .target = "e", .at_s = 100.02},
                            {.kind = FailureKind::stage_loss, .target = "0", .at_s = 100.02},
                            {.kind = FailureKind::crash, .target = "d", .at_s = 100.2}});
        failures.begin_iteration(0, 100, 10);
        QTest::qSleep(30);
        QCOMPARE(failures.take_due().size(), std::size_t{3});
        failures.begin_iteration(1, 100.01, 10);
        QTest::qSleep(30);
        QVERIFY(failures.take_due().empty());
        // Due, and not yet taken when the next iteration begins.
        failures.begin_iteration(2, 100.19, 10);
        QTest::qSleep(30);
        failures.begin_iteration(3, 100.195, 10);
        QTest::qSleep(30);
        QCOMPARE(failures.take_due().size(), std::size_t{1});
    }

    /// Once in an iteration that it is drawn for, and in each of those.
    void by_chance() {
        auto failures =
            of({{.kind = FailureKind::crash, .target = "d", .probability_per_iteration = 0.25, .rejoin_after_s = 1}});
        int happened = 0;
        std::set<int> drawn, taken;
        const FailureSchedule schedule(experiment_, problem_);
        for (int i = 0; i <= 400; ++i) {
            failures.begin_iteration(i, 10.0 * i, 1e6);
            // What was due in the iteration before has come at its end.
            const auto due = failures.take_due();
            happened += static_cast<int>(due.size());
            if (!due.empty()) taken.insert(i - 1);
            for (const auto& loss : due) QVERIFY(loss.rank == 1 && loss.back_after_s == 1);
            if (!schedule.of_iteration(i, 10.0 * i, 1e6, stages_).empty()) drawn.insert(i);
        }
        drawn.erase(400);
        QCOMPARE(taken, drawn);
        QCOMPARE(happened, static_cast<int>(drawn.size()));
        QVERIFY(happened > 60 && happened < 140);
    }

    /// At the times that seed and rate fix, whichever iterations they fall into.
    void at_a_rate() {
        auto failures = of({{.kind = FailureKind::crash, .target = std::string(any_target), .rate_per_hour = 36'000}});
        const FailureSchedule schedule(experiment_, problem_);
        const auto begun = std::chrono::steady_clock::now();
        const auto elapsed_s = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
        };
        std::vector<int> lost;
        double last_s = 0;
        for (int i = 0; last_s < 2; ++i) {
            failures.begin_iteration(i, elapsed_s(), 0.02);
            for (const double until_s = elapsed_s() + 0.02; elapsed_s() < until_s;) QTest::qSleep(2);
            last_s = elapsed_s();
            for (const auto& loss : failures.take_due()) lost.push_back(loss.node);
        }
        std::vector<int> expected;
        for (const auto& event : schedule.of_iteration(0, 0, last_s, stages_))
            if (event.disturbance.at_s <= last_s) expected.push_back(event.disturbance.change.node);
        QVERIFY(expected.size() > 8 && expected.size() < 40 * last_s);
        // Between two iterations, and at the very end, one may be counted on either side.
        QVERIFY(std::abs(std::ssize(lost) - std::ssize(expected)) <= 2);
    }

    /// Rank 0 is lost, once: a run that goes on from before does not lose it there again.
    void the_coordinator() {
        const std::vector<Failure> lost{{.kind = FailureKind::coordinator_loss, .at_iteration = 3}};
        auto failures = of(lost);
        failures.begin_iteration(2, 10, 1e-9);
        failures.begin_iteration(3, 20, 1e-9);
        failures.begin_iteration(4, 30, 1e-9);
        const auto due = failures.take_due();
        QCOMPARE(due.size(), std::size_t{1});
        QVERIFY(due[0].node == -1 && due[0].rank == 0);
        RankFailures resumed(experiment_, problem_, stages_, {0, 0, 1, 1, 2}, 3);
        for (int i = 1; i < 6; ++i) resumed.begin_iteration(i, 10.0 * i, 1e-9);
        QVERIFY(resumed.take_due().empty());
    }

    void commands() {
        const std::vector<int> ranks{0, 0, 1, 1, 2};
        const auto loss = loss_of_command(R"({"node": "c", "back_after_s": 60})", problem_, ranks);
        QCOMPARE(loss.node, 2);
        QCOMPARE(loss.rank, 1);
        QCOMPARE(loss.back_after_s, 60.0);
        QVERIFY(std::isinf(loss_of_command(R"({"node": "c", "back_after_s": null})", problem_, ranks).back_after_s));
        for (const char* bad : {"", "[]", "{}", R"({"node": 3})", R"({"node": "nobody"})",
                                R"({"node": "c", "back_after_s": -1})", R"({"node": "c", "back_after_s": "soon"})"})
            QVERIFY_THROWS_EXCEPTION(InputError, loss_of_command(bad, problem_, ranks));
    }
};

QTEST_APPLESS_MAIN(TestRankFailures)
#include "test_rank_failures.moc"
