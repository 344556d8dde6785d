// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <cmath>

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
