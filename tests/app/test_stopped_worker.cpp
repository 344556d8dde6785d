// SPDX-License-Identifier: GPL-3.0-or-later
// A worker that is killed is named; one that stands still is noticed, although its process is alive and its pipe open.
#include <QTest>

#include "tests/app/launched.h"

using launched::Scene;

namespace {

/// The scene's process that runs this program; -1: none.
qint64 process_of(const Scene& scene, const QString& program) {
    for (const auto pid : scene.alive())
        if (QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith(program)) return pid;
    return -1;
}

bool trains(const Scene& scene) {
    const auto last = scene.last_run();
    return last && last->iterations_done > 2;
}

}  // namespace

class TestStoppedWorker : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        if (const auto why = launched::no_worker(); !why.isEmpty()) QSKIP(qPrintable(why));
    }

    void a_killed_worker_is_named() {
        Scene scene;
        auto run = scene.run(scene.tiny(QStringLiteral("long.json"), {}, 1'000'000));
        QVERIFY(launched::wait_until([&] { return trains(scene); }, 60'000));
        const auto worker = process_of(scene, QStringLiteral("/skippipe-worker"));
        QVERIFY(worker > 0);
        QCOMPARE(::kill(static_cast<pid_t>(worker), SIGKILL), 0);
        QVERIFY2(run.process->waitForFinished(30'000), "the run went on without its worker");
        QVERIFY(run.process->readAll().contains("was killed by signal 9"));
        QCOMPARE(run.process->exitCode(), 1);
        QCOMPARE(scene.last_run()->state, skippipe::RunState::failed);
        QVERIFY(QString::fromStdString(scene.last_run()->error).contains("killed"));
    }

    /// SIGSTOP of the only worker of a run: told of, then ended, and nothing is left behind.
    void a_stopped_worker_ends_the_run() {
        Scene scene;
        auto run = scene.run(scene.tiny(QStringLiteral("long.json"), {}, 1'000'000));
        QVERIFY(launched::wait_until([&] { return trains(scene); }, 60'000));
        const auto worker = process_of(scene, QStringLiteral("/skippipe-worker"));
        QVERIFY(worker > 0);
        QCOMPARE(::kill(static_cast<pid_t>(worker), SIGSTOP), 0);
        QVERIFY2(run.process->waitForFinished(90'000), "the run went on without its worker");
        const auto output = run.process->readAll();
        QVERIFY2(output.contains("warning") && output.contains("has said nothing"), output.constData());
        QCOMPARE(run.process->exitCode(), 1);
        const auto last = scene.last_run();
        QVERIFY(last.has_value());
        QCOMPARE(last->state, skippipe::RunState::failed);
        QVERIFY(last->iterations_done > 2);
        QVERIFY(launched::wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestStoppedWorker)
#include "test_stopped_worker.moc"
