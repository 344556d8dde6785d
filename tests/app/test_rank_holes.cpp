// SPDX-License-Identifier: GPL-3.0-or-later
// A rank is killed with all that some stage was, and the others pass over the stage until somebody comes for it, or for
// good. Real programs, Gloo on loopback.
#include "tests/app/losing_ranks.h"

using namespace launched;
using skippipe::RunState;

class TestRankHoles : public QObject {
    Q_OBJECT

    /// All of stage 2 is on rank 2.
    static QString stage_apart(const Scene& scene, const QJsonObject& recovery) {
        return laid_out(scene, {{0, 1}, {0, 1}, {2}}, 100'000, recovery);
    }
    static bool goes_on(const Scene& scene, const Process& process, int more) {
        const int done = scene.last_run()->iterations_done;
        return wait_until(
                   [&] {
                       return process.process->state() == QProcess::NotRunning ||
                              scene.last_run()->iterations_done >= done + more;
                   },
                   patient_ms) &&
               process.process->state() != QProcess::NotRunning;
    }
    static void end(const Scene& scene, Process& process) {
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(process.ended(patient_ms));
        QVERIFY2(scene.last_run()->state == RunState::stopped, process.text());
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    void until_somebody_comes_data() {
        QTest::addColumn<QString>("policy");
        QTest::addColumn<QString>("rebuild");
        QTest::newRow("reroute, from its neighbours") << "reroute"
                                                      << "neighbours";
        QTest::newRow("skip, from the checkpoint") << "skip"
                                                   << "checkpoint";
        QTest::newRow("drop, from the checkpoint") << "drop"
                                                   << "checkpoint";
    }
    /// Nobody waits, nobody goes back, and what is learnt stays.
    void until_somebody_comes() {
        QFETCH(QString, policy);
        QFETCH(QString, rebuild);
        const Scene scene;
        auto process = start(
            scene, {"run", stage_apart(scene, {{"policy", policy}, {"rebuild", rebuild}}), "--checkpoint-every", "15"});
        QVERIFY2(has_checkpoint(scene, 0, 40), process.text());
        const auto run = scene.last_run()->id;
        QVERIFY(kill_rank(scene, 2));
        const auto says = [&](const char* what) {
            return wait_until([&] { return process.text().contains(what); }, patient_ms);
        };
        QVERIFY2(says("stage 2 passed over"), process.text());
        QVERIFY2(says(rebuild == "neighbours" ? "stage 2 made of its neighbours" : "stage 2 from the last checkpoint"),
                 process.text());
        QVERIFY2(goes_on(scene, process, 40), process.text());
        end(scene, process);
        const auto told = process.text();
        QVERIFY2(!told.contains("wait for stage") && !told.contains("back to the checkpoint"), told);
        QCOMPARE(total(scene, run, "lost_iterations"), 0.0);
        const auto losses = scene.losses(run);
        QCOMPARE(losses.size(), static_cast<std::size_t>(scene.last_run()->iterations_done));
        for (std::size_t i = 40; i < losses.size(); ++i) QVERIFY2(losses[i] < losses[0], told);
        QVERIFY(losses.back() < losses[40]);
    }

    /// What is made to fail without a time to come back never does: nobody waits for it, whatever it would start from.
    /// The checkpoints of that time have the stage as it was, so that the run can be resumed with it.
    void for_good() {
        const Scene scene;
        auto process = start(scene, {"run", stage_apart(scene, {}), "--checkpoint-every", "15"});
        QVERIFY2(has_checkpoint(scene, 0, 20), process.text());
        auto fail = start(scene, {"fail", "latest", "r2s2"});
        QVERIFY(fail.ended(patient_ms));
        QVERIFY(wait_until([&] { return process.text().contains("stage 2 passed over"); }, patient_ms));
        QVERIFY2(goes_on(scene, process, 40), process.text());
        QVERIFY(workers_of(scene, 2).empty());
        end(scene, process);
        const int done = scene.last_run()->iterations_done;
        auto resumed = start(scene, {"resume", "latest"});
        QVERIFY2(wait_until([&] { return scene.last_run()->iterations_done > done + 2; }, patient_ms), resumed.text());
        QCOMPARE(workers_of(scene, 2).size(), std::size_t{1});
        end(scene, resumed);
    }

    /// Where no path can do without it, the run ends at once and says why.
    void nobody_is_waited_for_in_vain() {
        const Scene scene;
        auto process = start(scene, {"run", stage_apart(scene, {{"policy", "replay"}}), "--checkpoint-every", "15"});
        QVERIFY2(has_checkpoint(scene, 0, 20), process.text());
        auto fail = start(scene, {"fail", "latest", "r2s2"});
        QVERIFY(fail.ended(patient_ms));
        QVERIFY2(process.ended(60'000), process.text());
        QVERIFY(process.exit_code() != 0);
        QVERIFY2(process.text().contains("none of its nodes is started again"), process.text());
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestRankHoles)
#include "test_rank_holes.moc"
