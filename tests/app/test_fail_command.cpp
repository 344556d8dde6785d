// SPDX-License-Identifier: GPL-3.0-or-later
// A node of a run that goes on is made to fail, by `skippipe fail` or by the document under the wall clock.
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>

#include "core/record/record.h"
#include "tests/app/launched.h"

using namespace skippipe;
using namespace launched;

namespace {

double total(Reader& reader, RunId run, const std::string& name) {
    double sum = 0;
    for (const auto& metric : reader.metrics(run, 0))
        if (metric.name == name) sum += metric.value;
    return sum;
}

}  // namespace

class TestFailCommand : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;

    QString record() const { return folder_.filePath("record.sqlite"); }
    QString write(const QString& name, const QJsonObject& document) const {
        QFile file(folder_.filePath(name));
        if (file.open(QIODevice::WriteOnly)) file.write(QJsonDocument(document).toJson());
        return file.fileName();
    }
    /// The quick start, simulated, soon planned.
    static QJsonObject quick_start(int iterations, QJsonObject execution) {
        QFile file(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json");
        auto document =
            file.open(QIODevice::ReadOnly) ? QJsonDocument::fromJson(file.readAll()).object() : QJsonObject{};
        execution["compute"] = "cost";
        document["execution"] = execution;
        document["training"] = QJsonObject{{"iterations", iterations}};
        auto pipeline = document["pipeline"].toObject();
        pipeline["plan_steps"] = 1000;
        document["pipeline"] = pipeline;
        return document;
    }
    QByteArray told(QStringList arguments, int exit_code) const {
        QProcess process;
        process.start(program, arguments << "--json"
                                         << "--db" << record());
        const bool ended = process.waitForFinished(60'000);
        const auto out = process.readAllStandardOutput() + process.readAllStandardError();
        if (!ended || process.exitCode() != exit_code) qWarning("%s", out.constData());
        return ended && process.exitCode() == exit_code ? out : QByteArray();
    }

private Q_SLOTS:
    void initTestCase() {
        if (const auto why = no_worker(); !why.isEmpty()) QSKIP(qPrintable(why));
        QVERIFY(folder_.isValid());
    }

    void a_node_of_a_live_run_is_lost() {
        const auto document = quick_start(1'000'000, {});
        QProcess run;
        run.setProcessChannelMode(QProcess::MergedChannels);
        run.start(program, {"run", write("long.json", document), "--json", "--db", record()});
        QVERIFY(wait_until([&] { return run.waitForReadyRead(50) && run.bytesAvailable() > 0; }, 30'000));
        QVERIFY(wait_until([&] { return Reader(record().toStdString()).runs().size() == 1; }, 20'000));
        QVERIFY(told({"fail", "latest", "n9", "--back-after", "30"}, 0).contains("\"taken\":true"));
        QVERIFY(told({"fail", "latest", "nobody"}, 2).contains("nobody"));
        Reader reader(record().toStdString());
        const auto id = reader.runs().front().id;
        QVERIFY(wait_until([&] { return total(reader, id, "nodes_lost") == 1; }, 20'000));
        QVERIFY(told({"stop", "latest"}, 0).contains("true"));
        QVERIFY(run.waitForFinished(30'000));
        QCOMPARE(reader.run(id)->state, RunState::stopped);
        double down_s = 0;
        for (const auto& one : reader.spans(id))
            if (one.span.kind == SpanKind::down) down_s += one.span.end_s - one.span.start_s;
        QVERIFY2(down_s > 1 && down_s < 40, qPrintable(QString::number(down_s)));
    }

    /// The rank of a node is killed in the iteration that the document says, and started again when it is back; of
    /// nodes with uplinks as of any.
    void the_document_kills_a_rank() {
        auto document = quick_start(16, {{"clock", "wall"}, {"transport", "gloo"}, {"ranks", 4}});
        auto topology = document["topology"].toObject();
        auto nodes = topology["nodes"].toArray();
        for (auto node : nodes) {
            auto with_uplink = node.toObject();
            with_uplink["up_bytes_per_s"] = 5e6;
            node = with_uplink;
        }
        topology["nodes"] = nodes;
        document["topology"] = topology;
        document["failures"] =
            QJsonArray{QJsonObject{{"kind", "crash"}, {"target", "n9"}, {"at_iteration", 2}, {"rejoin_after_s", 2}}};
        const auto out = told({"run", write("wall.json", document)}, 0);
        QVERIFY2(out.contains("\"lost_ranks\":[3]"), out);
        QVERIFY2(out.contains("\"joined_ranks\":[3]"), out);
        document["failures"] = QJsonArray{QJsonObject{{"kind", "slow-down"}, {"target", "n9"}, {"at_iteration", 2}}};
        QVERIFY(told({"run", write("slow.json", document)}, 2).contains("wall clock"));
    }
};

QTEST_GUILESS_MAIN(TestFailCommand)
#include "test_fail_command.moc"
