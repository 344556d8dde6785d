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
    }

    /// What a real clock cannot make fail is named before anything starts, by whoever reads the document.
    void what_no_real_clock_makes_fail() {
        auto document = quick_start(3, {{"clock", "wall"}, {"transport", "gloo"}, {"ranks", 2}});
        const auto refused = [&](const QJsonObject& failure, const char* remedy) {
            auto whole = failure;
            whole["at_iteration"] = 2;
            document["failures"] = QJsonArray{whole};
            for (const char* verb : {"validate", "run"}) {
                const auto out = told({verb, write("refused.json", document)}, 2);
                QVERIFY2(out.contains("under the wall clock") && out.contains(remedy), out);
            }
        };
        refused({{"kind", "link-cut"}, {"target", "n1->n9"}}, "a node behind the link");
        refused({{"kind", "link-degraded"}, {"target", "n1->n9"}}, "execution.shape_links");
        refused({{"kind", "jitter"}, {"target", "n1->n9"}}, "execution.shape_links");
        document["execution"] = QJsonObject{{"clock", "wall"}, {"compute", "cost"}};
        refused({{"kind", "crash"}, {"target", "n9"}}, "execution.ranks");
        // `--ranks` is part of the document by then.
        document["failures"] = QJsonArray{};
        document["execution"] = QJsonObject{{"clock", "wall"}, {"compute", "cost"}};
        const auto alone = write("alone.json", document);
        QVERIFY(told({"run", alone, "--ranks", "2"}, 2).contains("the local transport"));
    }

    /// A node of one rank and a link between two get slower, and are as fast again; losses are what they were.
    void the_document_slows_nodes_and_links() {
        const Scene scene;
        const QJsonObject execution{
            {"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", 2}, {"shape_links", true}};
        const auto file = scene.tiny("tiny.json", execution, 6, true);
        auto calm = scene.run(file);
        QVERIFY(calm.ended(120'000));
        QVERIFY2(calm.exit_code() == 0, calm.text());
        const auto whole = scene.last_run()->id;
        auto slowed = scene.start(program, {"run", file, "--db", scene.record(), "--fail", "slow-down:c@iteration=2x3",
                                            "--fail", "link-degraded:west->east@iteration=3x20+1ms"});
        QVERIFY(slowed.ended(120'000));
        const auto out = slowed.text();
        QVERIFY2(slowed.exit_code() == 0, out);
        QVERIFY2(out.contains("iteration 3: c takes 3 times as long") &&
                     out.contains("iteration 4: c takes 3 times as long, the link west->east takes 20 times as long") &&
                     out.count("takes 20 times as long") == 1,
                 out);
        const auto run = scene.last_run()->id;
        QVERIFY(run != whole);
        QVERIFY(scene.losses(run) == scene.losses(whole));
        std::vector<double> seconds;
        for (const auto& metric : Reader(scene.record().toStdString()).metrics(run))
            if (metric.name == "iteration_s") seconds.push_back(metric.value);
        QCOMPARE(seconds.size(), std::size_t{6});
        QVERIFY2(seconds[3] >= 1, "a second a way from west to east, of which each path has one, there or back");
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }

    /// Rank 0 is killed, the run ends and says how it goes on, and does not lose it there again.
    void the_document_kills_the_coordinator() {
        const Scene scene;
        const QJsonObject execution{{"threads", 1}, {"clock", "wall"}, {"transport", "gloo"}, {"ranks", 2}};
        const auto file = scene.tiny("tiny.json", execution, 300, true);
        auto calm = scene.run(file);
        QVERIFY(calm.ended(120'000));
        QVERIFY2(calm.exit_code() == 0, calm.text());
        const auto whole = scene.last_run()->id;
        auto killed = scene.start(program, {"run", file, "--db", scene.record(), "--checkpoint-every", "5", "--fail",
                                            "coordinator-loss@iteration=18"});
        QVERIFY(killed.ended(120'000));
        auto out = killed.text();
        QVERIFY2(killed.exit_code() == 1, out);
        QVERIFY2(out.contains("the coordinator is lost") && out.contains("skippipe resume"), out);
        const auto run = *scene.last_run();
        QVERIFY(run.id != whole && run.state == RunState::failed);
        QVERIFY(run.iterations_done >= 18 && run.iterations_done < 300);
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
        auto resumed = scene.start(program, {"resume", "latest", "--db", scene.record()});
        QVERIFY(resumed.ended(120'000));
        out = resumed.text();
        QVERIFY2(resumed.exit_code() == 0, out);
        QCOMPARE(scene.last_run()->id, run.id);
        QVERIFY(scene.losses(run.id) == scene.losses(whole));
        QVERIFY(wait_until([&] { return scene.alive().empty(); }, 10'000));
    }
};

QTEST_GUILESS_MAIN(TestFailCommand)
#include "test_fail_command.moc"
