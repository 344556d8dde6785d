// SPDX-License-Identifier: GPL-3.0-or-later
// The files of resources/launch do what they say, as far as one machine can tell: torchrun is not among Debian's
// programs that work.
#include <QRegularExpression>

#include "tests/app/slurm_cluster.h"

using namespace launched;
using namespace Qt::StringLiterals;

namespace {

QString launch_file(const QString& name) { return QStringLiteral(SKIPPIPE_SOURCE_DIR "/resources/launch/") + name; }
const QJsonObject gloo{{u"clock"_s, u"wall"_s}, {u"transport"_s, u"gloo"_s}, {u"ranks"_s, 2}};
const QString our_program = u"SKIPPIPE="_s + program;

QString read(const QString& path) {
    QFile in(path);
    return in.open(QIODevice::ReadOnly) ? QString::fromUtf8(in.readAll()) : QString();
}

}  // namespace

class TestLaunchFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        if (const auto why = no_worker(); !why.isEmpty()) QSKIP(qPrintable(why));
    }

    void scripts_say_how_to_call_them_data() {
        QTest::addColumn<QString>("script");
        for (const char* name : {"torchrun.sh", "mpi.sh", "slurm.sbatch"})
            QTest::newRow(name) << launch_file(QString::fromLatin1(name));
    }
    void scripts_say_how_to_call_them() {
        QFETCH(QString, script);
        const Scene scene;
        auto parsed = scene.start(u"bash"_s, {u"-n"_s, script});
        QVERIFY(parsed.ended(10'000));
        QVERIFY2(parsed.exit_code() == 0, parsed.text().constData());
        auto called = scene.start(u"bash"_s, {script});
        QVERIFY(called.ended(10'000));
        QCOMPARE(called.exit_code(), 2);
        QVERIFY2(called.text().startsWith("usage: "), called.text().constData());
    }

    void mpi() {
        if (QStandardPaths::findExecutable(u"mpirun"_s).isEmpty())
            QSKIP("mpirun is not installed (package openmpi-bin)");
        const Scene scene;
        auto launcher =
            scene.start(launch_file(u"mpi.sh"_s), {u"3"_s, scene.tiny(u"tiny.json"_s, gloo), u"--db"_s, scene.record()},
                        {our_program});
        QVERIFY2(launcher.ended(60'000), launcher.text().constData());
        QVERIFY2(launcher.exit_code() == 0, launcher.text().constData());
        check_finished(scene, 3);
    }

    void slurm() {
        const Scene scene;
        const SlurmCluster cluster(scene);
        if (!cluster.why_not().isEmpty()) QSKIP(qPrintable(cluster.why_not()));
        // One node here, and other numbers than the file's.
        auto launcher = scene.start(u"sbatch"_s,
                                    {u"--wait"_s, u"--nodes=1"_s, u"--ntasks-per-node=3"_s, u"--cpus-per-task=1"_s,
                                     u"--time=2"_s, u"--output=log"_s, launch_file(u"slurm.sbatch"_s),
                                     scene.tiny(u"tiny.json"_s, gloo), u"--db"_s, scene.record()},
                                    cluster.variables() << our_program);
        QVERIFY2(launcher.ended(60'000), launcher.text().constData());
        QVERIFY2(launcher.exit_code() == 0,
                 qPrintable(QString::fromLocal8Bit(launcher.text()) + read(scene.path(u"log"_s))));
        check_finished(scene, 3);
    }

    /// The container's command with the container's variables, but for those of the cluster's network and folders.
    void kubernetes() {
        const Scene scene;
        const auto yaml = read(launch_file(u"kubernetes.yaml"_s));
        auto command = QRegularExpression(u"args: \\[\"(.*)\"\\]"_s).match(yaml).captured(1);
        QVERIFY(!command.isEmpty());
        command.replace(u"/experiment/experiment.json"_s, scene.tiny(u"tiny.json"_s, gloo))
            .replace(u"/record/record.sqlite"_s, scene.record());
        QStringList variables{u"PATH="_s + QStringLiteral(SKIPPIPE_BIN_DIR) + u":/usr/bin:/bin"_s};
        for (const auto& match :
             QRegularExpression(u"- name: ([A-Z_]+)\\n +value: \"?([^\\s\"]+)"_s).globalMatch(yaml)) {
            const auto name = match.captured(1);
            auto value = match.captured(2);
            if (name == u"MASTER_ADDR"_s) value = u"127.0.0.1"_s;
            if (name == u"MASTER_PORT"_s) value = QString::number(free_ports(1).front());
            if (name == u"GLOO_SOCKET_IFNAME"_s) value = u"lo"_s;
            variables << name + u"="_s + value;
        }
        QCOMPARE(variables.size(), 6);
        auto second =
            scene.start(u"/bin/sh"_s, {u"-c"_s, command}, variables + QStringList{u"JOB_COMPLETION_INDEX=1"_s});
        auto first =
            scene.start(u"/bin/sh"_s, {u"-c"_s, command}, variables + QStringList{u"JOB_COMPLETION_INDEX=0"_s});
        QVERIFY2(first.ended(60'000), first.text().constData());
        QVERIFY2(first.exit_code() == 0, first.text().constData());
        QVERIFY2(second.ended(20'000) && second.exit_code() == 0, second.text().constData());
        check_finished(scene, 2);
    }
};

QTEST_GUILESS_MAIN(TestLaunchFiles)
#include "test_launch_files.moc"
