// SPDX-License-Identifier: GPL-3.0-or-later
// The program as a process: what it links, and that a run outlives it.
#include <csignal>

#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/record/record.h"
#include "views/topology/edits.h"

using namespace skippipe;

namespace {

constexpr int patient_ms = 90'000;
const QString studio = QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-studio");

bool worker_is_built() {
    return QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker")) &&
           QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"));
}

/// Three nodes and a model that trains in seconds.
Experiment small_experiment(const std::string& corpus, int iterations) {
    Experiment e;
    for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
    for (const auto& [from, to] : {std::pair{"node-1", "node-2"}, {"node-2", "node-3"}, {"node-1", "node-3"}})
        add_link(e, from, to);
    e.model.blocks = 3;
    e.model.width = 32;
    e.model.heads = 2;
    e.model.sequence = 32;
    e.pipeline.planner = "gpipe";
    e.pipeline.stages = 3;
    e.pipeline.stage_sizes = {1, 1, 1};
    e.pipeline.microbatches = 4;
    e.pipeline.microbatch_samples = 2;
    e.data.source = DataSource::text;
    e.data.path = corpus;
    e.data.validation_samples = 4;
    e.training.iterations = iterations;
    return e;
}

/// The newest run; nothing before the record is there.
std::optional<RunInfo> newest(const std::filesystem::path& record) {
    try {
        if (!std::filesystem::exists(record)) return {};
        const auto runs = Reader(record).runs();
        return runs.empty() ? std::nullopt : std::optional{runs.front()};
    } catch (const InputError&) {
        return {};  // it is being made
    }
}

}  // namespace

class TestStudio : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QVERIFY2(QFile::exists(studio), "skippipe-studio is not built"); }

    void it_links_no_torch() {
        QProcess ldd;
        ldd.start("ldd", {studio});
        QVERIFY(ldd.waitForFinished());
        const QString libraries = ldd.readAllStandardOutput();
        QVERIFY2(libraries.contains("libQt6Widgets"), "ldd lists what it links");
        // With "lib": the addresses ldd prints contain "c10" now and then.
        for (const char* unwanted : {"libtorch", "libc10", "libgloo"})
            QVERIFY2(!libraries.contains(unwanted, Qt::CaseInsensitive), qPrintable(libraries));
    }

    void a_report_is_written_without_a_display() {
        QTemporaryDir folder;
        const QString record = folder.filePath("record.sqlite");
        {
            Recorder recorder(record.toStdString());
            const RunId run = recorder.begin({.name = "one", .planner = "gpipe", .iterations = 1});
            recorder.metric(run, {.name = "loss", .value = 2.5, .network_s = 1});
            recorder.finish(run, RunState::finished, {}, "{}");
        }
        const auto report = [&](const QString& runs, const QString& name) {
            QProcess program;
            program.start(studio, {"--db", record, "--runs", runs, "--report", folder.filePath(name)});
            return program.waitForFinished(patient_ms) && program.exitStatus() == QProcess::NormalExit
                       ? program.exitCode()
                       : -1;
        };
        QCOMPARE(report("1", "one.pdf"), 0);
        QFile pdf(folder.filePath("one.pdf"));
        QVERIFY(pdf.open(QIODevice::ReadOnly) && pdf.readAll().startsWith("%PDF-"));
        QCOMPARE(report("7", "none.pdf"), 2);
        QVERIFY(!QFile::exists(folder.filePath("none.pdf")));
    }

    void a_run_outlives_the_kill_of_its_window() {
        if (!worker_is_built()) QSKIP("skippipe-worker is not built (SKIPPIPE_TORCH is off)");
        constexpr int iterations = 400;
        QTemporaryDir folder;
        QFile corpus(folder.filePath("corpus.txt"));
        QVERIFY(corpus.open(QIODevice::WriteOnly));
        for (int i = 0; i < 4000; ++i)
            corpus.write("One more line of text, and it was number " + QByteArray::number(i) + ".\n");
        corpus.close();
        const std::string experiment = folder.filePath("small.json").toStdString();
        write_file_atomically(experiment, to_text(small_experiment(corpus.fileName().toStdString(), iterations)));
        const std::filesystem::path record = folder.filePath("record.sqlite").toStdString();

        QProcess window;
        auto environment = QProcessEnvironment::systemEnvironment();
        environment.insert("QT_QPA_PLATFORM", "offscreen");
        environment.insert("XDG_CONFIG_HOME", folder.path());
        window.setProcessEnvironment(environment);
        window.start(studio,
                     {QString::fromStdString(experiment), "--db", QString::fromStdString(record.string()), "--launch"});
        QVERIFY(window.waitForStarted());
        QTRY_VERIFY_WITH_TIMEOUT(newest(record) && newest(record)->iterations_done >= 1, patient_ms);
        QCOMPARE(window.state(), QProcess::Running);
        QCOMPARE(::kill(static_cast<pid_t>(window.processId()), SIGKILL), 0);
        QVERIFY(window.waitForFinished());
        QCOMPARE(window.exitStatus(), QProcess::CrashExit);
        const auto at_kill = newest(record);
        QVERIFY2(at_kill->state == RunState::running, "the run had more to do when its window was killed");
        QTRY_VERIFY_WITH_TIMEOUT(newest(record)->state != RunState::running, patient_ms);
        QVERIFY2(newest(record)->state == RunState::finished, newest(record)->error.c_str());
        QCOMPARE(newest(record)->iterations_done, iterations);
    }
};

QTEST_GUILESS_MAIN(TestStudio)
#include "test_studio.moc"
