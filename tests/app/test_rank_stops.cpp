// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that stand still (SIGSTOP): rank 0, without which nobody decides, and one that goes on once the others have
// given it up. Real programs, Gloo on loopback.
#include "tests/app/losing_ranks.h"

using namespace launched;
using skippipe::RunState;

class TestRankStops : public QObject {
    Q_OBJECT

    static bool trains(const Scene& scene, int iterations) {
        return wait_until([&] { return scene.last_run() && scene.last_run()->iterations_done >= iterations; },
                          patient_ms);
    }
    /// As far as both have come.
    static void check_alike(const std::vector<double>& got, const std::vector<double>& expected, std::size_t at_least) {
        const auto common = std::min(got.size(), expected.size());
        QVERIFY(common >= at_least);
        for (std::size_t i = 0; i < common; ++i)
            QVERIFY2(
                std::abs(got[i] / expected[i] - 1) < 1e-5,
                qPrintable(
                    QString("iteration %1: %2, not %3").arg(i + 1).arg(got[i], 0, 'g', 9).arg(expected[i], 0, 'g', 9)));
    }
    static void end(const Scene& scene, Process& process) {
        auto stop = start(scene, {"stop", "latest"});
        QVERIFY(stop.ended(patient_ms));
        QVERIFY(process.ended(patient_ms));
        QVERIFY2(scene.last_run()->state == RunState::stopped, process.text());
    }

private Q_SLOTS:
    void initTestCase() {
        if (!no_worker().isEmpty()) QSKIP(qPrintable(no_worker()));
    }

    /// The run ends, says how it goes on, and does.
    void rank_0_stands_still() {
        const Scene scene;
        const auto file = everywhere(scene, 100'000);
        auto process = start(scene, {"run", file});
        QVERIFY(has_checkpoint(scene, 0, 20));
        const auto run = scene.last_run()->id;
        const auto victims = workers_of(scene, 0);
        QCOMPARE(victims.size(), std::size_t{1});
        QCOMPARE(::kill(static_cast<pid_t>(victims[0]), SIGSTOP), 0);
        QVERIFY2(process.ended(patient_ms), process.text());
        const auto told = process.text();
        QCOMPARE(process.exit_code(), 1);
        QVERIFY2(told.contains("skippipe resume"), told);
        QVERIFY(scene.last_run()->state == RunState::failed);
        QVERIFY2(wait_until([&] { return scene.alive().empty(); }, 10'000), told);
        const auto first = scene.losses(run);
        auto resumed = start(scene, {"resume", "latest"});
        QVERIFY2(wait_until(
                     [&] {
                         return scene.last_run()->state == RunState::running &&
                                scene.last_run()->iterations_done > static_cast<int>(first.size()) + 5;
                     },
                     patient_ms),
                 resumed.text());
        end(scene, resumed);
        QCOMPARE(scene.last_run()->id, run);
        check_alike(scene.losses(run), first, 20);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Started by a launcher, which leaves it alone: it ends by itself, and the others have never noticed.
    void who_was_given_up_and_goes_on_ends() {
        const Scene scene;
        const auto file = laid_out(scene, {{0, 1}, {0, 1}, {0, 1}}, 100'000);
        auto undisturbed = start(scene, {"run", file});
        QVERIFY(trains(scene, 40));
        end(scene, undisturbed);
        const auto whole = scene.last_run()->id;
        const int port = free_ports(1).front();
        auto second = scene.run(file, torchrun_variables(1, 2, port));
        auto first = scene.run(file, torchrun_variables(0, 2, port));
        QVERIFY(wait_until([&] { return scene.last_run()->id != whole && scene.last_run()->iterations_done >= 5; },
                           patient_ms));
        const auto pid = static_cast<pid_t>(second.process->processId());
        QCOMPARE(::kill(pid, SIGSTOP), 0);
        QVERIFY2(wait_until([&] { return first.text().contains("the others go on"); }, patient_ms), first.text());
        const int done = scene.last_run()->iterations_done;
        QCOMPARE(::kill(pid, SIGCONT), 0);
        QVERIFY2(second.ended(patient_ms), second.text());
        const auto said = second.text();
        QVERIFY2(second.exit_code() == 3, said);
        QVERIFY2(said.contains("rank 1 is gone") || said.contains("given this one up"), said);
        QVERIFY2(trains(scene, std::max(done, 40) + 5), first.text());
        end(scene, first);
        const auto run = scene.last_run()->id;
        QCOMPARE(first.text().count("the others go on"), 1);
        QCOMPARE(total(scene, run, "nodes_lost"), double{stages});
        check_alike(scene.losses(run), scene.losses(whole), 40);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestRankStops)
#include "test_rank_stops.moc"
