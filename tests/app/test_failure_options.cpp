// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe run --fail` and `--trace`: failures from the command line happen, and the run freezes them.
#include <algorithm>
#include <string>

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "core/experiment/failure_text.h"
#include "core/experiment/io.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

struct Output {
    int exit_code = -1;
    QByteArray out, error;
    QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
    QJsonObject fault() const { return json()["faults"].toArray().first().toObject(); }
};

}  // namespace

class TestFailureOptions : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    QString experiment_;

    QString write(const QString& name, const QByteArray& bytes) const {
        QFile out(folder_.filePath(name));
        if (out.open(QIODevice::WriteOnly)) out.write(bytes);
        return out.fileName();
    }

    Output run(QStringList arguments) const { return call("run", std::move(arguments)); }

    Output call(const QString& verb, QStringList arguments, bool as_json = true) const {
        QProcess process;
        arguments.prepend(verb);
        arguments << "--db" << folder_.filePath("record.sqlite");
        if (as_json) arguments << "--json";
        process.start(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"), arguments);
        Output output;
        if (process.waitForFinished(60'000)) output.exit_code = process.exitCode();
        if (process.state() != QProcess::NotRunning) process.kill(), process.waitForFinished();
        output.out = process.readAllStandardOutput();
        output.error = process.readAllStandardError();
        return output;
    }

private Q_SLOTS:
    /// The tiny experiment, simulated: it takes no time. One failure stands in the document.
    void initTestCase() {
        QVERIFY(folder_.isValid());
        QFile tiny(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json");
        QVERIFY(tiny.open(QIODevice::ReadOnly));
        auto document = QJsonDocument::fromJson(tiny.readAll()).object();
        document["execution"] = QJsonObject{{"compute", "cost"}};
        document["failures"] =
            QJsonArray{QJsonObject{{"kind", "slow-down"}, {"target", "a"}, {"at_iteration", 1}, {"rejoin_after_s", 1}}};
        experiment_ = write("tiny.json", QJsonDocument(document).toJson());
        write("corpus.txt", QByteArray("a line of the corpus\n").repeated(2000));
    }

    void they_are_added_to_those_of_the_document() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("skippipe-worker is not built");
        const auto trace = write("trace.csv",
                                 "node,down_s,up_s\n"
                                 "d,1.5,2\n");
        const auto done = run({experiment_, "--fail", "crash:c@1s+500ms", "--fail", "crash:any@0%", "--trace", trace});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        QVERIFY2(done.out.count("lost_nodes") >= 2, "one by each option\n" + done.out);
        Reader reader(folder_.filePath("record.sqlite").toStdString());
        const auto runs = reader.runs();
        QCOMPARE(runs.size(), std::size_t{1});
        const auto frozen = parse_experiment(reader.experiment_json(runs.front().id));
        QVERIFY(!has_errors(frozen.faults));
        QStringList texts;
        for (const auto& failure : frozen.experiment.failures) texts << QString::fromStdString(failure_text(failure));
        QCOMPARE(texts,
                 QStringList({"slow-down:a@iteration=1x2+1s", "crash:c@1s+0.5s", "crash:any@0%", "crash:d@1.5s+0.5s"}));
    }

    /// In the order of their moments: a is slower, c and d are lost and come back, and plans are without them.
    void what_happened_is_recorded() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("skippipe-worker is not built");
        const auto done = run({experiment_, "--fail", "crash:c@1s+500ms"});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        Reader reader(folder_.filePath("record.sqlite").toStdString());
        const auto made = reader.runs().front();
        const auto events = reader.events(made.id);
        const auto moment_of = [&](RunEvent::Kind kind, const std::string& words) {
            const auto found = std::find_if(events.begin(), events.end(), [&](const RunEvent& event) {
                return event.kind == kind && event.what.find(words) != std::string::npos;
            });
            return found == events.end() ? -1.0 : found->network_s;
        };
        const double slower_s = moment_of(RunEvent::Kind::speeds, "a takes 2 times as long"),
                     lost_s = moment_of(RunEvent::Kind::lost, "c lost"),
                     back_s = moment_of(RunEvent::Kind::back, "c back");
        QVERIFY(slower_s > 0);
        QVERIFY2(std::abs(lost_s - 1) < 1e-9, qPrintable(QString::number(lost_s, 'g', 12)));
        QVERIFY(back_s >= 1.5);
        QVERIFY(moment_of(RunEvent::Kind::speeds, "as fast as before") >= slower_s + 1);
        QVERIFY(moment_of(RunEvent::Kind::plan, "without c") >= lost_s);
        QVERIFY(moment_of(RunEvent::Kind::plan, "all nodes are there") >= back_s);
        const auto shown = call("show", {QString::number(made.id)}).json();
        QCOMPARE(shown["events"].toArray().size(), static_cast<qsizetype>(events.size()));
        QCOMPARE(shown["summary"].toObject()["idle_iterations"].toInt(), made.iterations);
        const auto told = call("show", {QString::number(made.id)}, false).out;
        for (const auto& event : events) QVERIFY2(told.contains(event.what.c_str()), told);
    }

    /// A fork has those of the run it begins in, and its own.
    void a_fork_has_failures_of_its_own() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("skippipe-worker is not built");
        auto done = run({experiment_, "--checkpoint-every", "3"});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        Reader reader(folder_.filePath("record.sqlite").toStdString());
        const auto parent = QString::number(reader.runs().front().id);
        const auto trace = write("fork.csv",
                                 "node,down_s,up_s\n"
                                 "d,0,100\n");
        done = call("fork", {parent, "--at", "3", "--fail", "crash:c@iteration=4+1s", "--trace", trace});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        const auto made = reader.runs().front();
        QVERIFY(QString::number(made.id) != parent);
        const auto frozen = parse_experiment(reader.experiment_json(made.id));
        QStringList texts;
        for (const auto& failure : frozen.experiment.failures) texts << QString::fromStdString(failure_text(failure));
        QCOMPARE(texts, QStringList({"slow-down:a@iteration=1x2+1s", "crash:c@iteration=4+1s", "crash:d@0s+100s"}));
        double lost = 0;
        for (const auto& metric : reader.metrics(made.id))
            if (metric.name == "nodes_lost") lost += metric.value;
        QVERIFY2(lost >= 1, "what the options say has happened");
        const auto refused = call("fork", {parent, "--at", "3", "--fail", "crash:nobody@1s"});
        QCOMPARE(refused.exit_code, 2);
        QCOMPARE(refused.fault()["pointer"].toString(), QString("--fail"));
        QVERIFY(reader.runs().front().id == made.id);
    }

    /// Also where the run it begins in had lost a node for good, and was extended since.
    void a_fork_begins_with_everybody() {
        if (!QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker"))) QSKIP("skippipe-worker is not built");
        auto done = run({experiment_, "--checkpoint-every", "3", "--fail", "crash:c@iteration=1"});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        Reader reader(folder_.filePath("record.sqlite").toStdString());
        const auto parent = reader.runs().front();
        const auto name = QString::number(parent.id), longer = QString::number(parent.iterations + 3);
        QVERIFY(!reader.plan_changes(parent.id).empty());
        done = call("extend", {name, "--iterations", longer});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        done = call("fork", {name, "--at", "6", "--set", "failures=[]"});
        QVERIFY2(done.exit_code == 0, done.error + done.out);
        const auto made = reader.runs().front();
        QVERIFY(made.id != parent.id);
        QCOMPARE(reader.plan_json(made.id), reader.plan_json(parent.id));
        QCOMPARE(QString::number(made.iterations), longer);
    }

    void what_cannot_fail_is_refused_before_anything_runs() {
        auto refused = run({experiment_, "--fail", "crash:c@1"});
        QCOMPARE(refused.exit_code, 2);
        QCOMPARE(refused.fault()["pointer"].toString(), QString("--fail"));
        refused = run({experiment_, "--fail", "crash:c@1s", "--fail", "crash:nobody@1s"});
        QCOMPARE(refused.exit_code, 2);
        QCOMPARE(refused.fault()["pointer"].toString(), QString("--fail"));
        QVERIFY(refused.fault()["what"].toString().contains("crash:nobody@1s"));
        refused = run({experiment_, "--fail", "coordinator-loss@1s"});
        QCOMPARE(refused.exit_code, 2);
        QVERIFY2(refused.fault()["what"].toString().contains("checkpoint"), refused.out);
        refused = run({experiment_, "--trace", write("bad.csv", "node,down_s,up_s\nc,1,2\nnobody,1,2\n")});
        QCOMPARE(refused.exit_code, 2);
        QCOMPARE(refused.fault()["pointer"].toString(), QString("bad.csv:3"));
        refused = run({experiment_, "--trace", folder_.filePath("none.csv")});
        QCOMPARE(refused.exit_code, 2);
    }
};

QTEST_GUILESS_MAIN(TestFailureOptions)
#include "test_failure_options.moc"
