// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are killed with all that some stage was, or where the document says so with any: the others wait for them,
// all go back to a checkpoint, and do again what they did. Real programs, Gloo on loopback.
#include <QStandardPaths>

#include "tests/app/losing_ranks.h"

using namespace launched;
using skippipe::RunState;

class TestRankSetbacks : public QObject {
    Q_OBJECT

    /// What is on rank 1 is some stage's all.
    static QString two_ranks(const Scene& scene, int iterations, const QJsonObject& recovery = {}) {
        const QJsonObject execution{{"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", 2}};
        return scene.tiny("kept.json", execution, iterations, true, recovery);
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    /// With the same plan what is done again has the same bits: no iteration is recorded that another training had.
    void a_stage_that_was_lost_whole_data() {
        QTest::addColumn<bool>("twice");
        QTest::newRow("once") << false;
        QTest::newRow("and again as it comes back") << true;
    }
    void a_stage_that_was_lost_whole() {
        QFETCH(bool, twice);
        const Scene scene;
        const auto file = two_ranks(scene, 120);
        const QStringList command{"run", file, "--checkpoint-every", "7"};
        auto undisturbed = start(scene, command);
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        const auto whole = scene.last_run()->id;
        auto process = start(scene, command);
        QVERIFY(has_checkpoint(scene, whole, 12));
        const auto run = scene.last_run()->id;
        const auto first = workers_of(scene, 1);
        QVERIFY(kill_rank(scene, 1));
        if (twice) QVERIFY(kill_rank(scene, 1, first));
        QVERIFY(process.ended(patient_ms));
        const auto told = process.text();
        QVERIFY2(process.exit_code() == 0, told);
        QVERIFY2(told.contains("the others wait for stage") && told.contains("back to the checkpoint after"), told);
        QCOMPARE(scene.last_run()->id, run);
        QVERIFY(scene.last_run()->state == RunState::finished);
        QVERIFY2(total(scene, run, "nodes_lost") > 0, told);
        QVERIFY2(total(scene, run, "lost_network_s") > 0, told);
        QVERIFY2(scene.losses(run) == scene.losses(whole), told);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// The stage alone starts from the checkpoint: nobody does anything again, and what was learnt until then is there.
    void a_stage_that_starts_from_the_checkpoint() {
        const Scene scene;
        const auto file = two_ranks(scene, 120, {{"rebuild", "checkpoint"}});
        const QStringList command{"run", file, "--checkpoint-every", "20"};
        auto undisturbed = start(scene, command);
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        const auto whole = scene.last_run()->id;
        auto process = start(scene, command);
        QVERIFY(has_checkpoint(scene, whole, 45));
        const auto run = scene.last_run()->id;
        QVERIFY(kill_rank(scene, 1));
        QVERIFY(process.ended(patient_ms));
        const auto told = process.text();
        QVERIFY2(process.exit_code() == 0, told);
        QVERIFY2(told.contains(" from the last checkpoint") && !told.contains("back to the checkpoint"), told);
        QCOMPARE(total(scene, run, "lost_iterations"), 0.0);
        const auto expected = scene.losses(whole), got = scene.losses(run);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < 40; ++i) QVERIFY2(got[i] == expected[i], told);
        for (std::size_t i = 45; i < got.size(); ++i) QVERIFY2(got[i] < (expected[0] + expected[45]) / 2, told);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// No checkpoint can be written, and a rank is lost: the others go on, and the record lacks nothing.
    void a_full_disk_and_a_kill() {
        const Scene scene;
        // Mounts that only this run sees.
        const QString shell = QStandardPaths::findExecutable("unshare");
        const auto on_a_small_disk = [&](const QStringList& command) {
            return scene.start(shell,
                               QStringList{"-rm", "sh", "-c", "mount -t tmpfs -o size=60k none \"$0\" && exec \"$@\"",
                                           scene.path("checkpoints")} +
                                   command);
        };
        QVERIFY(QDir().mkdir(scene.path("checkpoints")));
        auto possible = on_a_small_disk({"true"});
        if (shell.isEmpty() || !possible.ended(patient_ms) || possible.exit_code() != 0)
            QSKIP("this system lets nobody mount a file system of its own");
        const auto file = everywhere(scene, 120);
        auto undisturbed = start(scene, {"run", file});
        QVERIFY(undisturbed.ended(patient_ms));
        const auto whole = scene.last_run()->id;
        auto process = on_a_small_disk({program, "run", file, "--db", scene.record()});
        QVERIFY(wait_until([&] { return process.text().contains("No space left"); }, patient_ms));
        const auto run = scene.last_run()->id;
        QVERIFY(run != whole);
        QVERIFY(kill_rank(scene, 2));
        QVERIFY(process.ended(patient_ms));
        const auto told = process.text();
        QVERIFY2(process.exit_code() == 0, told);
        QVERIFY2(told.contains("the others go on") && told.contains("Make room there"), told);
        QVERIFY(scene.last_run()->state == RunState::finished);
        QVERIFY2(total(scene, run, "nodes_lost") >= stages, told);
        const auto expected = scene.losses(whole), got = scene.losses(run);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY2(std::abs(got[i] / expected[i] - 1) < 1e-5, told);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Every stage has other nodes, but the document says that all go back.
    void restart_after_any_loss() {
        const Scene scene;
        const auto file = everywhere(scene, 120, {{"policy", "restart"}});
        auto undisturbed = start(scene, {"run", file});
        QVERIFY(undisturbed.ended(patient_ms));
        QVERIFY2(undisturbed.exit_code() == 0, undisturbed.text());
        const auto whole = scene.last_run()->id;
        auto process = start(scene, {"run", file});
        QVERIFY(wait_until([&] { return scene.last_run()->id != whole && scene.last_run()->iterations_done >= 3; },
                           patient_ms));
        const auto run = scene.last_run()->id;
        QVERIFY(kill_rank(scene, 2));
        QVERIFY2(wait_until(
                     [&] {
                         return process.process->state() == QProcess::NotRunning ||
                                scene.last_run()->iterations_done >= 40;
                     },
                     patient_ms),
                 process.text());
        QVERIFY(kill_rank(scene, 3));
        QVERIFY(process.ended(patient_ms));
        const auto told = process.text();
        QVERIFY2(process.exit_code() == 0, told);
        QVERIFY2(told.count("back to the checkpoint after") >= 2, told);
        QVERIFY2(total(scene, run, "nodes_lost") >= 2 * stages && total(scene, run, "lost_iterations") > 0, told);
        const auto expected = scene.losses(whole), got = scene.losses(run);
        QCOMPARE(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) QVERIFY2(std::abs(got[i] / expected[i] - 1) < 1e-5, told);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Nobody comes for it: the run still obeys, and what it wrote before is whole.
    void who_waits_can_be_stopped() {
        const Scene scene;
        auto process = start(scene, {"run", two_ranks(scene, 100'000), "--checkpoint-every", "2"});
        QVERIFY(has_checkpoint(scene, 0, 3));
        auto fail = start(scene, {"fail", "latest", "e", "--back-after", "3600"});
        QVERIFY(fail.ended(patient_ms));
        QVERIFY(wait_until([&] { return process.text().contains("the others wait for stage"); }, patient_ms));
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(process.ended(patient_ms));
        QVERIFY2(scene.last_run()->state == RunState::stopped, process.text());
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
        const int done = scene.last_run()->iterations_done;
        auto resumed = start(scene, {"resume", "latest"});
        QVERIFY(wait_until([&] { return scene.last_run()->iterations_done > done + 2; }, patient_ms));
        auto again = start(scene, {"stop", "latest"});
        QVERIFY(again.ended(patient_ms));
        QVERIFY(resumed.ended(patient_ms));
    }
};

QTEST_GUILESS_MAIN(TestRankSetbacks)
#include "test_rank_setbacks.moc"
