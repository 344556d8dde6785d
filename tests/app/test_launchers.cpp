// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe run` under launchers that exist: torchrun's environment, the real mpirun and the real srun. And ranks that
// are lost.
#include "core/record/checkpoints.h"
#include "tests/app/slurm_cluster.h"

using namespace launched;
using namespace Qt::StringLiterals;

namespace {

const QJsonObject gloo{{u"clock"_s, u"wall"_s}, {u"transport"_s, u"gloo"_s}, {u"ranks"_s, 2}};
constexpr int forever = 1'000'000;  // iterations

/// mpirun refuses root, and more ranks than cores, unless told otherwise.
QStringList mpirun(int ranks) {
    QStringList arguments{u"--oversubscribe"_s, u"--bind-to"_s, u"none"_s, u"-n"_s, QString::number(ranks)};
    if (::geteuid() == 0) arguments.prepend(u"--allow-run-as-root"_s);
    return arguments;
}

QStringList srun(int ranks) { return {u"--time=2"_s, u"--kill-on-bad-exit=1"_s, u"-n"_s, QString::number(ranks)}; }

}  // namespace

class TestLaunchers : public QObject {
    Q_OBJECT

    /// Waits until the run trains; rank 1's worker then.
    static qint64 rank_1_of(const Scene& scene, const QByteArray& variable) {
        const bool trains = wait_until(
            [&] {
                const auto run = scene.last_run();
                return run && run->iterations_done > 1;
            },
            60'000);
        const auto found = scene.alive(variable);
        return trains && found.size() == 1 ? found.front() : 0;
    }

    /// Rank 1 (nodes c, d, e) is lost while the run trains: it ends soon and says so, and nothing stays.
    void check_lost(const Scene& scene, Process& launcher, const QByteArray& rank_1_variable, int signal) {
        const auto pid = rank_1_of(scene, rank_1_variable);
        QVERIFY2(pid > 0, launcher.text().constData());
        QElapsedTimer timer;
        timer.start();
        ::kill(static_cast<pid_t>(pid), signal);
        // A broken connection is seen at once, silence after 5 s; the rest is for a busy machine.
        QVERIFY2(launcher.ended(signal == SIGKILL ? 15'000 : 20'000), launcher.text().constData());
        qInfo("ended %lld ms after the signal", static_cast<long long>(timer.elapsed()));
        QVERIFY2(launcher.exit_code() != 0, launcher.text().constData());
        const auto run = scene.last_run();
        // mpirun (Open MPI 5 calls itself prterun) and srun may end the others as soon as one is killed: who is first,
        // they or rank 0, is open, and either says which rank.
        const bool told =
            launcher.text().contains("run noticed that process rank 1") || launcher.text().contains("task 1: Killed");
        if (told && run->state != skippipe::RunState::failed) {
            QVERIFY(run->state == skippipe::RunState::died || run->state == skippipe::RunState::stopped);
            return;
        }
        QVERIFY(run->state == skippipe::RunState::failed);
        const auto error = QString::fromStdString(run->error);
        QVERIFY2(error.contains(u"rank 1 is gone (nodes "_s), qPrintable(error));
        for (const auto& node : {u"c"_s, u"d"_s, u"e"_s})
            QVERIFY2(error.section(u'(', 1).section(u')', 0, 0).contains(node), qPrintable(error));
        QVERIFY2(launcher.text().contains("rank 1 is gone"), launcher.text().constData());
    }

private Q_SLOTS:
    void init() {
        if (const auto why = no_worker(); !why.isEmpty()) QSKIP(qPrintable(why));
    }

    void torchruns_environment() {
        const Scene scene;
        const int port = free_ports(1).front();
        const auto experiment = scene.tiny(u"tiny.json"_s, gloo);
        auto second = scene.run(experiment, torchrun_variables(1, 2, port));  // may come first
        auto first = scene.run(experiment, torchrun_variables(0, 2, port));
        QVERIFY2(first.ended(60'000), first.text().constData());
        QVERIFY2(second.ended(20'000), second.text().constData());
        QVERIFY2(first.exit_code() == 0, first.text().constData());
        QVERIFY2(second.exit_code() == 0, second.text().constData());
        check_finished(scene, 2);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 2000));
    }

    void the_real_mpirun() {
        if (QStandardPaths::findExecutable(u"mpirun"_s).isEmpty())
            QSKIP("mpirun is not installed (package openmpi-bin)");
        const Scene scene;
        auto launcher = scene.start(u"mpirun"_s, mpirun(3) << program << u"run"_s << scene.tiny(u"tiny.json"_s, gloo)
                                                           << u"--db"_s << scene.record());
        QVERIFY2(launcher.ended(60'000), launcher.text().constData());
        QVERIFY2(launcher.exit_code() == 0, launcher.text().constData());
        QVERIFY(launcher.text().contains("note: mpi started 3 ranks; execution.ranks was 2"));
        check_finished(scene, 3);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 2000));
    }

    void the_real_srun() {
        const Scene scene;
        {
            const SlurmCluster cluster(scene);
            if (!cluster.why_not().isEmpty()) QSKIP(qPrintable(cluster.why_not()));
            auto launcher = scene.start(
                u"srun"_s,
                srun(3) << program << u"run"_s << scene.tiny(u"tiny.json"_s, gloo) << u"--db"_s << scene.record(),
                cluster.variables());
            QVERIFY2(launcher.ended(60'000), launcher.text().constData());
            QVERIFY2(launcher.exit_code() == 0, launcher.text().constData());
            QVERIFY(launcher.text().contains("note: slurm started 3 ranks"));
            check_finished(scene, 3);
        }
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }

    void a_lost_rank_data() {
        QTest::addColumn<QString>("launcher");
        QTest::addColumn<int>("signal");
        for (const auto& launcher : {u"skippipe"_s, u"mpirun"_s, u"srun"_s})
            for (const int signal : {SIGKILL, SIGSTOP})
                QTest::addRow("%s %s", qPrintable(launcher), signal == SIGKILL ? "killed" : "stopped")
                    << launcher << signal;
    }
    void a_lost_rank() {
        QFETCH(QString, launcher);
        QFETCH(int, signal);
        const Scene scene;
        const auto experiment = scene.tiny(u"tiny.json"_s, gloo, forever, true);
        const QStringList run{program, u"run"_s, experiment, u"--db"_s, scene.record()};
        if (launcher == u"skippipe"_s) {
            auto process = scene.run(experiment);
            check_lost(scene, process, "RANK=1", signal);
        } else if (launcher == u"mpirun"_s) {
            if (QStandardPaths::findExecutable(launcher).isEmpty())
                QSKIP("mpirun is not installed (package openmpi-bin)");
            auto process = scene.start(launcher, mpirun(2) + run);
            check_lost(scene, process, "OMPI_COMM_WORLD_RANK=1", signal);
        } else {
            const SlurmCluster cluster(scene);
            if (!cluster.why_not().isEmpty()) QSKIP(qPrintable(cluster.why_not()));
            auto process = scene.start(launcher, srun(2) + run, cluster.variables());
            check_lost(scene, process, "SLURM_PROCID=1", signal);
        }
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }

    /// What happens at a job's time limit too.
    void scancel_stops_after_an_iteration() {
        const Scene scene;
        {
            const SlurmCluster cluster(scene);
            if (!cluster.why_not().isEmpty()) QSKIP(qPrintable(cluster.why_not()));
            auto launcher =
                scene.start(u"srun"_s,
                            srun(2) << program << u"run"_s << scene.tiny(u"tiny.json"_s, gloo, forever, true)
                                    << u"--db"_s << scene.record(),
                            cluster.variables());
            QVERIFY2(rank_1_of(scene, "SLURM_PROCID=1") > 0, launcher.text().constData());
            auto cancel = scene.start(u"scancel"_s, {u"1"_s}, cluster.variables());
            QVERIFY(cancel.ended(10'000));
            QVERIFY2(launcher.ended(20'000), launcher.text().constData());
            const auto run = scene.last_run();
            QVERIFY2(run->state == skippipe::RunState::stopped, run->error.c_str());
            QVERIFY(run->last_validation_loss.has_value());
        }
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }

    void without_the_first_rank_the_others_end() {
        const Scene scene;
        const int port = free_ports(1).front();
        const auto experiment = scene.tiny(u"tiny.json"_s, gloo, forever, true);
        auto second = scene.run(experiment, torchrun_variables(1, 2, port));
        auto first = scene.run(experiment, torchrun_variables(0, 2, port));
        QVERIFY2(rank_1_of(scene, "RANK=1") > 0, first.text().constData());
        first.process->kill();
        QVERIFY2(second.ended(20'000), second.text().constData());
        QVERIFY2(second.text().contains("rank 0 is gone (nodes "), second.text().constData());
        QVERIFY(second.exit_code() != 0);
        QVERIFY(first.ended(1000));
        QVERIFY(scene.last_run()->state == skippipe::RunState::died);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 2000));
    }

    /// Both are killed; whoever started them starts them again to resume, and what comes has the same bits.
    void a_run_is_resumed_under_a_launcher() {
        const Scene scene;
        const auto experiment = scene.tiny(u"tiny.json"_s, gloo, 300, true);
        const QStringList run{u"run"_s, experiment, u"--checkpoint-every"_s, u"10"_s, u"--db"_s, scene.record()};
        const QStringList resume{u"resume"_s, u"latest"_s, u"--db"_s, scene.record()};
        const auto start_both = [&](const QStringList& what) {
            const int port = free_ports(1).front();
            return std::pair(scene.start(program, what, torchrun_variables(0, 2, port)),
                             scene.start(program, what, torchrun_variables(1, 2, port)));
        };
        const auto end_well = [](std::pair<Process, Process>& both) {
            QVERIFY2(both.first.ended(120'000), both.first.text().constData());
            QVERIFY2(both.second.ended(20'000), both.second.text().constData());
            QVERIFY2(both.first.exit_code() == 0, both.first.text().constData());
            QVERIFY2(both.second.exit_code() == 0, both.second.text().constData());
        };
        auto undisturbed = start_both(run);
        end_well(undisturbed);
        const auto whole = scene.last_run()->id;
        auto both = start_both(run);
        QVERIFY(wait_until(
            [&] {
                const auto last = scene.last_run();
                return last->id != whole && !skippipe::list_checkpoints(scene.record().toStdString(), last->id).empty();
            },
            60'000));
        const auto killed = scene.last_run()->id;
        both.first.process->kill();
        both.second.process->kill();
        QVERIFY(both.first.ended(10'000) && both.second.ended(10'000));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
        QVERIFY(scene.last_run()->state == skippipe::RunState::died);
        auto again = start_both(resume);
        end_well(again);
        QCOMPARE(scene.last_run()->id, killed);
        QVERIFY(scene.last_run()->state == skippipe::RunState::finished);
        QCOMPARE(scene.losses(killed).size(), std::size_t{300});
        QVERIFY(scene.losses(killed) == scene.losses(whole));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    void more_ranks_than_nodes() {
        if (QStandardPaths::findExecutable(u"mpirun"_s).isEmpty())
            QSKIP("mpirun is not installed (package openmpi-bin)");
        const Scene scene;
        auto launcher = scene.start(u"mpirun"_s, mpirun(6) << program << u"run"_s << scene.tiny(u"tiny.json"_s, gloo)
                                                           << u"--db"_s << scene.record());
        QVERIFY2(launcher.ended(30'000), launcher.text().constData());
        QCOMPARE(launcher.exit_code(), 2);
        QVERIFY2(launcher.text().contains("rank 5 would host no node; the plan uses 5 nodes. Start at most 5 ranks"),
                 launcher.text().constData());
        QVERIFY(!scene.last_run());
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }

    void a_bad_experiment_ends_every_rank() {
        if (QStandardPaths::findExecutable(u"mpirun"_s).isEmpty())
            QSKIP("mpirun is not installed (package openmpi-bin)");
        const Scene scene;
        auto launcher = scene.start(u"mpirun"_s, mpirun(3) << program << u"run"_s
                                                           << scene.tiny(u"tiny.json"_s, {{u"clock"_s, u"sundial"_s}})
                                                           << u"--db"_s << scene.record());
        QVERIFY2(launcher.ended(30'000), launcher.text().constData());
        QCOMPARE(launcher.exit_code(), 2);
        QVERIFY2(launcher.text().contains("/execution/clock"), launcher.text().constData());
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 5000));
    }
};

QTEST_GUILESS_MAIN(TestLaunchers)
#include "test_launchers.moc"
