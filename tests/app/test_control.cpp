// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe stop | pause | resume | log` against a run that this test itself records.
#include <QDir>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include <atomic>
#include <fstream>
#include <thread>

#include "core/record/log.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

const QString program = QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe");
constexpr int patient_ms = 60'000;

struct Output {
    int exit_code = -1;
    QByteArray out, error;
    QJsonObject object() const { return QJsonDocument::fromJson(out).object(); }
};

}  // namespace

class TestControl : public QObject {
    Q_OBJECT
    std::unique_ptr<QTemporaryDir> folder_;
    std::filesystem::path file_;
    std::unique_ptr<Recorder> recorder_;
    RunId run_ = 0;

    Output run(QStringList arguments) const {
        QProcess process;
        process.start(program, arguments << "--db" << QString::fromStdString(file_.string()));
        Output output;
        if (process.waitForFinished(patient_ms)) output.exit_code = process.exitCode();
        output.out = process.readAllStandardOutput();
        output.error = process.readAllStandardError();
        return output;
    }
    /// Whether a command of this kind reaches the run.
    bool gets(const std::string& kind) {
        bool got = false;
        return QTest::qWaitFor(
            [&] {
                for (const auto& command : recorder_->take_commands(run_)) got = got || command.kind == kind;
                return got;
            },
            patient_ms);
    }

private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        file_ = folder_->filePath("record.sqlite").toStdString();
        recorder_ = std::make_unique<Recorder>(file_);
        run_ = recorder_->begin({.name = "told", .planner = "gpipe", .iterations = 5});
    }
    void cleanup() { recorder_.reset(); }

    void a_run_is_paused_resumed_and_stopped() {
        auto answer = run({"pause", "latest"});
        QCOMPARE(answer.exit_code, 0);
        QCOMPARE(answer.out, QByteArray("run 1 is paused\n"));
        QVERIFY(gets("pause"));
        QVERIFY(run({"runs"}).out.contains("paused"));
        QVERIFY(run({"runs", "--state", "paused"}).out.contains("told"));
        QVERIFY(run({"runs", "--state", "running"}).out.contains("told"));
        answer = run({"pause", "1"});
        QCOMPARE(answer.exit_code, 2);
        QVERIFY(answer.error.contains("paused already") && answer.error.contains("skippipe resume 1"));
        answer = run({"resume", "1", "--json"});
        QCOMPARE(answer.exit_code, 0);
        QCOMPARE(answer.object(), (QJsonObject{{"run", 1}, {"command", "resume"}, {"taken", true}}));
        QVERIFY(gets("resume"));
        answer = run({"resume", "1", "--json"});
        QCOMPARE(answer.exit_code, 2);
        QVERIFY(answer.object()["faults"].toArray()[0].toObject()["what"].toString().contains("not paused"));
        answer = run({"extend", "1", "--iterations", "5"});
        QCOMPARE(answer.exit_code, 2);
        QVERIFY2(answer.error.contains("has 5 of them already"), answer.error.constData());
        answer = run({"extend", "1", "--iterations", "8"});
        QCOMPARE(answer.out, QByteArray("run 1 goes on to 8 iterations\n"));
        QVERIFY(gets("extend"));
        QCOMPARE(run({"stop", "1"}).exit_code, 0);
        QVERIFY(gets("stop"));
    }

    void what_does_not_run_takes_no_commands() {
        recorder_->finish(run_, RunState::finished, {}, "{}");
        for (const char* verb : {"stop", "pause", "resume"}) {
            const auto answer = run({verb, "latest"});
            QCOMPARE(answer.exit_code, 2);
            QVERIFY2(answer.error.contains("has finished"), answer.error.constData());
        }
        QCOMPARE(run({"stop", "77"}).exit_code, 2);
    }

    void a_log_is_shown_and_followed() {
        auto answer = run({"log", "1"});
        QCOMPARE(answer.exit_code, 2);
        QVERIFY(answer.error.contains("has no log") && answer.error.contains("skippipe show 1"));
        const auto log = log_path(file_, run_);
        std::filesystem::create_directories(log.parent_path());
        std::ofstream out{log};
        out << "one\ntwo\n" << std::flush;
        QCOMPARE(run({"log", "latest"}).out, QByteArray("one\ntwo\n"));
        QCOMPARE(run({"log", "1", "--json"}).object()["lines"].toArray(), (QJsonArray{"one", "two"}));
        QCOMPARE(run({"log", "1", "-f", "--json"}).exit_code, 2);

        QProcess following;
        following.start(program, {"log", "1", "-f", "--db", QString::fromStdString(file_.string())});
        QByteArray seen;
        const auto sees = [&](const QByteArray& text) {
            following.waitForReadyRead(10);
            seen += following.readAllStandardOutput();
            return seen.endsWith(text);
        };
        QTRY_VERIFY_WITH_TIMEOUT(sees("two\n"), patient_ms);
        out << "three\n" << std::flush;
        QTRY_VERIFY_WITH_TIMEOUT(sees("three\n"), patient_ms);
        out << "the end\n" << std::flush;
        recorder_->finish(run_, RunState::finished, {}, "{}");
        QVERIFY2(following.waitForFinished(patient_ms), "it ends with the run");
        seen += following.readAllStandardOutput();
        QCOMPARE(seen, QByteArray("one\ntwo\nthree\nthe end\n"));
    }
};

QTEST_GUILESS_MAIN(TestControl)
#include "test_control.moc"
